"""Differences that a review can do without: descriptions in schemas of CRDs, and annotations that pods have from a CSV.

A renderer copies the annotations of the CSV to all pod templates, and the summary has them once. Where in doubt, a
difference is significant: a field that is called `description`, and a value in a default.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rukpak_py.apply.field_differences import Difference, differences
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.core.objects import ObjectKey

Insignificant = Callable[[ObjectKey, Difference], bool]

_DESCRIPTION = ".description"
_PROPERTIES = ".properties"
_VALUES = (".default.", ".example.")  # of a schema, unless they are properties


def insignificant(old_annotations: Mapping[str, str], new_annotations: Mapping[str, str]) -> Insignificant:
    """`old_annotations`, `new_annotations`: those of the CSVs."""
    copied = list(differences(_of_pods(old_annotations), _of_pods(new_annotations)))

    def is_insignificant(key: ObjectKey, found: Difference) -> bool:
        if (key.group, key.kind) == CRD_KIND:
            return _is_description(found)
        return (key.group, key.kind) == ("apps", "Deployment") and found in copied

    return is_insignificant


def _of_pods(annotations: Mapping[str, str]) -> dict[str, Any]:
    return {"spec": {"template": {"metadata": {"annotations": dict(annotations)}}}}


def _is_description(found: Difference) -> bool:
    _, schema, path = found.path.partition("openAPIV3Schema")
    if not schema or not path.endswith(_DESCRIPTION):
        return False
    in_values = any(step in path.replace(f"{_PROPERTIES}{step}", f"{_PROPERTIES}.") for step in _VALUES)
    return not in_values and all(isinstance(value, str | None) for value in (found.old, found.new))

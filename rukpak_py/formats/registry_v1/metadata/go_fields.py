"""Objects of metadata files as Go decodes them: the fields of a struct, looked up and converted leniently.

The file is YAML that became JSON with its keys sorted. A key belongs to the field of the same name, or else to the one
that differs in case alone; of several the last decides. A scalar that is meant to be a text becomes one, null changes
nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.content.yaml_scalars import as_key

# Go folds these two to ASCII letters as well.
_FOLDED = str.maketrans({"\u017f": "s", "\u212a": "k"})


def fields(value: dict[str, Any], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a key of the object and the field it sets, in the order in which Go sets them."""
    folded = {_fold(name): name for name in names}
    for key in sorted(value):
        name = key if key in names else folded.get(_fold(key))
        if name is not None:
            yield key, name


def renamed(value: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The object with its fields under their own names; what belongs to no field stays."""
    found = {key: name for key, name in fields(value, names) if value[key] is not None}
    return {
        **{key: item for key, item in value.items() if key not in found},
        **{found[key]: value[key] for key in found},
    }


def text_of(value: Any) -> str | None:
    """The text that a scalar becomes; None for lists and objects."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(as_key(value))
    return None


def _fold(name: str) -> str:
    return name.translate(_FOLDED).lower()

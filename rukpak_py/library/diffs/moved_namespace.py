"""Objects as they would be in another install namespace.

Where two bundles suggest other namespaces, every object of one is removed and every object of the other added. So the
old objects are moved first, and the change of the namespace is reported once. Only the fields in which a renderer
writes the install namespace are changed: the same text elsewhere, in the argument of a container, is content of the
bundle.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from rukpak_py.apply.permissions.permission import mapping

Json = dict[str, Any]

_NAMESPACE = "namespace"
_OF_PODS = ("olm.operatorNamespace", "olm.targetNamespaces")


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceMove:
    old: str
    new: str
    objects: int = 0  # how many have the namespace somewhere


def moved(objects: Iterable[Json], move: NamespaceMove) -> tuple[list[Json], int]:
    """The objects in the new namespace, and how many of them that changes. The given objects stay as they are."""
    result, count = [], 0
    for manifest in objects:
        one = deepcopy(manifest)
        places = [(place, key) for place, key in _places(one) if place.get(key) == move.old]
        for place, key in places:
            place[key] = move.new
        count += bool(places)
        result.append(one)
    return result, count


def _places(manifest: Json) -> Iterator[tuple[Any, str]]:
    spec = mapping(manifest.get("spec"))
    yield mapping(manifest.get("metadata")), _NAMESPACE
    for subject in _list(manifest.get("subjects")):
        yield mapping(subject), _NAMESPACE
    callers = [*_list(manifest.get("webhooks")), mapping(spec.get("conversion")).get("webhook")]
    for caller in callers:
        yield mapping(mapping(mapping(caller).get("clientConfig")).get("service")), _NAMESPACE
    if manifest.get("kind") == "APIService":
        yield mapping(spec.get("service")), _NAMESPACE
    if manifest.get("kind") == "Deployment":
        annotations = mapping(mapping(mapping(spec.get("template")).get("metadata")).get("annotations"))
        for name in _OF_PODS:
            yield annotations, name


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

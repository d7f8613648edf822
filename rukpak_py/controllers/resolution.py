"""Which resource each object belongs to: as the server serves it, or as a CRD of the same content will define it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rukpak_py.core.objects import GroupKind, GroupVersionKind, Head, Object
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.resources import CRDS, Resource


@dataclass(frozen=True, kw_only=True)
class Resolution:
    resources: dict[GroupVersionKind, Resource]
    missing: tuple[Head, ...]  # objects of kinds that neither the server nor the content knows
    new_kinds: frozenset[GroupKind]  # kinds that only the content knows so far

    def of_kinds(self) -> dict[GroupKind, Resource]:
        return {resource.group_kind: resource for resource in self.resources.values()}


async def resolve(objects: Iterable[Object], discovery: Discovery) -> Resolution:
    """Asks the server again only when a kind is unknown."""
    objects = list(objects)
    found = _resolve(objects, discovery)
    if (found.missing or found.new_kinds) and await discovery.refresh():
        found = _resolve(objects, discovery)
    return found


def missing_kinds_text(missing: Iterable[Head]) -> str:
    """The original's text, one entry per object, without its internals."""
    entries = [
        f'resource mapping not found for name: "{head.name}" namespace: "{head.namespace}" from "": '
        f'no matches for kind "{head.gvk.kind}" in version "{head.gvk.api_version}"\nensure CRDs are installed first'
        for head in missing
    ]
    return f"required resource not found: [{', '.join(entries)}]"


def _resolve(objects: list[Object], discovery: Discovery) -> Resolution:
    defined = {gvk: resource for obj in objects for gvk, resource in _defined_by(obj).items()}
    resources: dict[GroupVersionKind, Resource] = {}
    missing: list[Head] = []
    for obj in objects:
        gvk = obj.head.gvk
        if gvk in resources:
            continue
        resource = discovery.find(gvk) or defined.get(gvk)
        if resource is not None:
            resources[gvk] = resource
    missing = [obj.head for obj in objects if obj.head.gvk not in resources]
    new = {gvk.group_kind for gvk in resources if discovery.find(gvk) is None}
    return Resolution(resources=resources, missing=tuple(missing), new_kinds=frozenset(new))


def _defined_by(obj: Object) -> dict[GroupVersionKind, Resource]:
    if obj.head.gvk.group_kind != CRDS.group_kind:
        return {}
    spec: Any = obj.manifest().get("spec")
    try:
        group, names, namespaced = spec["group"], spec["names"], spec["scope"] == "Namespaced"
        gvks = [GroupVersionKind(group, version["name"], names["kind"]) for version in spec["versions"]]
        return {gvk: Resource(gvk=gvk, plural=names["plural"], namespaced=namespaced) for gvk in gvks}
    except (KeyError, TypeError):
        return {}  # not a usable definition: the server will say what is wrong with it

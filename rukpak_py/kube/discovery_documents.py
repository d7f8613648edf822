"""The server's discovery documents, aggregated and per group, read into one table of what is served.

A group version whose backend does not answer is `Stale` in the aggregated form: its entries may be old or missing.
The per-group form cannot say so; there a document that cannot be fetched counts as stale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from rukpak_py.core.objects import GroupKind, GroupVersionKind
from rukpak_py.kube.resources import Resource

AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)
STALE = "Stale"


@dataclass(frozen=True, kw_only=True)
class Served:
    """A snapshot of the kinds that the server serves. `preferred` has the version that it prefers for each kind."""

    resources: Mapping[GroupVersionKind, Resource] = field(default_factory=dict)
    preferred: Mapping[GroupKind, Resource] = field(default_factory=dict)
    stale: frozenset[str] = frozenset()  # group/version
    versions: tuple["GroupVersion", ...] = ()  # in the server's order


@dataclass(frozen=True, kw_only=True)
class GroupVersion:
    """One version of a group; a group's versions come in the server's order of preference."""

    group: str
    version: str
    resources: tuple[Resource, ...] = ()
    subresource_kinds: frozenset[str] = frozenset()
    is_stale: bool = False

    @property
    def name(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def serve(versions: Sequence[GroupVersion]) -> Served:
    resources: dict[GroupVersionKind, Resource] = {}
    preferred: dict[GroupKind, Resource] = {}
    stale: set[str] = set()
    for version in versions:
        if version.is_stale:
            stale.add(version.name)
        for resource in version.resources:
            resources.setdefault(resource.gvk, resource)
            preferred.setdefault(resource.group_kind, resource)
    return Served(resources=resources, preferred=preferred, stale=frozenset(stale), versions=tuple(versions))


class _Kind(msgspec.Struct, gc=False, kw_only=True):
    group: str | None = None
    version: str | None = None
    kind: str = ""


class _Subresource(msgspec.Struct, gc=False, kw_only=True, rename="camel"):
    subresource: str = ""
    response_kind: _Kind | None = None


class _Resource(msgspec.Struct, gc=False, kw_only=True, rename="camel"):
    resource: str = ""
    response_kind: _Kind | None = None
    scope: str = ""
    verbs: list[str] | None = None
    subresources: list[_Subresource] | None = None


class _Version(msgspec.Struct, gc=False, kw_only=True):
    version: str = ""
    freshness: str = ""
    resources: list[_Resource] | None = None


class _Name(msgspec.Struct, gc=False, kw_only=True):
    name: str | None = None


class _Group(msgspec.Struct, gc=False, kw_only=True):
    metadata: _Name | None = None
    versions: list[_Version] | None = None


class _Groups(msgspec.Struct, gc=False, kw_only=True):
    kind: str = ""
    items: list[_Group] | None = None


_GROUPS = msgspec.json.Decoder(_Groups)


def read_aggregated(document: bytes) -> list[GroupVersion] | None:
    """The group versions of `/api` or `/apis`; None when the server answered in the older form."""
    groups = _GROUPS.decode(document)
    if groups.kind != "APIGroupDiscoveryList":
        return None
    return [
        _group_version((group.metadata.name or "") if group.metadata else "", version)
        for group in groups.items or []
        for version in group.versions or []
    ]


def _group_version(group: str, version: _Version) -> GroupVersion:
    resources = tuple(
        Resource(
            gvk=GroupVersionKind(group, version.version, sent.response_kind.kind),
            plural=sent.resource,
            namespaced=sent.scope == "Namespaced",
            verbs=frozenset(sent.verbs or ()),
            subresources=frozenset(part.subresource for part in sent.subresources or ()),
        )
        for sent in version.resources or ()
        if sent.response_kind is not None and sent.response_kind.kind
    )
    subresources = [part for sent in version.resources or () for part in sent.subresources or ()]
    kinds = frozenset(part.response_kind.kind for part in subresources if part.response_kind is not None)
    return GroupVersion(
        group=group,
        version=version.version,
        resources=resources,
        subresource_kinds=kinds - {""},
        is_stale=version.freshness == STALE,
    )


class _GroupVersionName(msgspec.Struct, gc=False, kw_only=True, rename="camel"):
    group_version: str = ""


class _ApiGroup(msgspec.Struct, gc=False, kw_only=True, rename="camel"):
    versions: list[_GroupVersionName] | None = None
    preferred_version: _GroupVersionName | None = None


class _Index(msgspec.Struct, gc=False, kw_only=True):
    """`/api` (APIVersions) has `versions`, `/apis` (APIGroupList) has `groups`."""

    versions: list[str] | None = None
    groups: list[_ApiGroup] | None = None


class _ApiResource(msgspec.Struct, gc=False, kw_only=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False
    verbs: list[str] | None = None


class _ApiResources(msgspec.Struct, gc=False, kw_only=True):
    resources: list[_ApiResource] | None = None


_INDEX = msgspec.json.Decoder(_Index)
_API_RESOURCES = msgspec.json.Decoder(_ApiResources)


def read_index(document: bytes) -> list[str]:
    """The group versions that the older form names, each group's preferred one first."""
    index = _INDEX.decode(document)
    names = list(index.versions or ())
    for group in index.groups or ():
        versions = [version.group_version for version in group.versions or ()]
        first = group.preferred_version.group_version if group.preferred_version else ""
        names += sorted(versions, key=lambda name, first=first: name != first)  # type: ignore[misc]  # bound now
    return names


def read_group_version(name: str, document: bytes) -> GroupVersion:
    """The older form's resources of one group version; `pods/log` is a subresource of `pods`."""
    group, _, version = name.rpartition("/")
    sent = _API_RESOURCES.decode(document).resources or []
    below: dict[str, set[str]] = {}
    for resource in sent:
        plural, _, subresource = resource.name.partition("/")
        below.setdefault(plural, set()).update([subresource] if subresource else [])
    resources = tuple(
        Resource(
            gvk=GroupVersionKind(group, version, resource.kind),
            plural=resource.name,
            namespaced=resource.namespaced,
            verbs=frozenset(resource.verbs or ()),
            subresources=frozenset(below[resource.name]),
        )
        for resource in sent
        if "/" not in resource.name and resource.kind
    )
    kinds = frozenset(resource.kind for resource in sent if "/" in resource.name)
    return GroupVersion(group=group, version=version, resources=resources, subresource_kinds=kinds - {""})

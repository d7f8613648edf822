"""A CustomResourceDefinition as what it says of its kind, without its schemas, which may be megabytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rukpak_py.core.objects import GroupKind


@dataclass(frozen=True, kw_only=True, slots=True)
class CrdFacts:
    kind: GroupKind
    plural: str  # empty: it does not say
    scope: str
    versions: tuple[str, ...]  # that are served
    is_established: bool

    @property
    def namespaced(self) -> bool:
        return self.scope == "Namespaced"


class _Names(msgspec.Struct, gc=False, frozen=True):
    kind: str = ""
    plural: str = ""


class _Version(msgspec.Struct, gc=False, frozen=True):
    name: str = ""
    served: bool = True


class _Spec(msgspec.Struct, gc=False, frozen=True):
    group: str = ""
    scope: str = ""
    names: _Names = _Names()
    versions: list[_Version] = []


class _Condition(msgspec.Struct, gc=False, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    conditions: list[_Condition] | None = None


class _Crd(msgspec.Struct, gc=False, frozen=True):
    spec: _Spec = _Spec()
    status: _Status | None = None


_CRD = msgspec.json.Decoder(_Crd)


def crd_facts(crd: bytes | Mapping[str, Any]) -> CrdFacts | None:
    """The facts of a manifest, as JSON or decoded. None: it defines no kind; the API server says what is wrong."""
    try:
        found = _CRD.decode(crd) if isinstance(crd, bytes) else msgspec.convert(crd, _Crd)
    except msgspec.DecodeError:
        return None
    spec = found.spec
    if not spec.group or not spec.names.kind:
        return None
    conditions = (found.status.conditions if found.status is not None else None) or ()
    return CrdFacts(
        kind=GroupKind(spec.group, spec.names.kind),
        plural=spec.names.plural,
        scope=spec.scope,
        versions=tuple(version.name for version in spec.versions if version.served and version.name),
        is_established=any(one.type == "Established" and one.status == "True" for one in conditions),
    )

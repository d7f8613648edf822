"""A CustomResourceDefinition as what it says of its kind, without its schemas, which may be megabytes."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from rukpak_py.core.objects import GroupKind


@dataclass(frozen=True, kw_only=True, slots=True)
class CrdFacts:
    kind: GroupKind
    plural: str
    namespaced: bool
    versions: tuple[str, ...]  # those that are served
    is_established: bool


class _Names(msgspec.Struct, gc=False, frozen=True):
    kind: str
    plural: str


class _Version(msgspec.Struct, gc=False, frozen=True):
    name: str
    served: bool = False


class _Spec(msgspec.Struct, gc=False, frozen=True):
    group: str
    scope: str
    names: _Names
    versions: list[_Version] = []


class _Condition(msgspec.Struct, gc=False, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    conditions: list[_Condition] | None = None


class _Crd(msgspec.Struct, gc=False, frozen=True):
    spec: _Spec
    status: Any = None  # content may have any; no server reads it


_CRD = msgspec.json.Decoder(_Crd)


def crd_facts(crd: bytes | Mapping[str, Any]) -> CrdFacts | None:
    """Facts of a live CRD, or of one that content has, as JSON or decoded. None: it is not usable."""
    try:
        found = _CRD.decode(crd) if isinstance(crd, bytes) else msgspec.convert(crd, _Crd)
    except msgspec.DecodeError:
        return None
    names = found.spec.names
    if not (found.spec.group and names.kind and names.plural):
        return None
    conditions: list[_Condition] = []
    with suppress(msgspec.ValidationError):
        conditions = msgspec.convert(found.status, _Status).conditions or []
    spec = found.spec
    return CrdFacts(
        kind=GroupKind(spec.group, spec.names.kind),
        plural=spec.names.plural,
        namespaced=spec.scope == "Namespaced",
        versions=tuple(version.name for version in spec.versions if version.served),
        is_established=any(one.type == "Established" and one.status == "True" for one in conditions),
    )

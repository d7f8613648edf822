"""Clients that would set fields again which a command changes: tools that manage the object, controllers, appliers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from rukpak_py.api.names import BUNDLE_INSTANCE_KIND
from rukpak_py.apply.marks import other_tool
from rukpak_py.cli.cluster.deployments import FIELD_MANAGER, EditedDeployment

FieldPath = Sequence[str]


class _ManagedFields(msgspec.Struct, frozen=True, rename="camel"):
    manager: str = ""
    subresource: str = ""
    fields: dict[str, Any] = msgspec.field(name="fieldsV1", default_factory=dict)


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    managed_fields: tuple[_ManagedFields, ...] = ()


class _Head(msgspec.Struct, frozen=True):
    metadata: _Metadata


def other_owners(read: EditedDeployment, changed: Iterable[FieldPath]) -> Iterator[str]:
    """The clients, as a message names them; `kubectl` and this program are the user, and no others."""
    metadata = read.edited.metadata
    if tool := other_tool(metadata.labels, metadata.annotations):
        yield f"it is managed by {tool}"
    owner = metadata.controller
    if owner is not None and owner.kind != BUNDLE_INSTANCE_KIND:
        yield f"it is controlled by {owner.kind} {owner.name}"
    paths = list(changed)
    for entry in msgspec.json.decode(read.raw, type=_Head).metadata.managed_fields:
        if entry.subresource or entry.manager.startswith("kubectl") or entry.manager == FIELD_MANAGER:
            continue
        owned = [".".join(path) for path in paths if _owns(entry.fields, path)]
        if owned:
            yield f'field manager "{entry.manager}" owns {", ".join(owned)}'


def _owns(fields: dict[str, Any], path: FieldPath) -> bool:
    """Whether a field at the path, within it, or that holds it as one value, is among the fields."""
    for name in path:
        within = fields.get(f"f:{name}")
        if within is None:
            return False
        if not within:
            return True
        fields = within
    return True

"""Two renderings compared: objects added, removed and changed, and the permissions that holders gain and lose. Of a CRD
also what may become of its instances.

An object is the same when group, kind, namespace and name are. Roles and bindings have names made from their content,
so each change gives them new ones: those that only differ in that name are told as renamed. The content of Secrets is
never shown, only that it changed.

Two manifests are compared field by field, lists the way Kubernetes merges them: entries that have a key (containers by
name, ports by number and protocol, volume mounts by path) are the same entry when the key is the same; other lists are
aligned. The comparison goes along a list of open comparisons instead of recursing: content may have any depth.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import orjson

from rukpak_py.apply.crd_safety.definition import UnreadableDefinitionError, read_definition
from rukpak_py.apply.crd_safety.schema_changes import SchemaChange
from rukpak_py.apply.crd_safety.upgrade import compare_definitions
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.permissions.changes import PermissionChange, permission_changes
from rukpak_py.apply.permissions.permission import mapping, text
from rukpak_py.core.objects import RBAC_GROUP, GroupVersionKind, ObjectKey, canonical_json

Step: TypeAlias = str  # `.name`, `[3]`, `[name=manager]`
_KEYS: tuple[tuple[str, ...], ...] = (
    ("name",),
    ("mountPath",),
    ("containerPort", "protocol"),
    ("port", "protocol"),
    ("devicePath",),
    ("type", "topologyKey"),
    ("type",),
    ("rule",),
    ("ip",),
    ("key",),
    ("kind", "name"),
)
_LONGEST_ALIGNED = 2_000  # aligning takes the product of both lengths


class FieldChange(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    change: FieldChange
    path: str
    old: Any = None
    new: Any = None
    is_secret: bool = False  # the values were taken out


_Pair: TypeAlias = tuple[Step, bool, Any, bool, Any]  # a step, then for each side whether it is there, and its value


def differences(old: Any, new: Any) -> Iterator[Difference]:
    open_pairs: list[_Pair] = [("", True, old, True, new)]
    while open_pairs:
        path, in_old, one, in_new, other = open_pairs.pop()
        if not in_old:
            yield Difference(change=FieldChange.ADDED, path=path, new=other)
        elif not in_new:
            yield Difference(change=FieldChange.REMOVED, path=path, old=one)
        elif isinstance(one, dict) and isinstance(other, dict):
            open_pairs += reversed(list(_members(path, one, other)))
        elif isinstance(one, list) and isinstance(other, list):
            open_pairs += reversed(list(_items(path, one, other)))
        elif type(one) is not type(other) or one != other:
            yield Difference(change=FieldChange.CHANGED, path=path, old=one, new=other)


def _members(path: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[_Pair]:
    for key in [*old, *(key for key in new if key not in old)]:
        yield f"{path}{_member(key, is_first=not path)}", key in old, old.get(key), key in new, new.get(key)


def _member(key: str, *, is_first: bool) -> str:
    if key and all(character.isalnum() or character in "-_$" for character in key):
        return key if is_first else f".{key}"
    return f"[{orjson.dumps(key).decode()}]"


def _items(path: str, old: list[Any], new: list[Any]) -> Iterator[_Pair]:
    for fields in _KEYS:
        old_keys, new_keys = _keys(old, fields), _keys(new, fields)
        if old_keys is not None and new_keys is not None:
            by_old, by_new = dict(zip(old_keys, old, strict=True)), dict(zip(new_keys, new, strict=True))
            for key in [*by_old, *(key for key in by_new if key not in by_old)]:
                yield f"{path}[{key}]", key in by_old, by_old.get(key), key in by_new, by_new.get(key)
            return
    yield from _aligned(path, old, new)


def _keys(items: Sequence[Any], fields: tuple[str, ...]) -> list[str] | None:
    """One key per entry, when all have one and no two the same. The first field must be there, the others may."""
    keys = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get(fields[0]), str | int):
            return None
        keys.append(",".join(f"{field}={item[field]}" for field in fields if isinstance(item.get(field), str | int)))
    return keys if len(set(keys)) == len(keys) else None


def _aligned(path: str, old: list[Any], new: list[Any]) -> Iterator[_Pair]:
    for old_from, old_to, new_from, new_to in _blocks(old, new):
        for offset in range(max(old_to - old_from, new_to - new_from)):
            at_old, at_new = old_from + offset, new_from + offset
            in_old, in_new = at_old < old_to, at_new < new_to
            step = f"{path}[{at_old if in_old else at_new}]"
            yield step, in_old, old[at_old] if in_old else None, in_new, new[at_new] if in_new else None


def _blocks(old: list[Any], new: list[Any]) -> list[tuple[int, int, int, int]]:
    """The stretches that are not equal, by where they begin and end on both sides."""
    if max(len(old), len(new)) > _LONGEST_ALIGNED:
        return [(0, len(old), 0, len(new))]
    from difflib import SequenceMatcher  # noqa: PLC0415 - only some comparisons need it, every start would pay

    matcher = SequenceMatcher(a=list(map(canonical_json, old)), b=list(map(canonical_json, new)), autojunk=False)
    return [(i1, i2, j1, j2) for operation, i1, i2, j1, j2 in matcher.get_opcodes() if operation != "equal"]


Json = dict[str, Any]

_HIDDEN_FIELDS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedObject:
    key: ObjectKey
    differences: list[Difference]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedDefinition:
    """Changes of a CRD that objects may suffer from. `unreadable`: why it could not be compared."""

    key: ObjectKey
    changes: tuple[SchemaChange, ...] = ()
    unreadable: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderingComparison:
    added: list[ObjectKey]
    removed: list[ObjectKey]
    renamed: list[tuple[ObjectKey, ObjectKey]]
    changed: list[ChangedObject]
    permissions: list[PermissionChange]
    definitions: list[ChangedDefinition]

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.renamed or self.changed or self.permissions)


def compare(old: Iterable[Json], new: Iterable[Json]) -> RenderingComparison:
    old, new = list(old), list(new)
    before, after = _by_key(old), _by_key(new)
    removed, added = [key for key in before if key not in after], [key for key in after if key not in before]
    renamed = _renamed({key: before[key] for key in removed}, {key: after[key] for key in added}, old, new)
    gone, fresh = {pair[0] for pair in renamed}, {pair[1] for pair in renamed}
    changed = [
        ChangedObject(key=key, differences=list(_object_differences(before[key], after[key])))
        for key in before
        if key in after
    ]
    return RenderingComparison(
        added=[key for key in added if key not in fresh],
        removed=[key for key in removed if key not in gone],
        renamed=renamed,
        changed=[one for one in changed if one.differences],
        permissions=permission_changes(old, new),
        definitions=[
            one
            for key in before
            if key in after and (key.group, key.kind) == CRD_KIND and before[key] != after[key]
            if (one := _changed_definition(key, before[key], after[key])).changes or one.unreadable
        ],
    )


def _changed_definition(key: ObjectKey, old: Json, new: Json) -> ChangedDefinition:
    try:
        upgrade = compare_definitions(read_definition(old), read_definition(new))
    except UnreadableDefinitionError as error:
        return ChangedDefinition(key=key, unreadable=str(error))
    return ChangedDefinition(key=key, changes=upgrade.changes)


def key_of(manifest: Json) -> ObjectKey:
    gvk = GroupVersionKind.parse(text(manifest.get("apiVersion")), text(manifest.get("kind")))
    metadata = mapping(manifest.get("metadata"))
    return ObjectKey(gvk.group, gvk.kind, text(metadata.get("namespace")), text(metadata.get("name")))


def _by_key(objects: list[Json]) -> dict[ObjectKey, Json]:
    return {key_of(manifest): manifest for manifest in objects}


def _object_differences(old: Json, new: Json) -> Iterator[Difference]:
    is_secret = old.get("kind") == "Secret"
    for found in differences(old, new):
        yield _masked(found) if is_secret else found


def _masked(found: Difference) -> Difference:
    root = found.path.partition(".")[0].partition("[")[0]
    if root in _HIDDEN_FIELDS or _LAST_APPLIED in found.path or _LAST_APPLIED in repr((found.old, found.new)):
        return Difference(change=found.change, path=found.path, is_secret=True)
    return found


def _renamed(
    removed: Mapping[ObjectKey, Json], added: Mapping[ObjectKey, Json], old: list[Json], new: list[Json]
) -> list[tuple[ObjectKey, ObjectKey]]:
    old_roles, new_roles = _contents_of_roles(old), _contents_of_roles(new)
    waiting: defaultdict[bytes, list[ObjectKey]] = defaultdict(list)
    for key, manifest in removed.items():
        if key.group == RBAC_GROUP:
            waiting[_content(manifest, old_roles)].append(key)
    pairs = []
    for key, manifest in added.items():
        if key.group == RBAC_GROUP and (candidates := waiting[_content(manifest, new_roles)]):
            pairs.append((candidates.pop(0), key))
    return pairs


def _contents_of_roles(objects: list[Json]) -> dict[ObjectKey, bytes]:
    return {
        key_of(manifest): _content(manifest, {})
        for manifest in objects
        if manifest.get("kind") in {"Role", "ClusterRole"}
    }


def _content(manifest: Json, roles: Mapping[ObjectKey, bytes]) -> bytes:
    """Content of a manifest without its name; a binding has the content of its role in place of the role's name."""
    metadata = {key: value for key, value in mapping(manifest.get("metadata")).items() if key != "name"}
    content: Json = {**manifest, "metadata": metadata}
    reference = mapping(manifest.get("roleRef"))
    if reference:
        namespace = text(metadata.get("namespace")) if reference.get("kind") == "Role" else ""
        role = ObjectKey(RBAC_GROUP, text(reference.get("kind")), namespace, text(reference.get("name")))
        if role in roles:
            content["roleRef"] = roles[role].decode()
    return canonical_json(content)

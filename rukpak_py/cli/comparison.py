"""Two renderings compared: objects added, removed and changed, and the permissions that holders gain and lose.

An object is the same when group, kind, namespace and name are. Roles and bindings have names made from their content,
so each change gives them new ones: those that only differ in that name are told as renamed. The content of Secrets is
never shown, only that it changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.apply.permissions.grants import RoleSubject, grants_of, mapping, text
from rukpak_py.apply.permissions.permission import Permission, reduced, without
from rukpak_py.cli.fields import Difference, differences
from rukpak_py.core.objects import RBAC_GROUP, GroupVersionKind, ObjectKey, canonical_json

Json = dict[str, Any]

_HIDDEN_FIELDS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedObject:
    key: ObjectKey
    differences: list[Difference]


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionChange:
    holder: RoleSubject
    gained: set[Permission]
    lost: set[Permission]


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderingComparison:
    added: list[ObjectKey]
    removed: list[ObjectKey]
    renamed: list[tuple[ObjectKey, ObjectKey]]
    changed: list[ChangedObject]
    permissions: list[PermissionChange]

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
        permissions=list(_permission_changes(old, new)),
    )


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


def _permission_changes(old: list[Json], new: list[Json]) -> Iterator[PermissionChange]:
    before, after = grants_of(old).permissions, grants_of(new).permissions
    for holder in sorted(before.keys() | after.keys()):
        had, has = before.get(holder, set()), after.get(holder, set())
        gained, lost = reduced(without(has, had)), reduced(without(had, has))
        if gained or lost:
            yield PermissionChange(holder=holder, gained=gained, lost=lost)

"""Two renderings compared: objects added, removed and changed, and the permissions that holders gain and lose. Of a CRD
also what may become of its instances. The summary has the differences of the bundles themselves.

An object is the same when group, kind, namespace and name are. Roles and bindings have names made from their content,
so each change gives them new ones: those that only differ in that name are told as renamed. The content of Secrets is
never shown, only that it changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rukpak_py.apply.crd_safety.definition import UnreadableDefinitionError, read_definition
from rukpak_py.apply.crd_safety.schema_changes import SchemaChange
from rukpak_py.apply.crd_safety.upgrade import compare_definitions
from rukpak_py.apply.field_differences import Difference, object_differences
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.permissions.changes import PermissionChange, permission_changes
from rukpak_py.apply.permissions.permission import mapping, text
from rukpak_py.core.objects import RBAC_GROUP, GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.library.diffs.insignificant import Insignificant
from rukpak_py.library.diffs.moved_namespace import NamespaceMove, moved

Json = dict[str, Any]


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
    summary: Sequence[Difference] = ()
    left_out: int = 0  # insignificant differences of fields
    move: NamespaceMove | None = None  # the old objects were compared as they would be in the new namespace

    @property
    def is_empty(self) -> bool:
        objects = self.added or self.removed or self.renamed or self.changed
        return not (self.summary or self.move or objects or self.permissions)


def compare(
    old: Iterable[Json],
    new: Iterable[Json],
    *,
    summary: Sequence[Difference] = (),
    is_insignificant: Insignificant | None = None,
    move: NamespaceMove | None = None,
) -> RenderingComparison:
    old, new = list(old), list(new)
    if move is not None:
        old, move = _moved(old, move)
    before, after = _by_key(old), _by_key(new)
    removed, added = [key for key in before if key not in after], [key for key in after if key not in before]
    renamed = _renamed({key: before[key] for key in removed}, {key: after[key] for key in added}, old, new)
    gone, fresh = {pair[0] for pair in renamed}, {pair[1] for pair in renamed}
    changed, left_out = [], 0
    for key in (key for key in before if key in after):
        found = list(object_differences(before[key], after[key]))
        significant = [one for one in found if is_insignificant is None or not is_insignificant(key, one)]
        left_out += len(found) - len(significant)
        if significant:
            changed.append(ChangedObject(key=key, differences=significant))
    return RenderingComparison(
        added=[key for key in added if key not in fresh],
        removed=[key for key in removed if key not in gone],
        renamed=renamed,
        changed=changed,
        permissions=permission_changes(old, new),
        definitions=[
            one
            for key in before
            if key in after and (key.group, key.kind) == CRD_KIND and before[key] != after[key]
            if (one := _changed_definition(key, before[key], after[key])).changes or one.unreadable
        ],
        summary=summary,
        left_out=left_out,
        move=move,
    )


def _moved(old: list[Json], move: NamespaceMove) -> tuple[list[Json], NamespaceMove | None]:
    """The objects stay where they are when no object has the namespace, or two would get the same name."""
    objects, count = moved(old, move)
    if not count or len(_by_key(objects)) != len(_by_key(old)):
        return old, None
    return objects, replace(move, objects=count)


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

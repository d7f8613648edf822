"""Effects of an upgrade beside its objects: images that change, and what going back does not undo. Pure functions."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rukpak_py.apply.crd_safety.definition import UnreadableDefinitionError, read_definition
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.permissions.permission import mapping, text
from rukpak_py.apply.permissions.pod_accounts import POD_SPECS, is_of_pods, runs_pods
from rukpak_py.apply.upgrade_plan import UpgradePlan
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.text import named

Json = dict[str, Any]
Manifests = Mapping[ObjectKey, Json]

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_LOST_WITH = {
    GroupKind("", "Namespace"): "everything in it is lost",
    GroupKind("", "PersistentVolume"): "its record of the volume is lost",
    GroupKind("", "PersistentVolumeClaim"): "its data is lost, unless the volume is retained",
    GroupKind("", "Secret"): "its values are lost, unless the content has them",
    CRD_KIND: "all objects of its kind are lost",
}
_OF_OTHERS = "what only the cluster has of it is lost"


def may_have_effects(kind: GroupKind) -> bool:
    """Whether the manifests of a kind are looked at here."""
    return kind == CRD_KIND or is_of_pods(kind)


class ImageChange(msgspec.Struct, frozen=True, kw_only=True):
    """None: that side has no such container."""

    key: ObjectKey
    container: str
    old: str | None
    new: str | None


def image_changes(old: Manifests, new: Manifests) -> list[ImageChange]:
    found = []
    for key in sorted({*old, *new}):
        before, after = (dict(_images(side[key])) if key in side else {} for side in (old, new))
        found += [
            ImageChange(key=key, container=name, old=before.get(name), new=after.get(name))
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name)
        ]
    return found


def _images(manifest: Json) -> Iterator[tuple[str, str]]:
    if not runs_pods(manifest):
        return
    for path in POD_SPECS:
        spec: Mapping[str, Any] = manifest
        for step in path:
            spec = mapping(spec.get(step))
        for containers in _CONTAINERS:
            listed = spec.get(containers)
            for container in map(mapping, listed if isinstance(listed, list) else ()):
                if image := text(container.get("image")):
                    yield text(container.get("name")), image


def irreversible(plan: UpgradePlan, old: Manifests, new: Manifests) -> list[str]:
    """`old`: of the installed content, as far as it is known."""
    objects = plan.objects
    found = [
        f"{key} is deleted and created again: {_LOST_WITH.get(key.group_kind, _OF_OTHERS)}" for key in objects.replaced
    ]
    pruned = (key for key in objects.pruned if key.group_kind in _LOST_WITH)
    found += [f"{key} is deleted: {_LOST_WITH[key.group_kind]}" for key in pruned]
    for key in (*objects.changed, *objects.replaced):
        if key.group_kind == CRD_KIND and key in old and key in new:
            found += _of_crd(key, old[key], new[key])
    found += [f"{key} is taken over: other managers lose the fields that the content sets" for key in objects.taken]
    return [*found, *(f"hook {name} runs: what it does stays" for name in plan.hooks)]


def _of_crd(key: ObjectKey, old: Json, new: Json) -> Iterator[str]:
    try:
        before, after = read_definition(old), read_definition(new)
    except UnreadableDefinitionError:
        return
    if gone := [name for name in before.versions if name not in after.versions]:
        yield f"{key} has no version {named(gone)} any more: objects that were stored so have to be migrated"
    if before.storage and after.storage and before.storage != after.storage:
        yield f"{key} stores objects as {after.storage}, and no longer as {before.storage}: those written so stay so"

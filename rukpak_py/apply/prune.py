"""Deletes what left the content: one request per object, by uid and resourceVersion.

Custom resources go first, and are waited for where their CRDs or workloads go too: without the controller that takes
its finalizer away, a custom resource would stay for ever, and hold its CRD.

An object that changed since it was seen answers 409 and is looked at: with another owner, or an annotation that keeps
it, it stays; a status that moved does not save it.
A delete that is denied is reported, and the object is simply still there: the next look finds it.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import msgspec

from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    DELETION_POLICY_ANNOTATION,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
    RELEASED_ANNOTATION,
)
from rukpak_py.apply.marks import released_value
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.apply.removed_objects import deletion_phase
from rukpak_py.apply.results import ChangeSet, failure_of
from rukpak_py.apply.target import Target
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.errors import KindNotServedError, NotFoundError, StaleError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.pace import run_bounded

_SERVING = frozenset({ApplyPhase.CRDS, ApplyPhase.WORKLOADS})  # what custom resources need to go
LOOKS = 3  # at an object that moves while it is to be deleted


async def prune(target: Target, lives: Iterable[ObservedObject], change_set: ChangeSet) -> None:
    """Prune in the order given, kind by kind: what was built on others goes before them."""
    lives = list(lives)
    for phase, group in groupby(lives, key=deletion_phase):
        remaining = await _prune_phase(target, list(group), change_set)
        if phase is ApplyPhase.CUSTOM_RESOURCES and remaining and any(deletion_phase(one) in _SERVING for one in lives):
            change_set.waiting += [live.going for live in remaining]
            return


async def _prune_phase(target: Target, lives: list[ObservedObject], change_set: ChangeSet) -> list[ObservedObject]:
    """Prune a phase; return the objects that are still there: held by finalizers, or by a delete that failed."""
    remaining: list[ObservedObject] = []

    async def prune_one(live: ObservedObject) -> None:
        left = live if live.is_deleted else await delete(target, live, change_set)
        if left is not None:
            remaining.append(left)

    for _, group in groupby(lives, key=lambda live: live.gvk.group_kind):
        await run_bounded(prune_one, group)
    return sorted(remaining, key=lambda live: live.key)


async def delete(
    target: Target, live: ObservedObject, change_set: ChangeSet, *, propagation: str = "Background"
) -> ObservedObject | None:
    """Delete the object; return what is still there of it."""
    try:
        answer = await _delete(target, live, propagation)
    except (NotFoundError, KindNotServedError):
        answer = None  # gone already: what we wanted
    except RukPakError as error:
        change_set.failures.append(failure_of(live.key, error))
        return live
    target.last_applied.forget(live.key)
    change_set.pruned.append(live.key)
    if answer is None:
        change_set.gone.append(live)
        return None
    return observed_object(live.key, live.gvk, answer)


async def _delete(target: Target, live: ObservedObject, propagation: str) -> Metadata | None:
    resource = target.resource_of(live.key)
    for attempt in range(LOOKS + 1):
        try:
            return await target.client.delete(
                resource,
                live.key.namespace,
                live.key.name,
                uid=live.uid,
                resource_version=str(live.version),
                propagation=propagation,
            )
        except StaleError:
            now = observed_object(
                live.key, live.gvk, await target.client.get_metadata(resource, live.key.namespace, live.key.name)
            )
            if attempt == LOOKS or _grounds(now) != _grounds(live):
                raise
            live = now
    raise AssertionError("unreachable: the last attempt returns or raises")


def _grounds(live: ObservedObject) -> tuple[str, str, bool, bool | None, bool]:
    """The grounds on which it may be deleted."""
    return live.uid, live.owner_uid, live.outlives, live.prune, live.is_proven_of(live.owner_uid)


async def release(target: Target, live: ObservedObject, change_set: ChangeSet) -> None:
    """Remove our labels, annotations and owner reference: the object has no manager from then on.

    One annotation says that we may take it again when it comes back into the content.
    """
    if await _disown(target, live, change_set, is_released=True):
        change_set.released.append(live.key)


async def orphan(target: Target, live: ObservedObject, change_set: ChangeSet) -> None:
    """Orphan it as the collector does: with its labels, a deployment of the same name may take the object again."""
    await _disown(target, live, change_set)


async def _disown(target: Target, live: ObservedObject, change_set: ChangeSet, *, is_released: bool = False) -> bool:
    """Remove our owner reference, and our marks from what is released. False: it is gone, or could not be changed."""
    is_there = True
    try:
        resource = target.resource_of(live.key)
        metadata = await target.client.get_metadata(resource, live.key.namespace, live.key.name)
        if metadata.uid != live.uid:
            return False
        others = [msgspec.to_builtins(one) for one in metadata.owner_references if one.uid != target.owner.uid]
        identity = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        marks = _marks_of_released(target.owner.uid, live, metadata) if is_released else {}
        body = {"metadata": {**identity, **marks, "ownerReferences": others or None}}
        await target.client.patch(resource, live.key.namespace, live.key.name, canonical_json(body))
    except (NotFoundError, KindNotServedError):
        is_there = False
    except RukPakError as error:
        change_set.failures.append(failure_of(live.key, error))
        return False
    target.last_applied.forget(live.key)
    return is_there


def _marks_of_released(owner_uid: str, live: ObservedObject, metadata: Metadata) -> dict[str, Any]:
    removed = dict.fromkeys((OWNER_UID_ANNOTATION, DELETION_POLICY_ANNOTATION, APPLIED_ANNOTATION))
    return {
        "labels": {OWNER_KIND_LABEL: None, OWNER_NAME_LABEL: None},
        "annotations": {**removed, RELEASED_ANNOTATION: released_value(owner_uid, live.key, metadata)},
    }

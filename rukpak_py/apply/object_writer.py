"""Writes one object, or tries it out; every answer is looked at.

* A free name is applied without force and must answer 201. A 200 means that another client was faster: our fields are
  given back at once, and the object is judged again.
* What is ours is applied with force *and* its uid: an object that was replaced meanwhile answers 409.
* Applying to an object that is being deleted answers 200: `deletionTimestamp` is looked at in every answer.
* A 422 may be about a union that the apply alone cannot switch (`unions`): it is switched, and the apply sent again.
"""

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson

from rukpak_py.api.names import EventReason, Reason
from rukpak_py.apply.ignored import disown, owned_as_a_whole
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.plan import TAKES, Action, Change
from rukpak_py.apply.prune import delete
from rukpak_py.apply.replacing import (
    failure_for_instances,
    failure_of_change,
    is_replaceable,
    propagation_of,
    why_not_deleted,
    why_replaced,
)
from rukpak_py.apply.results import ChangeSet, Failure, failure_of, lost_marks
from rukpak_py.apply.take_over import take_over
from rukpak_py.apply.target import Target
from rukpak_py.apply.unions.switch import RefusedApply
from rukpak_py.apply.unions.table import unions_of
from rukpak_py.apply.unknown_fields import without_fields
from rukpak_py.core.errors import ConflictError, RukPakError
from rukpak_py.core.logs import LASTING, log_event
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.answers import ApplyAnswer
from rukpak_py.kube.errors import (
    AlreadyExistsError,
    FieldConflictError,
    InvalidError,
    NotFoundError,
    SchemaError,
    StaleError,
)
from rukpak_py.kube.resources import CRDS, Resource
from rukpak_py.kube.status_errors import concise_message

LOG = logging.getLogger(__name__)
_UNCHANGED = frozenset({Action.CORRECT, Action.AGAIN})  # the content is that of the last apply
REPAIRS = 10  # unknown fields are removed one answer at a time; a body with more of them is refused


class ObjectWriter:
    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    async def try_out(self, target: Target, change: Change) -> Failure | None:
        """Return what the server would refuse. None too for a name that was taken just now: the real apply tells."""
        try:
            return await self._dry_run(target, change)
        except FieldConflictError:
            return None
        except InvalidError as error:
            failure = await self._why_not_replaced(target, change, error)
            if failure is None:
                target.last_applied.only_replaced[change.key] = change.payload.digest
            return failure
        except RukPakError as error:
            return failure_of_change(change, error)

    async def _dry_run(self, target: Target, change: Change) -> Failure | None:
        """Send the change as a dry run; return what is wrong with the answer."""
        if change.action is Action.CREATE_ONCE:
            await self._create_once(target, change, dry_run=True)
            return None
        try:
            force = change.action is not Action.CREATE
            answer = await _send(target, change, _trial_body(change), force=force, dry_run=True)
        except InvalidError as error:
            refused = _switchable(target, change, error)
            if refused is None or not await refused.try_switched():
                raise
            return None
        return lost_marks(_observed(change, answer), target.owner) or _unignorable(target, change, answer)

    async def write(self, target: Target, change: Change, change_set: ChangeSet) -> None:
        try:
            if change.action is Action.CREATE_ONCE:
                await self._create_once(target, change)
                change_set.created.append(change.key)
                return
            applied = await self._written(target, change, change_set)
        except InvalidError as error:
            if change.action is Action.AGAIN and is_replaceable(error):
                # A webhook rewrites a field that never changes when the object is created: nothing is wrong with it.
                said = f"{change.key} is left as it is: {concise_message(error)}"
                LASTING.tell(LOG, logging.INFO, Reason.FIELDS_CONTESTED, said)
                target.last_applied.again.discard(change.key)
                return
            failure = await self._why_not_replaced(target, change, error)
            if failure is not None or change.live is None:
                change_set.failures.append(failure or failure_of_change(change, error))
                return
            kind = change.desired.head.gvk.group_kind
            await delete(target, change.live, change_set, propagation=propagation_of(kind))
            change_set.waiting.append(f"{change.key} is being replaced")
            if change.key in change_set.pruned:
                why = why_replaced(error)
                log_event(LOG, logging.INFO, EventReason.REPLACED, f"deleted {change.key}, to re-create it: {why}")
                target.last_applied.deleted_to_replace[change.key] = why
        except RukPakError as error:
            target.last_applied.look_again(change.key)
            change_set.failures.append(failure_of(change.key, error))
        else:
            self._take_in(target, change, applied, change_set)

    async def _why_not_replaced(self, target: Target, change: Change, error: InvalidError) -> Failure | None:
        """The failure; None: only the past of the object stands in the way, and the server would take a new one."""
        refusal, live = failure_of_change(change, error), change.live
        if not change.desired.force or live is None or why_not_deleted(change) or not is_replaceable(error):
            return refusal
        try:
            await target.client.create(
                _resource(target, change), change.key.namespace, change.payload.body, dry_run=True
            )
        except AlreadyExistsError:
            pass  # the name is looked at last
        except RukPakError:
            return refusal
        if live.gvk.group_kind != CRDS.group_kind:
            return None
        return failure_for_instances(change, error, await target.foreign_instances(live))

    async def _written(self, target: Target, change: Change, change_set: ChangeSet) -> ApplyAnswer:
        match change.action:
            case Action.CREATE:
                return await self._create(target, change, change_set)
            case action if action in TAKES and change.live is not None:
                return await self._take(target, change, change.live, change_set)
            case _:
                return await self._update(target, change, change_set)

    async def _update(self, target: Target, change: Change, change_set: ChangeSet) -> ApplyAnswer:
        body, version = _body(change), await self._disown_ignored(target, change)
        try:
            body = body if version is None else _with_metadata(body, resourceVersion=version)
            return await _send(target, change, body, force=True, change_set=change_set)
        except InvalidError as error:
            refused = _switchable(target, change, error)
            if refused is None or await refused.switch() is None:
                raise
        return await _send(target, change, _body(change), force=True, change_set=change_set)

    async def _disown_ignored(self, target: Target, change: Change) -> str | None:
        """The resourceVersion to apply on, where fields that the content no longer sets were ours."""
        if change.live is None or change.action in _UNCHANGED or not change.desired.ignored:
            return None
        resource = _resource(target, change)
        return await disown(target.client, resource, change.live, target.owner.manager, change.desired.ignored)

    async def _take(self, target: Target, change: Change, live: ObservedObject, change_set: ChangeSet) -> ApplyAnswer:
        version = await self._disown_ignored(target, change)
        live = live if version is None else replace(live, version=int(version))
        try:
            outcome = await self._judge(target, change, live)
        except InvalidError as error:
            refused = _switchable(target, change, error, version=live.version)
            switched = None if refused is None else await refused.switch()
            if switched is None:
                raise
            live = replace(live, version=int(switched))
            outcome = await self._judge(target, change, live)
        resource = _resource(target, change)
        version = await take_over(target.client, resource, live, target.owner, outcome.metadata)
        body = _with_metadata(change.payload.body, uid=live.uid, resourceVersion=version)
        return await _send(target, change, body, force=True, change_set=change_set)

    async def _judge(self, target: Target, change: Change, live: ObservedObject) -> ApplyAnswer:
        body = _with_metadata(change.payload.body, uid=live.uid, resourceVersion=str(live.version))
        return await _send(target, change, body, force=True, dry_run=True)

    async def _create(self, target: Target, change: Change, change_set: ChangeSet) -> ApplyAnswer:
        applied = await _send(target, change, change.payload.body, force=False, change_set=change_set)
        if (
            applied.created
            or applied.metadata.uid == target.last_applied.uids.get(change.key)  # ours; its labels had been stripped
            or (applied.resent and _is_sole_manager(applied, target.owner))  # the echo of our own create
        ):
            return applied
        # Only of what is known not to be ours: it was looked for and was not there, or what we applied had another uid.
        if change.key in target.last_applied.absent or change.key in target.last_applied.uids:
            with suppress(NotFoundError, StaleError):  # gone again, or another one by now: nothing to give back
                await self._give_back(target, change, applied.metadata.uid)
        raise ConflictError(f"{change.key} was created by another client at the same moment; checking it again")

    async def _create_once(self, target: Target, change: Change, *, dry_run: bool = False) -> None:
        resource, key = _resource(target, change), change.key
        with suppress(AlreadyExistsError):  # another client was faster: it stays as it is
            await target.client.create(
                resource, key.namespace, change.payload.body, field_manager=target.owner.manager, dry_run=dry_run
            )
        if not dry_run:
            target.last_applied.absent.discard(key)

    async def _give_back(self, target: Target, change: Change, uid: str) -> None:
        """Apply the bare identity: every field that we alone own goes, what others own stays."""
        key = change.key
        identity = {"name": key.name, "uid": uid, **({"namespace": key.namespace} if key.namespace else {})}
        bare = {"apiVersion": change.desired.head.gvk.api_version, "kind": key.kind, "metadata": identity}
        given_back = await _send(target, change, canonical_json(bare), force=False)
        self._inventory.disclaim(given_back.object)

    def _take_in(self, target: Target, change: Change, applied: ApplyAnswer, change_set: ChangeSet) -> None:
        lost = lost_marks(_observed(change, applied), target.owner) or _unignorable(target, change, applied)
        if lost is not None:  # no watch may show it: what came of it is asked for again
            target.last_applied.uids[change.key] = applied.metadata.uid
            change_set.failures.append(lost)
            return
        live = self._inventory.observe(change.desired.head.gvk, applied.object)
        if live.is_deleted:
            change_set.waiting.append(live.going)
            return
        target.last_applied.applied(live)
        if change.action not in _UNCHANGED:  # once for each content
            change_set.warnings += change.desired.warnings
        match change.action:
            case Action.CREATE:
                change_set.created.append(change.key)
                why = target.last_applied.deleted_to_replace.pop(change.key, None)
                if why is not None:
                    change_set.replaced[change.key] = why
            case Action.TAKE:
                change_set.taken.append(change.key)
            case Action.UPDATE | Action.TAKE_BACK:
                change_set.updated.append(change.key)
            case _ if change.live is None or change.live.version != live.version:
                change_set.corrected.append(change.key)
            case _:
                pass  # it was as it should be


async def preview(target: Target, change: Change) -> tuple[bytes | None, bytes]:
    """The whole object as it is, None where there is none, and as the server would store it: a GET and a dry run.

    Raises what the server would refuse.
    """
    live, key, body = None, change.key, _trial_body(change)
    if change.live is not None:
        live = await target.client.get(_resource(target, change), key.namespace, key.name)
    return live, (await _send(target, change, body, force=live is not None, dry_run=True, whole=True)).body


async def _send(
    target: Target,
    change: Change,
    body: bytes,
    *,
    force: bool,
    dry_run: bool = False,
    whole: bool = False,
    change_set: ChangeSet | None = None,
) -> ApplyAnswer:
    """Send one apply. Fields of built-in kinds that this server does not know are left out, with a warning."""
    key = change.key
    for attempt in range(REPAIRS + 1):
        try:
            return await target.client.apply(
                _resource(target, change),
                key.namespace,
                key.name,
                body,
                field_manager=target.owner.manager,
                force=force,
                dry_run=dry_run,
                whole=whole,
            )
        except SchemaError as error:
            if attempt == REPAIRS or not error.unknown_fields or not is_builtin(key.group):
                raise
            repaired = without_fields(body, error.unknown_fields)
            if repaired == body:
                raise
            body = repaired
            if change_set is not None:
                fields = ", ".join(error.unknown_fields)
                warning = f"{key}: left out {fields}, which this API server does not know"
                if warning not in change_set.warnings:
                    change_set.warnings.append(warning)
    raise AssertionError("unreachable: the last attempt returns or raises")


def _observed(change: Change, answer: ApplyAnswer) -> ObservedObject:
    return observed_object(change.key, change.desired.head.gvk, answer.metadata)


def _switchable(
    target: Target, change: Change, error: InvalidError, *, version: int | None = None
) -> RefusedApply | None:
    """The refusal of a change, where it may be about a union."""
    if error.status != 422 or change.live is None or not unions_of(change.desired.head.gvk.group_kind):
        return None
    return RefusedApply(
        client=target.client,
        resource=_resource(target, change),
        key=change.key,
        uid=change.live.uid,
        version=version,
        body=change.payload.body,
        manager=target.owner.manager,
    )


def _resource(target: Target, change: Change) -> Resource:
    """A kind has one resource; its URL must be that of the version in which the object is written."""
    return replace(target.resource_of(change.key), gvk=change.desired.head.gvk)


def _body(change: Change) -> bytes:
    """The body, which names a live object by its uid: one that took its place answers 409 and is not overwritten."""
    return _with_metadata(change.payload.body, uid=change.live.uid) if change.live is not None else change.payload.body


def _trial_body(change: Change) -> bytes:
    """The body for a dry run, with the ignored fields that are still ours."""
    if change.live is None or change.payload.trial is None:
        return _body(change)
    return _with_metadata(change.payload.trial, uid=change.live.uid)


def _unignorable(target: Target, change: Change, answer: ApplyAnswer) -> Failure | None:
    if not change.desired.ignored:
        return None
    return owned_as_a_whole(change.key, answer.metadata, target.owner.manager, change.desired.ignored)


def _with_metadata(body: bytes, **fields: str) -> bytes:
    manifest: dict[str, Any] = orjson.loads(body)
    manifest["metadata"].update(fields)
    return canonical_json(manifest)


def _is_sole_manager(applied: ApplyAnswer, owner: Owner) -> bool:
    return {entry.manager for entry in applied.metadata.managed_fields} == {owner.manager}

"""The plan of a deployment: for every desired object what is done and why, and what is pruned. A pure function.

Nothing is decided later than here. `Action.REFUSE` anywhere means that nothing at all is written: a deployment never
takes half of what another owner has. The plan of an unchanged deployment has no writes.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.desired import Desired, Payload
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.ownership import (
    LET_GO,
    SHARING,
    OwnershipSituation,
    SharedObject,
    let_go,
    may_take,
    refusal,
    shared,
    situation,
)
from rukpak_py.apply.removed_objects import DEFAULT_PRUNE_POLICY, Kept, PrunePolicy
from rukpak_py.core.objects import ObjectKey


class Action(Enum):
    CREATE = auto()  # the name is free: apply without force, the answer must be 201
    CREATE_ONCE = auto()  # the name is free: created, and not ours from then on
    SPARE = auto()  # it exists, and is left as it is, with or without an owner
    SHARE = auto()  # another deployment's, or let go of by it, and left as it is
    TAKE = auto()  # it exists and may become ours: former managers lose their fields
    TAKE_BACK = auto()  # the same with what we left in the cluster when it left the content
    UPDATE = auto()  # ours; the content changed
    CORRECT = auto()  # ours; another client changed fields that we own, or we cannot tell
    AGAIN = auto()  # ours and as it should be, as far as one can see; applied once more all the same
    LEAVE = auto()  # ours and as it should be
    WAIT = auto()  # it is being deleted; it is created again when it is gone
    REFUSE = auto()  # it is another owner's


TAKES = frozenset({Action.TAKE, Action.TAKE_BACK})
WRITES = frozenset({Action.CREATE, Action.CREATE_ONCE, *TAKES, Action.UPDATE, Action.CORRECT, Action.AGAIN})


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    action: Action
    desired: Desired
    payload: Payload
    live: ObservedObject | None
    reason: str = ""
    shared: SharedObject | None = None  # of `SHARE`

    @property
    def key(self) -> ObjectKey:
        return self.desired.key


@dataclass(frozen=True, kw_only=True)
class Plan:
    """`changes` in the order of the phases. What left the content is pruned in the reverse of it, kept or released."""

    changes: tuple[Change, ...]
    prune: tuple[ObservedObject, ...]
    keep: tuple[Kept, ...] = ()
    release: tuple[ObservedObject, ...] = ()
    prune_policy: PrunePolicy = DEFAULT_PRUNE_POLICY  # for what the watch does not show of former content

    @cached_property
    def writes(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.action in WRITES)

    @cached_property
    def refused(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.action is Action.REFUSE)

    @cached_property
    def shared(self) -> tuple[SharedObject, ...]:
        return tuple(change.shared for change in self.changes if change.shared is not None)

    def without(self, keys: Collection[ObjectKey]) -> "Plan":
        """The same, but these objects are left as they are for now."""
        if not keys:
            return self
        changes = (replace(one, action=Action.LEAVE) if one.key in keys else one for one in self.changes)
        return replace(self, changes=tuple(changes))

    def only(self, keys: Collection[ObjectKey]) -> "Plan":
        """The plan for these objects, and nothing else."""
        changes = tuple(one for one in self.changes if one.key in keys)
        return replace(self, changes=changes, prune=(), keep=(), release=())

    def count(self, action: Action) -> int:
        return sum(change.action is action for change in self.changes)


def decide(
    desired: Desired,
    live: ObservedObject | None,
    *,
    owner: Owner,
    adopt: Adopt,
    fields: str | None,
    missing_deployments: Collection[str] = (),
    again: bool = False,
    is_installed: bool = False,
) -> Change:
    """`fields`: the hash of our fields that the server answered to our last apply; None when we cannot know.
    `again`: it is to be applied once more, whatever it looks like.

    `missing_deployments`: names of BundleDeployments that do not exist. `is_installed`: what another deployment makes
    of an object that both have is no reason to refuse the rest.
    """
    found = situation(live, owner, missing_deployments)

    def change(action: Action, reason: str = "", payload: Payload = desired.payload) -> Change:
        return Change(action=action, desired=desired, payload=payload, live=live, reason=reason)

    if live is None:
        return change(Action.CREATE)
    if found is OwnershipSituation.OURS:
        # What was there before us keeps the payload that it was taken with.
        payload = desired.payload_when_taken if live.outlives else desired.payload
        if live.is_deleted:
            return change(Action.WAIT, live.going, payload)
        if live.is_from_upstream and live.labelled_for == owner.name:
            return change(Action.TAKE, "the original operator installed it", payload)
        if live.applied != payload.digest:
            return change(Action.UPDATE, "its content changed", payload)
        if fields is None or live.fields != fields:
            return change(Action.CORRECT, "somebody changed what we applied", payload)
        return change(Action.AGAIN if again else Action.LEAVE, "", payload)
    if not may_take(found, adopt):
        return _shared_or_refused(change(Action.REFUSE), live, found, owner, is_installed=is_installed)
    if live.is_deleted:
        return change(Action.WAIT, live.going)
    is_our_work = found is OwnershipSituation.OURS_BY_LABEL and not live.outlives
    payload = desired.payload if is_our_work else desired.payload_when_taken
    is_back = found is OwnershipSituation.RELEASED  # whether we had created it is not known any more
    how = (Action.TAKE_BACK, "it is in the content again") if is_back else (Action.TAKE, "it is taken over")
    return change(*how, payload)


def _shared_or_refused(
    refused: Change, live: ObservedObject, found: OwnershipSituation, owner: Owner, *, is_installed: bool
) -> Change:
    if found in LET_GO and is_installed and refused.desired.may_be_shared:
        if live.is_deleted:
            return replace(refused, action=Action.WAIT, reason=live.going)
        return replace(refused, action=Action.SHARE, reason="no deployment has it", shared=let_go(live.key))
    has_owner = found is OwnershipSituation.OTHER_DEPLOYMENT
    in_common = shared(refused.desired, live, owner, has_owner=has_owner) if found in SHARING else None
    if in_common is not None and (is_installed or in_common.is_same(live)):
        return replace(refused, action=Action.SHARE, reason="another deployment has it", shared=in_common)
    return replace(refused, reason=refusal(live, found, owner, is_of_crds=refused.desired.may_be_shared))


def decide_once(desired: Desired, live: ObservedObject | None) -> Change:
    """Decide about an object that is created where it is missing, and of no interest once it is there."""
    action, reason = Action.CREATE_ONCE, ""
    if live is not None:
        action, reason = (Action.WAIT, live.going) if live.is_deleted else (Action.SPARE, "it exists")
    return Change(action=action, desired=desired, payload=desired.payload, live=live, reason=reason)


def make_plan(
    desired: Iterable[Desired],
    *,
    live: Mapping[ObjectKey, ObservedObject],
    owned: Mapping[ObjectKey, ObservedObject],
    fields: Mapping[ObjectKey, str],
    owner: Owner,
    adopt: Adopt,
    prune_policy: PrunePolicy = DEFAULT_PRUNE_POLICY,
    missing_deployments: Collection[str] = (),
    again: Collection[ObjectKey] = (),
    is_installed: bool = False,
) -> Plan:
    """`live`: what is known under the desired names. `owned`: all that the cluster shows as this deployment's."""
    changes = [
        decide_once(want, live.get(want.key))
        if want.create_only
        else decide(
            want,
            live.get(want.key),
            owner=owner,
            adopt=adopt,
            fields=fields.get(want.key),
            missing_deployments=missing_deployments,
            again=want.key in again,
            is_installed=is_installed,
        )
        for want in desired
    ]
    wanted = {change.key for change in changes if not change.desired.create_only}
    leaving = prune_policy.divide(left_content(owned, wanted, owner))
    return Plan(
        changes=tuple(sorted(changes, key=lambda change: (change.desired.phase, change.key))),
        prune=leaving.prune,
        keep=leaving.keep,
        release=leaving.release,
        prune_policy=prune_policy,
    )


def left_content(
    owned: Mapping[ObjectKey, ObservedObject], wanted: Collection[ObjectKey], owner: Owner
) -> list[ObservedObject]:
    """Objects that are proven to be the deployment's, and that the content does not have."""
    return [
        live
        for key, live in owned.items()
        if key not in wanted and live.owner_uid == owner.uid and live.is_proven_of(owner.uid)
    ]

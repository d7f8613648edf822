"""The plan of a deployment: for every desired object what is done and why, and what is pruned. A pure function.

Nothing is decided later than here. `Action.REFUSE` anywhere means that nothing at all is written: a deployment never
takes half of what belongs to somebody else. The plan of an unchanged deployment has no writes.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

from rukpak_py.api.bundle_deployment import Adopt
from rukpak_py.apply.desired import Desired, Form
from rukpak_py.apply.live import Live
from rukpak_py.apply.order import Phase, is_builtin, phase_of
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.ownership import Situation, may_take, refusal, situation
from rukpak_py.core.objects import ObjectKey


class Action(Enum):
    CREATE = auto()  # the name is free: apply without force, the answer must be 201
    TAKE = auto()  # it exists and may become ours: former managers lose their fields
    UPDATE = auto()  # ours; the content changed
    CORRECT = auto()  # ours; somebody changed fields that we own, or we cannot tell
    LEAVE = auto()  # ours and as it should be
    WAIT = auto()  # it is being deleted; it is created again when it is gone
    REFUSE = auto()  # somebody else's


WRITES = frozenset({Action.CREATE, Action.TAKE, Action.UPDATE, Action.CORRECT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    action: Action
    desired: Desired
    form: Form
    live: Live | None
    reason: str = ""

    @property
    def key(self) -> ObjectKey:
        return self.desired.key


@dataclass(frozen=True, kw_only=True)
class Plan:
    """`changes` in the order of the phases; `prune` in the reverse of it. `let_go`: it left too, and it must stay."""

    changes: tuple[Change, ...]
    prune: tuple[Live, ...]
    let_go: tuple[Live, ...] = ()

    @cached_property
    def writes(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.action in WRITES)

    @cached_property
    def refused(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.action is Action.REFUSE)

    def without(self, keys: Collection[ObjectKey]) -> "Plan":
        """The same, but these objects are left as they are for now."""
        if not keys:
            return self
        changes = (replace(one, action=Action.LEAVE) if one.key in keys else one for one in self.changes)
        return replace(self, changes=tuple(changes))

    def count(self, action: Action) -> int:
        return sum(change.action is action for change in self.changes)


def decide(desired: Desired, live: Live | None, *, owner: Owner, adopt: Adopt, fields: str | None) -> Change:
    """`fields`: the hash of our fields that the server answered to our last apply; None when we cannot know."""
    found = situation(live, owner)

    def change(action: Action, reason: str = "", form: Form = desired.form) -> Change:
        return Change(action=action, desired=desired, form=form, live=live, reason=reason)

    if live is None:
        return change(Action.CREATE)
    if found is Situation.OURS:
        # A Namespace that was taken from nobody stays in the form in which it was taken.
        form = desired.form_when_taken if live.outlives else desired.form
        if live.is_deleted:
            return change(Action.WAIT, f"{live.key} is being deleted", form)
        if live.applied != form.digest:
            return change(Action.UPDATE, "its content changed", form)
        if fields is None or live.fields != fields:
            return change(Action.CORRECT, "somebody changed what we applied", form)
        return change(Action.LEAVE, "", form)
    if not may_take(found, adopt):
        return change(Action.REFUSE, refusal(live, found, owner))
    if live.is_deleted:
        return change(Action.WAIT, f"{live.key} is being deleted")
    form = desired.form_when_taken if found is Situation.UNOWNED else desired.form
    return change(Action.TAKE, "it is taken over", form)


def make_plan(
    desired: Iterable[Desired],
    *,
    live: Mapping[ObjectKey, Live],
    owned: Mapping[ObjectKey, Live],
    fields: Mapping[ObjectKey, str],
    owner: Owner,
    adopt: Adopt,
) -> Plan:
    """`live`: what is known under the desired names. `owned`: all that the cluster shows as this deployment's."""
    changes = [
        decide(want, live.get(want.key), owner=owner, adopt=adopt, fields=fields.get(want.key)) for want in desired
    ]
    wanted = {change.key for change in changes}
    left = [live for key, live in owned.items() if key not in wanted and live.owner_uid == owner.uid]
    return Plan(
        changes=tuple(sorted(changes, key=lambda change: (change.desired.phase, change.key))),
        prune=tuple(sorted((one for one in left if not _stays(one)), key=lambda one: (-_phase(one), one.key))),
        let_go=tuple(sorted((one for one in left if _stays(one)), key=lambda one: one.key)),
    )


def _stays(live: Live) -> bool:
    return live.outlives or live.never_prune


def _phase(live: Live) -> Phase:
    return phase_of(live.gvk, custom=not is_builtin(live.gvk.group))

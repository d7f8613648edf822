"""Steps after everything is applied: health, then pruning, then the final word.

Health comes from the watches; only why a workload stays unhealthy is asked of its pods. What left the content goes
when the new content is healthy (or applied, if the deployment says so). None of this waits for what another client
keeps changing, or for kinds that cannot be seen: those are reported beside it.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import monotonic

from rukpak_py.api.bundle_deployment import BundleDeployment, InstallOutcome, KeptObject
from rukpak_py.api.deployment_spec import PatchTarget
from rukpak_py.api.install_options import options_of
from rukpak_py.apply.health import Health, describe, describe_briefly, has_health
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.ownership import SharedObject
from rukpak_py.apply.removed_objects import kept_for_instances, still_kept, without_kept
from rukpak_py.controllers.deployment.applying import AppliedContent
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import in_seconds, is_open, look_again
from rukpak_py.controllers.deployment.history import installed_change
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.pod_causes import FIRST_SECONDS, has_failed, next_look, workloads
from rukpak_py.controllers.deployment.pruning import Pruning, unfinished
from rukpak_py.controllers.deployment.state import differences
from rukpak_py.controllers.result import object_details as details
from rukpak_py.controllers.result.cause_table import TABLE, WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.changes import History, reduced_text
from rukpak_py.controllers.result.conclusion import read_clock
from rukpak_py.controllers.result.progress import Fact, Progress, Reached
from rukpak_py.controllers.result.reported_facts import HEALTH_ID
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.patches import matches_key
from rukpak_py.kube.client import Client

LOG = logging.getLogger(__name__)
SHARED_SECONDS = 300.0  # between two looks at what other deployments have: its watch tells their owners alone
KEPT_CRDS_SECONDS = 300.0  # between two looks at the instances of CRDs that are kept for theirs
NAMED_CONFLICTS = 5
SLACK_SECONDS = 2.0  # the time of a note has whole seconds: a cause is known when the note comes to tell it


class AfterApply:
    def __init__(
        self, inventory: Inventory, *, client_of: Callable[[BundleDeployment], Client], now: Callable[[], str]
    ) -> None:
        self._inventory = inventory
        self._pruning = Pruning(inventory)
        self._client_of = client_of
        self._now = now

    async def run(self, applied: AppliedContent) -> Progress:
        attempt, owned = applied.attempt, self._owned(applied.attempt)
        keys = sorted(key for key in attempt.state.applied.fields if key in owned and key not in applied.hidden)
        lives = [live for live in map(owned.__getitem__, keys) if has_health(live.gvk)]
        is_unseen = any(live.health is None for live in lives)  # whole, by the watch; it usually is in a moment
        if is_unseen and attempt.state.waited("first health") < WAIT_QUIET_SECONDS:
            return unfinished(applied)
        unhealthy = [live for live in lives if not (live.health and live.health.is_healthy)]
        pruned = await self._pruning.run(applied, is_healthy=not unhealthy)
        if isinstance(pruned, Progress):
            return pruned
        if self._is_changed_meanwhile(pruned):
            return unfinished(pruned)  # the next look is on its way and has the last word
        attempt.state.waits.over("first health", "pruned", "others")
        return await self._progress(pruned, len(keys), unhealthy)

    # Health

    async def _pod_causes(
        self, attempt: Attempt, unhealthy: Sequence[ObservedObject]
    ) -> tuple[Mapping[ObjectKey, str], list[Fact]]:
        """Causes for workloads that failed, or have been unhealthy for some seconds, and when to look again."""
        waits, later = attempt.state.waits, TABLE[Cause.UNHEALTHY].later
        if not unhealthy or later is None:
            waits.over("causes")
            attempt.state.pod_causes.forget()
            return {}, []
        lasted = max(attempt.state.waited("causes", attempt.content), _told_for(attempt))
        first = min(FIRST_SECONDS, (attempt.deployment.spec.wait.seconds or later[0]) - SLACK_SECONDS)
        causes = await attempt.state.pod_causes.ask(
            self._client_of(attempt.deployment), unhealthy, lasted=lasted, first=first, now=monotonic()
        )
        return causes, [look_again(next_look(lasted, first))] if workloads(unhealthy) else []

    def _is_changed_meanwhile(self, applied: AppliedContent) -> bool:
        attempt = applied.attempt
        found = differences(attempt.state.applied, without_kept(self._owned(attempt), applied.kept))
        plan = applied.planned.plan if applied.planned is not None else None
        leaving = {live.key for live in (*plan.prune, *plan.release)} if plan is not None else set[ObjectKey]()
        left = {key for key in found - applied.resting - leaving if key not in applied.hidden}
        return bool(left) and attempt.state.waited("others") < WAIT_QUIET_SECONDS

    # The final word

    async def _progress(self, applied: AppliedContent, total: int, unhealthy: Sequence[ObservedObject]) -> Progress:
        """`total`: objects that are applied and can be seen."""
        attempt, planned, owned = applied.attempt, applied.planned, self._owned(applied.attempt)
        kept = still_kept(applied.kept, owned)
        outcome = _outcome(unhealthy, [owned[key] for key in attempt.state.applied.fields if key in owned])
        done = planned.done if planned is not None else None
        change = installed_change(
            attempt,
            owned,
            kept,
            self._now(),
            outcome=outcome,
            done=done,
            all_is_seen=not applied.hidden,
            by_namespace=self._inventory.by_namespace,
        )
        if change.installed:
            attempt.state.completed = change.installed.completed
        causes, asking = await self._pod_causes(attempt, unhealthy)
        lasting = attempt.deployment.spec.wait.seconds
        facts = [
            *applied.facts,
            *_health(unhealthy, total, causes, lasting),
            *self._held_back(attempt, unhealthy, planned),
        ]
        if applied.hidden:
            facts.append(applied.hidden.fact(Cause.KINDS_HIDDEN))
        if applied.resting:
            facts.append(await self._contested(applied))
        is_finished = (planned is None or planned.is_whole) and not any(map(is_open, facts))
        facts += asking
        if attempt.state.shared:
            facts += [*self._shared(attempt.state.shared), look_again(SHARED_SECONDS)]
        if kept_for_instances(kept):
            facts.append(look_again(KEPT_CRDS_SECONDS))
        history = change.installed.history if change.installed else ()
        facts += [
            *_notes(kept, history),
            *self._copies(attempt),
            *self._unmatched(attempt),
            *_unmatched_patches(attempt),
        ]
        reached = Reached.FINISHED if is_finished else Reached.APPLIED
        return Progress(facts=tuple(facts), change=change, reached=reached)

    async def _contested(self, applied: AppliedContent) -> Fact:
        """Report contested fields. The other writers are read once for a conflict, not at each of their writes."""
        drift, planned = applied.attempt.state.drift, applied.planned
        if not drift.is_reported(applied.resting) and planned is not None:
            named = sorted(applied.resting)[:NAMED_CONFLICTS]
            drift.report(applied.resting, {key: await planned.target.last_managers(key) for key in named})
        detail = details.ContestedFields(managers=tuple(map(tuple, drift.managers.values())))
        return Fact(cause=Cause.FIELDS_CONTESTED, detail=detail, objects=tuple(drift.managers))

    @staticmethod
    def _held_back(attempt: Attempt, unhealthy: Sequence[ObservedObject], planned: Planned | None) -> Iterator[Fact]:
        """Objects that left the content, held back since the wait for health began."""
        if not unhealthy:
            attempt.state.waits.over("health")
            return
        since = in_seconds(-attempt.state.waited("health"))
        if planned is not None and planned.plan.prune:
            leaving = tuple(live.key for live in planned.plan.prune)
            yield Fact(cause=Cause.PRUNE_HELD_BACK, detail=details.HeldBack(), objects=leaving, since=since)

    def _copies(self, attempt: Attempt) -> Iterator[Fact]:
        copies = self._inventory.copies(attempt.deployment.metadata.uid, attempt.state.applied.fields)
        if copies:
            yield Fact(cause=Cause.COPIED, detail=details.Copied(), objects=tuple(sorted(copies)))

    def _shared(self, objects: Sequence[SharedObject]) -> Iterator[Fact]:
        """Facts about shared objects: those that other deployments own now, and those without an owner."""
        if unowned := tuple(one.key for one in objects if one.is_let_go):
            wakes = frozenset(unowned)  # when a deployment takes one
            yield Fact(cause=Cause.SHARED_UNOWNED, detail=details.SharedUnowned(), objects=unowned, wakes=wakes)
        lives = {one.key: self._inventory.get(one.key) for one in objects}
        there = [(one, live) for one in objects if not one.is_let_go and (live := lives[one.key]) is not None]
        for cause, is_same in ((Cause.SHARED, True), (Cause.SHARED_DIFFERS, False)):
            found = [one for one, live in there if one.is_same(live) is is_same]
            if found:
                keys, owners = tuple(one.key for one in found), tuple(one.owner.name for one in found)
                gone = tuple(sorted({one.owner.name for one in found if not one.has_owner}))
                kind = details.Shared if is_same else details.SharedDiffers
                detail = kind(owners=owners, gone=gone)
                yield Fact(cause=cause, detail=detail, objects=keys, wakes=frozenset(keys))

    def _unmatched(self, attempt: Attempt) -> Iterator[Fact]:
        """Overrides of the spec that are about nothing that the deployment has; of other options they say nothing."""
        spec = attempt.deployment.spec
        if not spec.overrides or options_of(spec).overrides != attempt.options.overrides:
            return
        keys = attempt.state.applied.fields.keys() | self._owned(attempt).keys()
        for line in details.unmatched_overrides(spec.overrides, keys, attempt.namespace):
            yield Fact(cause=Cause.OVERRIDE_UNMATCHED, detail=details.UnmatchedOverride(line=line))

    def _owned(self, attempt: Attempt) -> Mapping[ObjectKey, ObservedObject]:
        return self._inventory.ours(attempt.deployment.metadata.uid, attempt.state.applied.fields)


def _health(
    unhealthy: Sequence[ObservedObject], total: int, causes: Mapping[ObjectKey, str], lasting: float | None
) -> Iterator[Fact]:
    if not unhealthy:
        return
    failed = [live for live in unhealthy if has_failed(live)]
    explained = [live for live in unhealthy if live.key in causes or (live.health and live.health.cause)]
    worst = (failed or explained or unhealthy)[0]
    lines = tuple(_line(live, describe, causes) for live in unhealthy)
    yield Fact(
        cause=Cause.UNHEALTHY_FAILED if failed else Cause.UNHEALTHY,
        detail=details.Unhealthy(lines=lines, total=total, example=_line(worst, describe_briefly, causes)),
        objects=tuple(live.key for live in unhealthy),
        lasting=lasting,
    )


def _unmatched_patches(attempt: Attempt) -> Iterator[Fact]:
    """Patches of the spec without a target. Of those with a selector only the rendering tells."""
    patches, facts = attempt.options.patches, attempt.facts
    if not patches or options_of(attempt.deployment.spec).patches != patches:
        return
    if facts is not None:
        unmatched: Sequence[int] = facts.unmatched_patches
    else:
        keys = attempt.state.applied.fields.keys()
        unmatched = [number for number, one in enumerate(patches) if not _may_match(one.target, keys, attempt)]
    if unmatched:
        entries = tuple(f"spec.patches[{number}] ({_target(patches[number].target)})" for number in unmatched)
        yield Fact(cause=Cause.PATCH_UNMATCHED, detail=details.UnmatchedPatches(entries=entries))


def _may_match(target: PatchTarget, keys: Iterable[ObjectKey], attempt: Attempt) -> bool:
    return target.label_selector is not None or any(
        matches_key(target, key, default_namespace=attempt.namespace) for key in keys
    )


def _target(target: PatchTarget) -> str:
    return str(ObjectKey(target.group, target.kind, target.namespace, target.name or "*"))


def _told_for(attempt: Attempt) -> float:
    """Seconds for which the status has reported, by a former process too, that this content is not healthy."""
    if attempt.installed is None or attempt.installed.bundle != attempt.bundle.metadata.name:
        return 0.0
    found = (note.since for note in attempt.deployment.status.notes if note.id == HEALTH_ID)
    return max(map(read_clock().seconds_since, found), default=0.0)


def _notes(kept: Sequence[KeptObject], history: History) -> Iterator[Fact]:
    if kept:
        named = tuple(
            details.KeptObject(
                group=one.group, kind=one.kind, namespace=one.namespace, name=one.name, reason=one.reason
            )
            for one in kept
        )
        yield Fact(cause=Cause.KEPT, detail=details.Kept(kept=named))
    if line := reduced_text(history):
        yield Fact(cause=Cause.HISTORY_CUT, detail=details.ReducedHistory(line=line))


def _outcome(unhealthy: Sequence[ObservedObject], lives: Iterable[ObservedObject]) -> InstallOutcome:
    if not unhealthy:
        return InstallOutcome.HEALTHY
    return InstallOutcome.FAILED if any(map(has_failed, lives)) else InstallOutcome.INSTALLED


def _line(live: ObservedObject, words: Callable[[ObjectKey, Health, str], str], causes: Mapping[ObjectKey, str]) -> str:
    if live.health is None:
        return f"{live.key} has not been observed since it was applied"
    return words(live.key, live.health, causes.get(live.key, ""))

"""Carries out a plan: phase by phase, within a phase many objects at a time (see `object_writer`).

* A phase with failures is the last one: nothing is built on what is not there. All failures of it are reported.
* Changes of an upgrade that a phase made possible are tried out right after it (`trying_out`). All that the server
  would refuse of them is reported, and no later phase is begun.
* Where answers are slow, a look ends before all is written (`pace`). The next one goes on with what is left.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from rukpak_py.apply.health import HealthStatus
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.object_writer import ObjectWriter
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.apply.plan import WRITES, Action, Change, Plan
from rukpak_py.apply.results import ChangeSet, DryRun, Failure, FailureKind
from rukpak_py.apply.target import Target
from rukpak_py.apply.trying_out import Skip, Trials, not_checkable
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.text import named
from rukpak_py.kube.pace import Pace, run_bounded

_REFUSALS = frozenset({FailureKind.CONTENT, FailureKind.REFUSED, FailureKind.ACCESS})
LAST_PHASE = max(ApplyPhase)
ServedBy: TypeAlias = Mapping[GroupKind, frozenset[ObjectKey]]
NOTHING_SERVED: ServedBy = {}


class Engine:
    def __init__(self, inventory: Inventory, *, is_established: Callable[[GroupKind], bool]) -> None:
        self._inventory = inventory
        self._writer = ObjectWriter(inventory)
        self._is_established = is_established

    async def dry_run(self, target: Target, plan: Plan, *, skip: Skip) -> list[Failure]:
        """Collect all that the server would refuse, with nothing changed."""
        failures, _ = await self._try_all_out(target, [change for change in plan.writes if not skip(change)])
        return failures

    async def dry_run_on(
        self,
        target: Target,
        plan: Plan,
        *,
        skip: Skip,
        tried: set[ObjectKey],
        served_by: ServedBy = NOTHING_SERVED,
    ) -> DryRun:
        """The same in several looks, where answers are slow. `tried`: what the server took so far.

        What comes after a workload of the same content is left until that is available.
        """
        target.pace.begin()
        return await self.try_rest(target, plan, skip=skip, tried=tried, served_by=served_by)

    async def try_rest(
        self,
        target: Target,
        plan: Plan,
        *,
        skip: Skip,
        tried: set[ObjectKey],
        served_by: ServedBy,
    ) -> DryRun:
        changes = [
            change
            for change in plan.writes
            if change.key not in tried and not skip(change) and not self.awaited(change, served_by)
        ]
        failures, left = await self._try_all_out(target, changes, pace=target.pace)
        untried = tuple(change.key for change in left)
        tried.update({change.key for change in changes} - {one.key for one in failures} - set(untried))
        return DryRun(failures=tuple(failures), untried=untried)

    async def _try_all_out(
        self, target: Target, changes: Sequence[Change], *, pace: Pace | None = None
    ) -> tuple[list[Failure], list[Change]]:
        failures: list[Failure] = []

        async def try_out(change: Change) -> None:
            failure = await self._writer.try_out(target, change)
            if failure is not None:
                failures.append(failure)

        left = await run_bounded(try_out, changes, pace=pace)
        return sorted(failures, key=lambda failure: failure.key), left

    async def apply(
        self,
        target: Target,
        plan: Plan,
        *,
        served_by: ServedBy = NOTHING_SERVED,
        names_all: bool = False,
        trials: Trials | None = None,
        until: ApplyPhase = LAST_PHASE,
    ) -> ChangeSet:
        """`served_by`: workloads of the same content without which objects of a kind would be refused.

        `names_all`: once the server has refused an object, no other is written; those that are left are tried out, so
        that all that it refuses is named. `trials`: of an upgrade, what is tried out between the phases. `until`: the
        last phase.
        """
        return await _Run(
            engine=self, target=target, plan=plan, served_by=served_by, names_all=names_all, trials=trials
        ).until(until)

    def awaited(self, change: Change, served_by: ServedBy) -> list[ObjectKey]:
        """The workloads that are not available yet, though the object to be written needs them."""
        if change.action not in WRITES:
            return []
        workloads = served_by.get(change.desired.head.gvk.group_kind, frozenset())
        return sorted(key for key in workloads if not self._is_available(key))

    def _is_available(self, key: ObjectKey) -> bool:
        live = self._inventory.get(key)
        return live is not None and live.health is not None and live.health.is_healthy

    def look_at_crd(self, change: Change, change_set: ChangeSet) -> None:
        if all(map(self._is_established, change.desired.defines)):
            return
        live = self._inventory.get(change.key)
        if live is not None and live.health is not None and live.health.status is HealthStatus.FAILED:
            message = f"{change.key} is not established: {live.health.message}"
            change_set.failures.append(Failure(key=change.key, kind=FailureKind.REFUSED, message=message))
        else:
            change_set.waiting.append(f"{change.key} is not established yet")

    async def write(self, target: Target, change: Change, change_set: ChangeSet) -> None:
        await self._writer.write(target, change, change_set)


@dataclass(kw_only=True)
class _Run:
    """One plan that is being carried out. `written`: objects for which a request was begun; `done`: of whole phases."""

    engine: Engine
    target: Target
    plan: Plan
    served_by: ServedBy
    names_all: bool
    trials: Trials | None
    change_set: ChangeSet = field(default_factory=ChangeSet)
    written: set[ObjectKey] = field(default_factory=set)
    done: set[ObjectKey] = field(default_factory=set)

    async def until(self, last: ApplyPhase) -> ChangeSet:
        self.target.pace.begin()
        await self._try_possible()  # what a namespace needs that was made before
        for phase, changes in groupby(self.plan.changes, key=lambda change: change.desired.phase):
            if phase > last or not self.change_set.is_complete:
                break
            await self._carry_out(phase, list(changes))
        if self.names_all and _has_refused(self.change_set):
            self.change_set.failures += await self._refused_besides()
        self.change_set.failures.sort(key=lambda failure: failure.key)
        return self.change_set

    async def _carry_out(self, phase: ApplyPhase, changes: list[Change]) -> None:
        change_set, writes = self.change_set, list[Change]()
        for change in changes:
            if awaited := self.engine.awaited(change, self.served_by):
                change_set.waiting.append(f"{change.key} comes after {named(awaited)}, which serves its webhook")
            elif change.action is Action.WAIT:
                change_set.waiting.append(change.reason)
            elif change.action in WRITES:
                writes.append(change)
        left = await run_bounded(self._write, writes, pace=self.target.pace)
        change_set.postponed = [change.key for change in self.plan.writes if left and change.key not in self.written]
        if phase is ApplyPhase.CRDS:
            for change in changes:
                self.engine.look_at_crd(change, change_set)
        if change_set.is_complete:
            self.done.update(change.key for change in changes)
            await self._try_possible()

    async def _write(self, change: Change) -> None:
        if self.names_all and _has_refused(self.change_set):
            return
        self.written.add(change.key)
        await self.engine.write(self.target, change, self.change_set)

    async def _try_possible(self) -> None:
        """Try out what could not be judged before, and now can."""
        if self.trials is None:
            return
        rest = self.trials.plan.without(self.done)
        skip = not_checkable(rest, has_account=self.trials.has_account)
        found = await self.engine.try_rest(
            self.target, rest, skip=skip, tried=self.trials.tried, served_by=self.served_by
        )
        self.change_set.failures += found.failures
        self.change_set.postponed = [change.key for change in rest.writes if found.untried]

    async def _refused_besides(self) -> list[Failure]:
        cannot_tell = not_checkable(self.plan.without(self.done))
        return await self.engine.dry_run(
            self.target,
            self.plan.without(self.written),
            skip=lambda change: cannot_tell(change) or bool(self.engine.awaited(change, self.served_by)),
        )


def _has_refused(change_set: ChangeSet) -> bool:
    return any(failure.kind in _REFUSALS for failure in change_set.failures)

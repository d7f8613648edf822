"""Carries out a plan: phase by phase, within a phase many objects at a time (see `object_writer`).

* A phase with failures is the last one: nothing is built on what is not there. All failures of it are reported.
* Where answers are slow, a look ends before all is written (`pace`). The next one goes on with what is left.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from rukpak_py.apply.health import HealthStatus
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.object_writer import ObjectWriter
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.apply.plan import WRITES, Action, Change, Plan, not_checkable
from rukpak_py.apply.results import ChangeSet, DryRun, Failure, FailureKind
from rukpak_py.apply.target import Target
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.text import named
from rukpak_py.kube.pace import Pace, run_bounded

_REFUSALS = frozenset({FailureKind.CONTENT, FailureKind.REFUSED, FailureKind.ACCESS})
NOTHING_SERVED: Mapping[GroupKind, frozenset[ObjectKey]] = {}


class Engine:
    def __init__(self, inventory: Inventory, *, is_established: Callable[[GroupKind], bool]) -> None:
        self._inventory = inventory
        self._writer = ObjectWriter(inventory)
        self._is_established = is_established

    async def dry_run(self, target: Target, plan: Plan, *, skip: Callable[[Change], bool]) -> list[Failure]:
        """Collect all that the server would refuse, with nothing changed."""
        failures, _ = await self._try_all_out(target, [change for change in plan.writes if not skip(change)])
        return failures

    async def dry_run_on(
        self, target: Target, plan: Plan, *, skip: Callable[[Change], bool], tried: set[ObjectKey]
    ) -> DryRun:
        """The same in several looks, where answers are slow. `tried`: what the server took so far."""
        target.pace.begin()
        changes = [change for change in plan.writes if not skip(change) and change.key not in tried]
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
        served_by: Mapping[GroupKind, frozenset[ObjectKey]] = NOTHING_SERVED,
        names_all: bool = False,
    ) -> ChangeSet:
        """`served_by`: workloads of the same content without which objects of a kind would be refused.

        `names_all`: once the server has refused an object, no other is written; those that are left are tried out, so
        that all that it refuses is named.
        """
        change_set, written = ChangeSet(), set[ObjectKey]()
        target.pace.begin()

        async def write(change: Change) -> None:
            if names_all and _has_refused(change_set):
                return
            written.add(change.key)
            await self._writer.write(target, change, change_set)

        for phase, group in groupby(plan.changes, key=lambda change: change.desired.phase):
            changes = []
            for change in group:
                awaited = self._awaited(change, served_by)
                if awaited:
                    change_set.waiting.append(f"{change.key} comes after {named(awaited)}, which serves its webhook")
                else:
                    changes.append(change)
            change_set.waiting += [change.reason for change in changes if change.action is Action.WAIT]
            left = await run_bounded(write, [change for change in changes if change.action in WRITES], pace=target.pace)
            change_set.postponed = [change.key for change in plan.writes if left and change.key not in written]
            if phase is ApplyPhase.CRDS:
                for change in changes:
                    self._look_at_crd(change, change_set)
            if not change_set.is_complete:
                break
        if names_all and _has_refused(change_set):
            cannot_tell = not_checkable(plan)
            change_set.failures += await self.dry_run(
                target,
                plan.without(written),
                skip=lambda change: cannot_tell(change) or bool(self._awaited(change, served_by)),
            )
        change_set.failures.sort(key=lambda failure: failure.key)
        return change_set

    def _awaited(self, change: Change, served_by: Mapping[GroupKind, frozenset[ObjectKey]]) -> list[ObjectKey]:
        """The workloads that are not available yet, though the object to be written needs them."""
        if change.action not in WRITES:
            return []
        workloads = served_by.get(change.desired.head.gvk.group_kind, frozenset())
        return sorted(key for key in workloads if not self._is_available(key))

    def _is_available(self, key: ObjectKey) -> bool:
        live = self._inventory.get(key)
        return live is not None and live.health is not None and live.health.is_healthy

    def _look_at_crd(self, change: Change, change_set: ChangeSet) -> None:
        if all(map(self._is_established, change.desired.defines)):
            return
        live = self._inventory.get(change.key)
        if live is not None and live.health is not None and live.health.status is HealthStatus.FAILED:
            message = f"{change.key} is not established: {live.health.message}"
            change_set.failures.append(Failure(key=change.key, kind=FailureKind.REFUSED, message=message))
        else:
            change_set.waiting.append(f"{change.key} is not established yet")


def _has_refused(change_set: ChangeSet) -> bool:
    return any(failure.kind in _REFUSALS for failure in change_set.failures)

"""For whom objects are applied, what is remembered of it, and how many requests it may have in flight."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from rukpak_py.apply.last_applied import LastApplied
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.pace import AT_ONCE, Pace
from rukpak_py.apply.prune_policy import NOT_LISTED, ForeignInstances
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import Resource

Item = TypeVar("Item")


async def _not_listed(_: ObservedObject, /) -> ForeignInstances:
    return NOT_LISTED


@dataclass(frozen=True, kw_only=True)
class Target:
    owner: Owner
    last_applied: LastApplied
    resource_of: Callable[[ObjectKey], Resource]
    adopts: bool = False  # also what was left by a deployment of another name
    foreign_instances: Callable[[ObservedObject], Awaitable[ForeignInstances]] = _not_listed  # of a CRD
    client: Client  # with the identity of the target: whoever looks, applies, prunes or releases uses it
    pace: Pace = field(default_factory=Pace)


async def run_bounded(
    work: Callable[[Item], Awaitable[None]], items: Iterable[Item], *, pace: Pace | None = None
) -> list[Item]:
    """`work` on all items, a bounded number at a time; the first exception ends the rest and is raised.

    `pace` says how many at a time, and when it is over. Returns the items that were not begun by then.
    """
    waiting, running, has_failed = deque(items), 0, False

    def may_begin() -> bool:
        if pace is None:
            return running < AT_ONCE
        return running < pace.places and not pace.is_over

    async def run(item: Item) -> None:
        nonlocal running, has_failed
        try:
            await work(item)
        except BaseException:  # a cancellation, too: the group ends, and nothing more may begin in it
            has_failed = True
            raise
        running -= 1
        if not has_failed:
            begin()

    def begin() -> None:
        nonlocal running
        while waiting and may_begin():
            running += 1
            group.create_task(run(waiting.popleft()))

    try:
        async with asyncio.TaskGroup() as group:
            begin()
    except ExceptionGroup as failures:
        expected = failures.subgroup(RukPakError)
        if expected is None or failures.split(RukPakError)[1] is not None:
            raise  # a bug among them
        raise _first(expected) from None
    return list(waiting)


def _first(group: BaseExceptionGroup[RukPakError]) -> RukPakError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first

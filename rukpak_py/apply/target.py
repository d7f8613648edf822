"""For whom objects are applied, what is remembered of it, and how many requests it may have in flight."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from rukpak_py.apply.last_applied import LastApplied
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.prune_policy import NOT_LISTED, ForeignInstances
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import Resource

AT_ONCE = 16  # requests of one deployment; the client bounds the process

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


async def run_bounded(work: Callable[[Item], Awaitable[None]], items: Iterable[Item]) -> None:
    """`work` on all items, a bounded number at a time; the first exception ends the rest and is raised."""
    items = list(items)
    if len(items) < 2:
        for item in items:
            await work(item)
        return
    rest = iter(items)

    async def drain() -> None:
        for item in rest:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(items))):
                group.create_task(drain())
    except ExceptionGroup as failures:
        expected = failures.subgroup(RukPakError)
        if expected is None or failures.split(RukPakError)[1] is not None:
            raise  # a bug among them
        raise _first(expected) from None


def _first(group: BaseExceptionGroup[RukPakError]) -> RukPakError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first

"""`rukpakctl wait`: until BundleDeployments are as they should be, or can no longer become so by themselves.

The object that users edit is watched: of one that a BundleInstance owns, that instance, whose conditions are those of
the deployment for its own generations. One of the same name and another uid means that the first one was deleted.

The time is for all requests, and at the end a few seconds more for the reason.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.conditions import find_condition, first_line
from rukpak_py.api.names import ConditionStatus, ConditionType
from rukpak_py.api.reading import read_bundle_deployment, read_bundle_instance
from rukpak_py.cli.cluster.deployments import DeploymentCommandError, kinds_of_operator, read_deployment
from rukpak_py.cli.cluster.following import follow
from rukpak_py.core.errors import RukPakError
from rukpak_py.diagnosis.explaining import explain
from rukpak_py.diagnosis.reading import read_view
from rukpak_py.diagnosis.states import State
from rukpak_py.diagnosis.verdicts import verdict_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, Resource

Edited = BundleDeployment | BundleInstance
WHY_SECONDS = 5.0
Tell = Callable[[str, str], None]  # the name of a deployment, and what became of it


class Goal(StrEnum):
    READY = "ready"
    HEALTHY = "healthy"
    DELETED = "deleted"
    UPGRADE = "upgrade"


class Progress(StrEnum):
    UNDER_WAY = "under way"
    REACHED = "reached"
    FAILED = "failed"  # it cannot be reached any more, or not without a change


@dataclass(frozen=True, kw_only=True)
class Waited:
    """`text`: the state and its message, in one line."""

    progress: Progress
    text: str


class WaitError(RukPakError):
    """The goal was not reached, and the text says why."""


def waited(goal: Goal, found: Edited | None) -> Waited:
    """None: it is gone."""
    if found is None:
        return Waited(progress=Progress.REACHED if goal is Goal.DELETED else Progress.FAILED, text="deleted")
    verdict = verdict_of(found)
    said = ": ".join(part for part in (verdict.reason, first_line(verdict.message)) if part)
    text = f"{verdict.state}{f' ({said})' if said else ''}"
    if goal is Goal.DELETED:
        return Waited(progress=Progress.UNDER_WAY, text=text)
    if _is_reached(goal, found, verdict.state):
        return Waited(progress=Progress.REACHED, text=text)
    ends = {State.STALLED, State.SUSPENDED, State.DELETING}
    return Waited(progress=Progress.FAILED if verdict.state in ends else Progress.UNDER_WAY, text=text)


def _is_reached(goal: Goal, found: Edited, state: State) -> bool:
    match goal:
        case Goal.HEALTHY:
            return state is not State.DELETING and _has(found, ConditionType.HEALTHY, ConditionStatus.TRUE)
        case Goal.UPGRADE:
            return state is State.READY and _has(found, ConditionType.UPGRADE_PENDING, ConditionStatus.FALSE)
        case _:
            return state is State.READY


def _has(found: Edited, kind: ConditionType, status: ConditionStatus) -> bool:
    condition = find_condition(found.status.conditions, kind)
    is_now = condition is not None and condition.observed_generation >= found.metadata.generation
    return condition is not None and is_now and condition.status == status


async def wait_for_all(client: Client, names: Sequence[str], goal: Goal, *, seconds: float, tell: Tell) -> None:
    """WaitError: of the first one that did not reach it, or within the time."""
    waits = [asyncio.create_task(wait_for(client, name, goal, seconds=seconds, tell=tell)) for name in names]
    try:
        for done in asyncio.as_completed(waits):
            await done
    finally:
        for one in waits:
            one.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def wait_for(client: Client, name: str, goal: Goal, *, seconds: float, tell: Tell) -> None:
    said, is_over = "the API server did not answer in time", False
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), aclosing(_progress(client, name, goal)) as steps:
            async for found in steps:
                if found.text != said:
                    said = found.text
                    tell(name, said)
                if found.progress is Progress.REACHED:
                    return
                is_over = found.progress is Progress.FAILED
                if is_over:
                    break
    so_far = "" if is_over else f"not {_wish(goal)} within {seconds:g} s: "
    raise WaitError(f"{name} is {so_far}{await why_of(client, name, otherwise=said)}")


async def _progress(client: Client, name: str, goal: Goal) -> AsyncGenerator[Waited, None]:
    try:
        resource, uid = await _edited(client, name)
    except NotFoundError as error:
        if goal is not Goal.DELETED:
            raise DeploymentCommandError(f"there is no BundleDeployment {name}") from error
        yield waited(goal, None)
        return
    async with aclosing(follow(client, resource, _reader(resource), name=name)) as seen:
        async for one in seen:
            if one.is_all or name in one.objects:
                found = one.objects.get(name)
                is_another = goal is Goal.DELETED and found is not None and found.metadata.uid != uid
                yield waited(goal, None if is_another else found)


async def why_of(client: Client, name: str, *, otherwise: str) -> str:
    """The state with the sentence of `rukpakctl why` and its way out, where they can be read in a few seconds."""
    try:
        async with asyncio.timeout(WHY_SECONDS):
            view = await read_view(client, name)
    except (RukPakError, TimeoutError):
        return otherwise
    found = explain(view)
    return " ".join(part for part in (f"{found.state}: {found.sentence}.".replace("..", "."), found.to_do) if part)


def _wish(goal: Goal) -> str:
    return "upgraded and ready" if goal is Goal.UPGRADE else goal.value


async def _edited(client: Client, name: str) -> tuple[Resource, str]:
    """NotFoundError: there is neither a BundleDeployment nor a BundleInstance of the name."""
    with kinds_of_operator():
        try:
            await client.get_metadata(BUNDLE_DEPLOYMENTS, "", name)
        except NotFoundError:
            return BUNDLE_INSTANCES, (await client.get_metadata(BUNDLE_INSTANCES, "", name)).uid
    found = await read_deployment(client, name)
    return found.resource, found.edited.metadata.uid


def _reader(resource: Resource) -> Callable[[bytes], Edited]:
    return read_bundle_instance if resource is BUNDLE_INSTANCES else read_bundle_deployment


def told_of(names: Sequence[str], echo: Callable[[str], None]) -> Tell:
    """Lines with the name, whichever deployment changes."""
    width = max(map(len, names), default=0)
    return partial(_tell, echo, width)


def _tell(echo: Callable[[str], None], width: int, name: str, text: str) -> None:
    echo(f"{name.ljust(width)}  {text}")

"""Every deployment is applied again once in each interval, and each at a time of its own."""

import asyncio
from itertools import pairwise

from rukpak_py.controllers.deployment.reapplying import due, reapply
from rukpak_py.controllers.deployment.state import DeploymentStates
from tests.unit.apply.lives import key
from tests.unit.controllers.values import deployment

MANY = [deployment(uid=f"uid-{number}") for number in range(200)]


def test_each_comes_once_in_each_interval_whatever_the_steps_are() -> None:
    times = [0.0, 0.5, 7.0, 7.5, 30.0, 99.0, 100.0]
    counted = {one.metadata.uid: 0 for one in MANY}
    for last, passed in pairwise(times):
        for one in due(MANY, last, passed, 100.0):
            counted[one.metadata.uid] += 1
    assert set(counted.values()) == {1}


def test_due_times_of_deployments_are_spread() -> None:
    at_once = max(len(list(due(MANY, step, step + 10.0, 100.0))) for step in range(0, 100, 10))
    assert at_once < len(MANY) / 4


async def test_a_due_deployment_is_marked_and_looked_at() -> None:
    states, looked = DeploymentStates(), asyncio.Queue[str]()
    state = states.of(MANY[0].metadata.uid)
    assert state is not None
    state.applied.fields[key()] = "hash"
    running = asyncio.create_task(reapply(MANY[:1], states, every=0.01, look=looked.put_nowait))
    assert await looked.get() == MANY[0].metadata.name
    running.cancel()
    assert state.applied.again == {key()}

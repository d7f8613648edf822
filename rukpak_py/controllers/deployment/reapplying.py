"""Applies everything of each deployment again from time to time.

A webhook that changes a value in a request of another client leaves no trace in `managedFields`: the watch shows the
object as it was applied. An apply of what is as it should be writes nothing. Deployments have their times by their uid,
so they never come together.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.controllers.deployment.state import DeploymentStates

STEP_SECONDS = 60.0


async def reapply(
    deployments: Iterable[BundleDeployment], states: DeploymentStates, *, every: float, look: Callable[[str], None]
) -> None:
    """`every`: seconds; 0 for never. `look`: brings the key of a name."""
    if not every:
        await asyncio.Event().wait()
    now = asyncio.get_running_loop().time
    began = now()
    last = 0.0
    while True:
        await asyncio.sleep(min(STEP_SECONDS, every))
        passed = now() - began
        for deployment in list(due(deployments, last, passed, every)):
            state = states.of(deployment.metadata.uid)
            if state is not None:
                state.applied.apply_again()
                look(deployment.metadata.name)
        last = passed


def due(
    deployments: Iterable[BundleDeployment], last: float, passed: float, every: float
) -> Iterator[BundleDeployment]:
    """Deployments whose time came after `last` seconds, and not after `passed` seconds."""
    for one in deployments:
        share = int.from_bytes(hashlib.sha256(one.metadata.uid.encode()).digest()[:4]) / 2**32  # the same each time
        offset = share * every
        if (passed - offset) // every > (last - offset) // every:
            yield one

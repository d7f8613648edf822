"""One BundleDeployment with all that belongs to it, read with the rights of the user; once, or again and again."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.cli.cluster.deployments import DeploymentCommandError, kinds_of_operator
from rukpak_py.cli.cluster.following import REFUSED, Refusals, follow
from rukpak_py.core.errors import UnavailableError
from rukpak_py.diagnosis.model import DeploymentView
from rukpak_py.diagnosis.reading import read_view
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

AGAIN_SECONDS = 5.0  # objects and Events change without a change of the deployment


async def view_of(client: Client, name: str, *, discovery: Discovery | None = None) -> DeploymentView:
    """DeploymentCommandError: there is none of that name, or not even its kind."""
    try:
        with kinds_of_operator():
            return await read_view(client, name, discovery=discovery)
    except NotFoundError as error:
        raise DeploymentCommandError(error.message) from error


async def views_of(client: Client, name: str) -> AsyncGenerator[DeploymentView, None]:
    """A view whenever the deployment changes, and every five seconds; it ends with the deployment.

    DeploymentCommandError: there was none from the start. A server that does not answer is asked again, and so is one
    that refuses, for half a minute.
    """
    discovery = Discovery(client)
    yield await view_of(client, name, discovery=discovery)
    changed, refusals = asyncio.Event(), Refusals()
    following = asyncio.create_task(_notify(client, name, changed))
    try:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS):
                    await changed.wait()
            changed.clear()
            try:
                view = await read_view(client, name, discovery=discovery)
            except NotFoundError:
                return
            except REFUSED:
                if refusals.refused():
                    raise
            except UnavailableError:
                refusals.ended()
            else:
                refusals.ended()
                yield view
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _notify(client: Client, name: str, changed: asyncio.Event) -> None:
    async for _ in follow(client, BUNDLE_DEPLOYMENTS, read_bundle_deployment, name=name):
        changed.set()

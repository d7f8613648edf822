"""Rows of `rukpakctl get`: all BundleDeployments, or those of the given names.

Names are followed one by one, so that a user whose rights are limited to these objects may watch them.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.cli.cluster.deployments import kinds_of_operator
from rukpak_py.cli.cluster.following import Seen, follow
from rukpak_py.diagnosis.model import DeploymentSummary
from rukpak_py.diagnosis.reading import read_summaries
from rukpak_py.diagnosis.verdicts import summary_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


async def read_rows(client: Client, names: Sequence[str]) -> tuple[list[DeploymentSummary], list[str]]:
    """The rows, and the names of which there is no BundleDeployment. No names: all."""
    with kinds_of_operator():
        if not names:
            return [row async for row in read_summaries(client)], []
        rows, absent = list[DeploymentSummary](), list[str]()
        for name in dict.fromkeys(names):
            try:
                rows.append(summary_of(read_bundle_deployment(await client.get(BUNDLE_DEPLOYMENTS, "", name))))
            except NotFoundError:
                absent.append(name)
        return rows, absent


async def rows_of(
    client: Client, names: Sequence[str]
) -> AsyncGenerator[tuple[list[DeploymentSummary], Collection[str]], None]:
    """The rows whenever one changes, with the names of those that have changed, or are gone. No names: all."""
    rows = dict[str, DeploymentSummary]()
    async with aclosing(_seen(client, tuple(dict.fromkeys(names)))) as changes:
        async for about, seen in changes:
            known = rows.keys() if not about else rows.keys() & {about}
            gone = known - seen.objects.keys() if seen.is_all else set[str]()
            changed = {name for name, row in seen.objects.items() if row != rows.get(name)} | gone
            for name in changed:
                row = seen.objects.get(name)
                if row is None:
                    rows.pop(name, None)
                else:
                    rows[name] = row
            yield list(rows.values()), changed


async def _seen(client: Client, names: Sequence[str]) -> AsyncGenerator[tuple[str, Seen[DeploymentSummary]], None]:
    """Pairs of a name and what was seen of it; the empty name stands for all."""
    news = asyncio.Queue[tuple[str, Seen[DeploymentSummary] | Exception]](maxsize=1)

    async def watch(name: str) -> None:
        try:
            async with aclosing(follow(client, BUNDLE_DEPLOYMENTS, _row, name=name)) as changes:
                async for seen in changes:
                    await news.put((name, seen))
        except Exception as error:  # noqa: BLE001 - raised below, where the caller waits
            await news.put((name, error))

    watches = [asyncio.create_task(watch(name)) for name in names or ("",)]
    try:
        while True:
            name, seen = await news.get()
            if isinstance(seen, Exception):
                raise seen
            yield name, seen
    finally:
        for one in watches:
            one.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


def _row(json: bytes) -> DeploymentSummary:
    return summary_of(read_bundle_deployment(json))

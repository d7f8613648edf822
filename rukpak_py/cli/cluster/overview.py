"""Rows of `rukpakctl get`: all BundleDeployments, or those of the given names."""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.cli.cluster.deployments import kinds_of_operator
from rukpak_py.cli.cluster.following import follow
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
    wanted, rows = frozenset(names), dict[str, DeploymentSummary]()
    async with aclosing(follow(client, BUNDLE_DEPLOYMENTS, _row)) as changes:
        async for seen in changes:
            found = {name: row for name, row in seen.objects.items() if not wanted or name in wanted}
            gone = rows.keys() - found.keys() if seen.is_all else set[str]()
            changed = {name for name, row in found.items() if row != rows.get(name)} | gone
            for name in changed:
                row = found.get(name)
                if row is None:
                    rows.pop(name, None)
                else:
                    rows[name] = row
            yield list(rows.values()), changed


def _row(json: bytes) -> DeploymentSummary:
    return summary_of(read_bundle_deployment(json))

"""The argument NAME of commands about BundleDeployments, completed with the names that the cluster has.

A shell waits for the answer: one page of metadata, within a second or two, and no word about a failure.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

COMPLETION_SECONDS = 2.0
COMPLETION_NAMES = 500


def deployment_argument(name: str = "name", **attributes: Any) -> Callable[[F], F]:
    return click.argument(name, shell_complete=deployment_names, **attributes)


def deployment_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names that begin so, apart from those that are on the command line already."""
    given = context.params.get(parameter.name or "")
    taken = set(given) if isinstance(given, tuple) else set()
    with suppress(Exception):  # a shell shows whatever is printed in the middle of the line
        return sorted(name for name in asyncio.run(_names()) if name.startswith(incomplete) and name not in taken)
    return []


async def _names() -> list[str]:
    from rukpak_py.kube.client import Client  # noqa: PLC0415 - completion of anything else must not pay for it
    from rukpak_py.kube.config import load_connection  # noqa: PLC0415 - the same
    from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS  # noqa: PLC0415 - the same

    async with asyncio.timeout(COMPLETION_SECONDS), Client(await load_connection()) as client:
        page = await client.list_page(BUNDLE_DEPLOYMENTS, limit=COMPLETION_NAMES)
        return [one.metadata.name for one in page.items]

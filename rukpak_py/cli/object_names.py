"""Arguments of commands that name a BundleDeployment or a Bundle, completed with the names that the cluster has.

A shell waits for the answer: one page of metadata, within a second or two, and no word about a failure.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rukpak_py.kube.resources import Resource

F = TypeVar("F", bound=Callable[..., Any])

COMPLETION_SECONDS = 2.0
COMPLETION_NAMES = 500


def deployment_argument(name: str = "name", **attributes: Any) -> Callable[[F], F]:
    return click.argument(name, shell_complete=_deployment_names, **attributes)


def bundle_argument(name: str, **attributes: Any) -> Callable[[F], F]:
    return click.argument(name, shell_complete=_bundle_names, **attributes)


def _deployment_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS  # noqa: PLC0415 - other commands must not pay for it

    return _completions(BUNDLE_DEPLOYMENTS, context, parameter, incomplete)


def _bundle_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    from rukpak_py.kube.resources import BUNDLES  # noqa: PLC0415 - other commands must not pay for it

    return _completions(BUNDLES, context, parameter, incomplete)


def _completions(
    resource: "Resource", context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Names that begin so, apart from those that are on the command line already."""
    given = context.params.get(parameter.name or "")
    taken = set(given) if isinstance(given, tuple) else set()
    with suppress(Exception):  # a shell shows whatever is printed in the middle of the line
        names = asyncio.run(_names(resource))
        return sorted(name for name in names if name.startswith(incomplete) and name not in taken)
    return []


async def _names(resource: "Resource") -> list[str]:
    from rukpak_py.kube.client import Client  # noqa: PLC0415 - completion of anything else must not pay for it
    from rukpak_py.kube.config import load_connection  # noqa: PLC0415 - the same

    async with asyncio.timeout(COMPLETION_SECONDS), Client(await load_connection()) as client:
        page = await client.list_page(resource, limit=COMPLETION_NAMES)
        return [one.metadata.name for one in page.items]

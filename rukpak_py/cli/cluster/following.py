"""Objects of ours as they change: a list, then a watch from there on, again and again, until the caller has enough.

A lost connection is made again, from the version that was seen last. A version that is history means a new list, and
so does a reader who may not watch: then it is asked for every two seconds. An API server that starts again refuses for
a while what it allows later, before it has read roles and definitions. A refusal is an error once it has lasted.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from rukpak_py.cli.cluster.deployments import DeploymentCommandError, kinds_of_operator
from rukpak_py.core.errors import AccessError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import GoneError, KindNotServedError, ServerUnavailableError
from rukpak_py.kube.metadata import decode_metadata
from rukpak_py.kube.pace import Backoff
from rukpak_py.kube.resources import Resource

T = TypeVar("T")

IDLE_SECONDS = 90.0  # bookmarks come every minute
POLL_SECONDS = 2.0  # for one who may list, and not watch
SHORT_SECONDS = 1.0  # a watch that ends sooner is not opened again at once
REFUSED_SECONDS = 30.0  # since the first refusal: from then on it is meant
PAGE = 50
REFUSED = (AccessError, KindNotServedError, DeploymentCommandError)
_NAME_OF_OUR_KIND = "metadata.name"


@dataclass(frozen=True, kw_only=True)
class Seen(Generic[T]):
    """Objects by name; None: it is gone. `is_all`: there are no others."""

    objects: Mapping[str, T | None]
    is_all: bool


class Refusals:
    """Refusals since the last answer, or since the server could not be reached: one that starts again refuses anew.

    The time before the first of them does not count: a watch may be silent.
    """

    def __init__(self) -> None:
        self._since: float | None = None

    def ended(self) -> None:
        self._since = None

    def refused(self) -> bool:
        """Count one more. True: they have lasted, and are meant."""
        now = monotonic()
        self._since = self._since if self._since is not None else now
        return now - self._since >= REFUSED_SECONDS


async def follow(
    client: Client, resource: Resource, read: Callable[[bytes], T], *, name: str = "", label_selector: str = ""
) -> AsyncGenerator[Seen[T], None]:
    """Never ends by itself. `name`: of the only object that matters. `read`: what is kept of an object.

    ServerUnavailableError: there was no answer to the first list. Later ones are asked for again.
    With `name`, the rights to that one object are enough.
    """
    selection = {"labelSelector": label_selector} if label_selector else {}
    if name:
        selection["fieldSelector"] = f"{_NAME_OF_OUR_KIND}={name}"
    backoff = Backoff(first=0.5, limit=10.0)
    version, found = await _listed(client, resource, read, selection)
    refusals = Refusals()
    yield Seen(objects=found, is_all=True)
    while True:
        try:
            if not version:
                version, found = await _listed(client, resource, read, selection)
                refusals.ended()
                yield Seen(objects=found, is_all=True)
            began = monotonic()
            async with aclosing(_changes(client, resource, read, {**selection, "resourceVersion": version})) as changes:
                async for newer, seen in changes:
                    version = newer
                    backoff.reset()
                    refusals.ended()
                    if seen.objects:
                        yield seen
            await asyncio.sleep(max(0.0, SHORT_SECONDS - (monotonic() - began)))
        except GoneError:
            version = ""
            await asyncio.sleep(backoff.next())
        except REFUSED:
            if refusals.refused() and not version:
                raise
            version = ""
            await asyncio.sleep(POLL_SECONDS)
        except (ServerUnavailableError, TimeoutError):
            refusals.ended()
            await asyncio.sleep(backoff.next())


async def _changes(
    client: Client, resource: Resource, read: Callable[[bytes], T], selection: Mapping[str, str]
) -> AsyncGenerator[tuple[str, Seen[T]], None]:
    """Changes of one watch, each with the version that it leads to; bookmarks are without objects."""
    params = {**selection, "allowWatchBookmarks": "true"}
    async with aclosing(client.watch(resource, params=params, idle=IDLE_SECONDS, full=True)) as batches:
        async for batch in batches:
            version, changed = "", dict[str, T | None]()
            for event in batch:
                metadata = decode_metadata(bytes(event.object))
                version = metadata.resource_version
                if event.type != "BOOKMARK":
                    changed[metadata.name] = read(bytes(event.object)) if event.type != "DELETED" else None
            yield version, Seen(objects=changed, is_all=False)


async def _listed(
    client: Client, resource: Resource, read: Callable[[bytes], T], selection: Mapping[str, str]
) -> tuple[str, dict[str, T | None]]:
    found, version = dict[str, T | None](), ""
    with kinds_of_operator():
        async with aclosing(client.list_by_page(resource, params=selection, page=PAGE, full=True)) as pages:
            async for page in pages:
                version = page.resource_version
                found |= {one.metadata.name: read(one.json or b"{}") for one in page.items}
    return version, found

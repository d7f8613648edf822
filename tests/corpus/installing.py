"""Installing batches of real bundles through an operator, and taking them away again.

A bundle is judged when it is Installed, when the operator calls it Stalled, or when it has refused it with the same
words for a while. No pods run here, so nothing waits for Ready.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import orjson

from rukpak_py.api.names import OWNER_NAME_LABEL
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CRDS, NAMESPACES
from tests.corpus.real_bundles import WATCHED, Document, RealBundle, empty_definitions
from tests.integration.definitions import install, touch_deleted
from tests.integration.listing import listed
from tests.integration.operator.tenant import condition
from tests.waiting import eventually

INTERVAL_SECONDS = 0.1
SETTLED_SECONDS = 10.0  # the same refusal for so long: what it waits for does not come
INSTALL_SECONDS = 90.0
DELETE_SECONDS = 180.0
TOUCH_SECONDS = 3.0  # doubled each time: a touch makes the API server begin anew, and large CRDs take it long


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of one bundle; `message` is empty when it was installed."""

    bundle: str
    seconds: float
    message: str = ""

    @property
    def is_installed(self) -> bool:
        return not self.message


@dataclass(kw_only=True)
class Refusals:
    """Since when each deployment has said the same."""

    since: dict[str, tuple[str, float]] = field(default_factory=dict)

    def is_settled(self, name: str, message: str, now: float) -> bool:
        said, since = self.since.get(name, ("", now))
        if said != message:
            since = now
        self.since[name] = (message, since)
        return bool(message) and now - since >= SETTLED_SECONDS


class Installer:
    def __init__(self, client: Client, server: str) -> None:
        """`server`: the address of a web server that answers with archives."""
        self._client = client
        self._server = server

    @asynccontextmanager
    async def watched_namespace(self) -> AsyncIterator[None]:
        """For those that must watch another namespace than their own. Its deletion is asked for, not waited for."""
        await eventually(self._made_watched, what="the watched namespace of another test is gone", seconds=90.0)
        yield
        await self._client.delete(NAMESPACES, "", WATCHED)

    async def _made_watched(self) -> bool:
        try:
            await self._client.create(NAMESPACES, "", orjson.dumps({"metadata": {"name": WATCHED}}))
        except AlreadyExistsError:
            return False
        return True

    async def bring_missing_kinds(self, bundles: Sequence[RealBundle]) -> list[Document]:
        """Create empty CRDs for kinds that these bundles need and the cluster does not serve."""
        crds = empty_definitions(bundles)
        await install(self._client, crds)
        return crds

    @asynccontextmanager
    async def missing_kinds(self, bundles: Sequence[RealBundle]) -> AsyncIterator[None]:
        crds = await self.bring_missing_kinds(bundles)
        yield
        for crd in crds:
            await self._client.delete(CRDS, "", crd["metadata"]["name"])
        await self._until(lambda: self._none_of(crds), DELETE_SECONDS)

    async def install(self, bundles: Sequence[RealBundle]) -> list[Result]:
        began = time.monotonic()
        waiting = {bundle.deployment: bundle for bundle in bundles}
        for bundle in bundles:
            await self._client.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(bundle.body(self._server)))
        found: dict[str, Result] = {}
        refusals = Refusals()
        while waiting:
            seconds = time.monotonic() - began
            documents = await self._deployments()
            for name in list(waiting):
                message = _judged(documents[name], refusals, seconds)
                if message is not None:
                    bundle = waiting.pop(name)
                    found[name] = Result(bundle=bundle.name, seconds=seconds, message=message)
            await asyncio.sleep(INTERVAL_SECONDS)
        return [found[bundle.deployment] for bundle in bundles]

    async def uninstall(self, bundles: Sequence[RealBundle]) -> dict[str, str]:
        """Reasons of the deployments that stay, by bundle; those are then deleted without their order."""
        names = {bundle.deployment: bundle.name for bundle in bundles}
        for name in names:
            await self._client.delete(BUNDLE_DEPLOYMENTS, "", name)
        if await self._until(lambda: self._gone(names), DELETE_SECONDS):
            return {}
        documents = await self._deployments()
        held = {name: str(condition(documents[name], "Ready").get("message")) for name in names if name in documents}
        for name in held:
            with suppress(NotFoundError):
                await self._client.patch(BUNDLE_DEPLOYMENTS, "", name, b'{"metadata":{"finalizers":null}}')
        await self._until(lambda: self._gone(names), DELETE_SECONDS)
        return {names[name]: message for name, message in held.items()}

    async def _deployments(self) -> Mapping[str, Document]:
        return {one["metadata"]["name"]: one for one in await listed(self._client, BUNDLE_DEPLOYMENTS)}

    async def _gone(self, names: Collection[str]) -> bool:
        """They and their Bundles."""
        deployments = (await self._client.list_metadata(BUNDLE_DEPLOYMENTS)).items
        bundles = (await self._client.list_metadata(BUNDLES)).items
        there = {one.metadata.name for one in deployments}
        there |= {one.metadata.labels.get(OWNER_NAME_LABEL, "") for one in bundles}
        return there.isdisjoint(names)

    async def _none_of(self, crds: Sequence[Document]) -> bool:
        there = {one.metadata.name for one in (await self._client.list_metadata(CRDS)).items}
        return there.isdisjoint(crd["metadata"]["name"] for crd in crds)

    async def _until(self, is_so: Callable[[], Awaitable[bool]], seconds: float) -> bool:
        touched, pause = time.monotonic(), TOUCH_SECONDS

        async def look() -> bool:
            nonlocal touched, pause
            if time.monotonic() - touched > pause:
                await touch_deleted(self._client)
                touched, pause = time.monotonic(), 2 * pause
            return await is_so()

        try:
            return await eventually(look, what="it is so", seconds=seconds)
        except TimeoutError:
            return False


def _judged(document: Document, refusals: Refusals, seconds: float) -> str | None:
    """Empty: it is installed; a string: why it is not; None: it may still be."""
    if condition(document, "Installed").get("status") == "True":
        return ""
    message = str(condition(document, "Ready").get("message"))
    if condition(document, "Stalled").get("status") == "True":
        return message
    is_refused = any(condition(document, kind).get("status") == "False" for kind in ("Installed", "HasValidBundle"))
    if refusals.is_settled(document["metadata"]["name"], message if is_refused else "", time.monotonic()):
        return message
    return f"not settled: {message}" if seconds > INSTALL_SECONDS else None

"""Kopf's part: it watches our kinds and hands every event to the controllers. Nothing else happens in its handlers.

Only `@kopf.on.event`: it writes nothing to objects and keeps no state in them. Kopf has a thread and a loop of its own:
at its end it cancels every task of its loop, after five seconds of waiting for them, and it takes the signals of the
main thread; both are ours. Kopf also imports the `kubernetes` package when it is there, which the operator does not
need: 0.4 s and 20 MB at start, so it is hidden while Kopf is imported.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp

from rukpak_py.api.names import GROUP, VERSION
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.config import Connection
from rukpak_py.operator.event_loop import Loop

_hidden = sys.modules.get("kubernetes")
sys.modules["kubernetes"] = None  # type: ignore[assignment]  # what the import system calls "not there"
try:
    import kopf
finally:
    if _hidden is None:
        del sys.modules["kubernetes"]
    else:
        sys.modules["kubernetes"] = _hidden

SERVER_TIMEOUT = 300  # seconds; Kopf resumes by version
STOP_SECONDS = 5


@dataclass(frozen=True, kw_only=True)
class Handler:
    """What to do with the events of one kind. `may_be_ours` is asked in Kopf's thread, `seen` is called in ours."""

    plural: str
    may_be_ours: Callable[[Mapping[str, Any]], bool]
    seen: Callable[[str | None, Mapping[str, Any]], None]


class HandOver:
    """From Kopf's thread to ours: what may be ours, and every later event of the same name; `seen` decides.

    Kopf's thread cannot know what we know by now: events that it handed over may still be on their way.
    """

    def __init__(self, handler: Handler, call: Callable[..., object]) -> None:
        """`call` has a function called in our thread, in order."""
        self._handler = handler
        self._call = call
        self._names: set[str] = set()

    def wants(self, body: Mapping[str, Any]) -> bool:
        return body["metadata"]["name"] in self._names or self._handler.may_be_ours(body)

    def take(self, event: str | None, body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        if event == "DELETED":
            self._names.discard(name)
        else:
            self._names.add(name)
        self._call(self._handler.seen, event, body)


async def run_kopf(connection: Connection, handlers: list[Handler]) -> None:
    """Watch until cancelled; a watch that Kopf gives up ends this with its error, and with it the process."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    stop = threading.Event()
    registry = _registry(connection, handlers, loop)

    def watch() -> None:
        error: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=Loop) as runner:
                runner.run(
                    kopf.operator(
                        registry=registry, settings=_settings(), clusterwide=True, standalone=True, stop_flag=stop
                    )
                )
        except BaseException as caught:  # noqa: BLE001 - it is raised again, in the loop that waits for it
            error = caught
        with suppress(RuntimeError):  # the loop that waited is gone: the process ends anyway
            loop.call_soon_threadsafe(_end, ended, error)

    threading.Thread(target=watch, name="kopf", daemon=True).start()
    try:
        await asyncio.shield(ended)
    finally:
        stop.set()
        await asyncio.wait([ended], timeout=STOP_SECONDS)


def _end(ended: asyncio.Future[None], error: BaseException | None) -> None:
    if ended.done():
        return
    if error is None:
        ended.set_result(None)
    else:
        ended.set_exception(UnavailableError(f"Kopf ended: {error or type(error).__name__}"))


def _registry(
    connection: Connection, handlers: list[Handler], loop: asyncio.AbstractEventLoop
) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    for handler in handlers:
        _register(registry, handler, loop)

    async def log_in(**_: object) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(server=connection.server, aiohttp_session=_session(connection))

    kopf.on.login(registry=registry)(log_in)
    return registry


def _register(registry: kopf.OperatorRegistry, handler: Handler, loop: asyncio.AbstractEventLoop) -> None:
    hand_over = HandOver(handler, loop.call_soon_threadsafe)

    async def on_event(event: Mapping[str, Any], **_: object) -> None:
        hand_over.take(event["type"], event["object"])

    def is_ours_or_known(body: Mapping[str, Any], **_: object) -> bool:
        return hand_over.wants(body)

    kopf.on.event(GROUP, VERSION, handler.plural, registry=registry, when=is_ours_or_known, id=f"see-{handler.plural}")(
        on_event
    )


def _session(connection: Connection) -> aiohttp.ClientSession:
    """Kopf closes it at its end, so it is not the client's."""

    async def authorize(
        request: aiohttp.ClientRequest, handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]]
    ) -> aiohttp.ClientResponse:
        if connection.token is not None:
            request.headers["Authorization"] = f"Bearer {await connection.token.token()}"
        response = await handler(request)
        if response.status == 401 and connection.token is not None:
            connection.token.forget()
        return response

    ssl = connection.tls if connection.tls is not None else True
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=ssl), middlewares=(authorize,), proxy=connection.proxy
    )


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.scanning.disabled = True  # no observers of namespaces and definitions: our own discovery does that
    settings.posting.enabled = False  # our recorder posts Events
    settings.watching.server_timeout = SERVER_TIMEOUT
    settings.watching.connect_timeout = 10
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = (0.1, 0.3, 1, 3, 5)
    settings.networking.enforce_retry_after = True
    settings.queueing.idle_timeout = 0.5  # workers hold nothing for us
    settings.process.ultimate_exiting_timeout = STOP_SECONDS
    return settings

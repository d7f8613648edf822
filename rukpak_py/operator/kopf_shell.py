"""Kopf's part: it watches our kinds and hands every event to the controllers. Nothing else happens in its handlers.

Only `@kopf.on.event`: it writes nothing to objects and keeps no state in them. Kopf has a thread and a loop of its own:
at its end it cancels every task of its loop, after five seconds of waiting for them, and it takes the signals of the
main thread; both are ours. Its end is the moment at which the first of its root tasks ends, whatever becomes of its
shutdown, which may hang; a loop that hangs is seen by its heartbeat. Kopf also imports the `kubernetes` package when it
is there, which the operator does not need: 0.4 s and 20 MB at start, so it is hidden while Kopf is imported.

Kopf looks for the kinds of its handlers once, at its start: what is not served then it never watches, and for what goes
it asks for ever. So a kind that need not be served (the CRDs may be older than the operator) costs a new start of Kopf
when that changes. What is listed again is known, so nothing follows from it.
"""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import aiohttp

from rukpak_py.api.names import GROUP, VERSION
from rukpak_py.controllers.event_router import Handler
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.config import Connection
from rukpak_py.kube.resources import Resource
from rukpak_py.operator.kopf_watches import IDLE_SECONDS, KopfWatches
from rukpak_py.runtime.loop import Loop

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
BEAT_SECONDS = 1.0
LOG = logging.getLogger(__name__)
RESTART_LOOK_SECONDS = 1.0


class NoDiff(kopf.DiffBaseStorage):
    """A diff base that stores nothing. Only change handlers need one, and there are none.

    By default Kopf copies the whole object twice for each event, before it looks at any filter.
    """

    def build(self, *, body: kopf.Body, extra_fields: object = None) -> kopf.BodyEssence:  # noqa: ARG002 - Kopf's names
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002 - the same
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        pass


class HandOver:
    """Hand events from Kopf's thread to ours: those that may be ours, and every later one of the same name.

    `seen` decides which are ours.

    Kopf's thread cannot know what we know by now: events that it handed over may still be on their way.
    """

    def __init__(self, handler: Handler, call: Callable[..., object], done: Callable[[str], None]) -> None:
        """`call` has a function called in our thread, in order. `done` hears the name of each event, taken or not."""
        self._handler = handler
        self._call = call
        self._done = done
        self._names: set[str] = set()

    def wants(self, body: Mapping[str, Any]) -> bool:
        name = body["metadata"]["name"]
        if name in self._names or self._handler.may_be_ours(body):
            return True
        self._done(name)
        return False

    def take(self, event: str | None, body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        if event == "DELETED":
            self._names.discard(name)
        else:
            self._names.add(name)
        self._call(self._handler.seen, event, body)
        self._done(name)


class KopfThread:
    """Kopf, from its start to its end."""

    def __init__(self, connection: Connection, handlers: Sequence[Handler], watches: KopfWatches) -> None:
        self._connection = connection
        self._handlers = handlers
        self._watches = watches
        self._stop = threading.Event()
        self.last_beat: float | None = None  # monotonic; None before the start

    async def run(self) -> None:
        """Watch until cancelled; the end of any part of Kopf ends this with its error, and with it the process."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        finished: asyncio.Future[None] = loop.create_future()

        def tell(future: asyncio.Future[None], error: BaseException | None) -> None:
            with suppress(RuntimeError):  # the loop that waited is gone: the process ends anyway
                loop.call_soon_threadsafe(_end, future, error)

        def work() -> None:
            error: BaseException | None = None
            try:
                with asyncio.Runner(loop_factory=Loop) as runner:
                    runner.run(self._operate(loop, partial(tell, ended)))
            except BaseException as caught:  # noqa: BLE001 - it is raised again, in the loop that waits for it
                error = caught
            tell(ended, error)
            tell(finished, None)

        self.last_beat = time.monotonic()
        self._watches.begin()
        threading.Thread(target=work, name="kopf", daemon=True).start()
        try:
            await asyncio.shield(ended)
        finally:
            self._stop.set()
            await asyncio.wait([finished], timeout=STOP_SECONDS)
            if not ended.cancel() and not ended.cancelled():
                ended.exception()  # it was reported, or no task waits for it any more

    async def _operate(self, loop: asyncio.AbstractEventLoop, end: Callable[[BaseException | None], None]) -> None:
        """Operate Kopf, in its thread and loop. `loop` is ours."""
        self._beat()
        ours = asyncio.all_tasks()
        tasks = await kopf.spawn_tasks(
            registry=_registry(self._connection, self._handlers, self._watches, loop),
            settings=_settings(),
            clusterwide=True,
            standalone=True,
            stop_flag=self._stop,
        )
        for task in tasks:
            task.add_done_callback(lambda done: end(None if done.cancelled() else done.exception()))
        await kopf.run_tasks(tasks, ignored=ours)

    def _beat(self) -> None:
        self.last_beat = time.monotonic()
        asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)


def _end(future: asyncio.Future[None], error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(UnavailableError(f"Kopf ended: {error or type(error).__name__}"))


def _registry(
    connection: Connection, handlers: Sequence[Handler], watches: KopfWatches, loop: asyncio.AbstractEventLoop
) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    for handler in handlers:
        hand_over = HandOver(handler, loop.call_soon_threadsafe, partial(watches.handed_over, handler.plural))
        _register(registry, handler.plural, hand_over)

    async def log_in(**_: object) -> kopf.AiohttpSession:
        return kopf.AiohttpSession(server=connection.server, aiohttp_session=_session(connection, watches))

    kopf.on.login(registry=registry)(log_in)
    return registry


def _register(registry: kopf.OperatorRegistry, plural: str, hand_over: HandOver) -> None:
    async def on_event(event: Mapping[str, Any], **_: object) -> None:
        hand_over.take(event["type"], event["object"])

    def is_ours_or_known(body: Mapping[str, Any], **_: object) -> bool:
        return hand_over.wants(body)

    kopf.on.event(GROUP, VERSION, plural, registry=registry, when=is_ours_or_known, id=f"see-{plural}")(on_event)


def _session(connection: Connection, watches: KopfWatches) -> aiohttp.ClientSession:
    """Kopf closes it at its end, so it is not the client's."""

    async def authorize(
        request: aiohttp.ClientRequest, handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]]
    ) -> aiohttp.ClientResponse:
        request.server_hostname = connection.server_name  # Kopf gives none
        if connection.token is not None:
            request.headers["Authorization"] = f"Bearer {await connection.token.token()}"
        response = await handler(request)
        if response.status == 401 and connection.token is not None:
            connection.token.forget()
        return response

    ssl = connection.tls if connection.tls is not None else True
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=ssl),
        middlewares=(watches.middleware, authorize),
        proxy=connection.proxy,
    )


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.scanning.disabled = True  # no observers of namespaces and definitions: our own discovery does that
    settings.posting.enabled = False  # our recorder posts Events
    settings.watching.server_timeout = SERVER_TIMEOUT
    settings.watching.connect_timeout = 10
    settings.watching.inactivity_timeout = 2 * IDLE_SECONDS  # ours comes first; it cannot hit anything but the read
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = (0.1, 0.3, 1, 3, 5)
    settings.networking.enforce_retry_after = True
    settings.queueing.idle_timeout = 0.5  # workers hold nothing for us
    settings.persistence.diffbase_storage = NoDiff()
    settings.process.ultimate_exiting_timeout = None  # a SIGKILL without a word; ours bounds the stop, and says why
    return settings


class KopfRuns:
    def __init__(
        self,
        start: Callable[[], KopfThread],
        watches: KopfWatches,
        *,
        optional: Sequence[Resource],
        is_served: Callable[[Resource], bool],
        interval: float = RESTART_LOOK_SECONDS,
    ) -> None:
        self._start = start
        self._watches = watches
        self._optional = optional
        self._is_served = is_served
        self._interval = interval
        self._thread: KopfThread | None = None

    @property
    def last_beat(self) -> float | None:
        """Monotonic; None before the start."""
        return self._thread.last_beat if self._thread is not None else None

    async def run(self) -> None:
        """Run until cancelled, or until Kopf ends by itself."""
        while True:
            self._thread = self._start()
            running = asyncio.create_task(self._thread.run(), name="Kopf")
            outdated = asyncio.create_task(self._until_outdated())
            try:
                await asyncio.wait({running, outdated}, return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    return running.result()
                LOG.info("restarting Kopf: %s", outdated.result())
            finally:
                running.cancel()
                outdated.cancel()
                await asyncio.gather(running, outdated, return_exceptions=True)

    async def _until_outdated(self) -> str:
        """Twice in a row, because Kopf asks for one kind after the other. The answer says what changed."""
        seen = ""
        while True:
            await asyncio.sleep(self._interval)
            found = self._changed() if self._watches.have_begun else ""
            if found and found == seen:
                return found
            seen = found

    def _changed(self) -> str:
        for resource in self._optional:
            is_served = self._is_served(resource)
            if is_served != self._watches.has_begun(resource):
                return f"{resource.gvk.kind} is {'now served' if is_served else 'not served any more'}"
        return ""

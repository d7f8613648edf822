"""HTTP to the API server: one session, bounded requests in flight, safe repetition, every try counted.

* HTTP/1.1 keep-alive; no proxy from the environment, only the kubeconfig's; answers are not compressed.
* Each lane has places of its own, so a request never waits for those of another lane. At most that many ordinary
  requests are in flight at once, beside those that are slow; waiting to try again does not hold a place. Watches are
  not bounded.
* A failed request is sent again only as its `Repeat` allows, at most `TRIES` times, and not when the server asks for
  a longer wait than a caller should sit through: then the error carries `retry_after`.
* Requests as an account have bounds of their own, and wait for no other account (`flows`).
* A call's gate is asked before each try, its fence before each of a write, after all that had to be waited for.
"""

import asyncio
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import aiohttp
import orjson
from yarl import URL

from rukpak_py import __version__
from rukpak_py.core.metrics import REQUEST_SECONDS, REQUESTS
from rukpak_py.kube.calls import Call, HttpAnswer, Lane, Repeat
from rukpak_py.kube.config import Connection
from rukpak_py.kube.errors import AnswerTooLargeError, ApiError, ErrorAnswer, ServerUnavailableError
from rukpak_py.kube.flows import Flow, Flows
from rukpak_py.kube.pace import Backoff
from rukpak_py.kube.places import SLOW_SECONDS, Places
from rukpak_py.kube.status_errors import error_of

TRIES = 4
FIRST_WAIT = 0.2
LONGEST_WAIT = 10.0
REQUEST_SECONDS_LIMIT = 30.0
CONNECT_SECONDS = 10.0
IN_FLIGHT = {Lane.LEASE: 1, Lane.VITAL: 32, Lane.WORK: 32}  # an elector sends one request after the other
PIECEMEAL_BYTES = 512 * 1024
USER_AGENT = f"rukpak-py/{__version__}"
_RETRYABLE_500 = {"ServerTimeout", "Timeout"}


class Transport:
    def __init__(
        self,
        connection: Connection,
        *,
        in_flight: Mapping[Lane, int] = IN_FLIGHT,
        flows: Flows | None = None,
        timeout: float = REQUEST_SECONDS_LIMIT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._connection = connection
        self._places = {
            lane: Places(number, seconds=SLOW_SECONDS if lane is Lane.WORK else None, lane=lane.name.lower())
            for lane, number in in_flight.items()
        }
        self._flows = flows or Flows()
        self._limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS)
        self._sleep = sleep
        self._open_session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._open_session is not None:
            await self._open_session.close()

    async def send(self, call: Call) -> HttpAnswer:
        """Send a request and return its successful answer (304 counts); raises `ApiError`."""
        if call.user is None:
            return await self._send(call, None)
        async with self._flows.of(call.user) as flow:
            return await self._send(call, flow)

    async def _send(self, call: Call, flow: Flow | None) -> HttpAnswer:
        backoff = Backoff(first=FIRST_WAIT, limit=LONGEST_WAIT)
        resent = False
        while True:
            try:
                async with self._turn(call, flow):
                    return await self._timed(call, flow, resent=resent)
            except ApiError as error:
                untouched = error.status in {401, 429} or isinstance(error.__cause__, aiohttp.ClientConnectorError)
                wait = _wait(error, backoff)
                if wait is None or not (call.repeat is Repeat.SAFE or (untouched and call.repeat is Repeat.UNTOUCHED)):
                    raise
                if flow is not None and flow.is_over(self._flows.clock()):
                    raise
                resent = resent or not untouched
            await self._sleep(wait)

    @asynccontextmanager
    async def _turn(self, call: Call, flow: Flow | None) -> AsyncIterator[None]:
        """A place in the lane. An account has to have its turn first, and none of it while it is to wait."""
        if flow is None or call.lane is not Lane.WORK:
            async with self._places[call.lane].one():
                yield
            return
        while True:
            async with self._flows.place(flow), self._places[call.lane].one():
                now = self._flows.clock()
                left = flow.left(now)
                if not left:
                    yield
                    return
                if flow.is_over(now):
                    raise _told_to_wait(call, left)
            await self._sleep(left)

    async def _timed(self, call: Call, flow: Flow | None, *, resent: bool) -> HttpAnswer:
        sent, began = self._flows.clock(), time.perf_counter()
        try:
            answer = await self._try(call, resent=resent)
        except ApiError as error:
            if flow is not None and error.status == 429:
                flow.refuse(sent=sent, now=self._flows.clock(), seconds=error.retry_after)
            raise
        finally:
            if call.answered is not None:
                call.answered(time.perf_counter() - began)
        if flow is not None:
            flow.accept(sent=sent)
        return answer

    @asynccontextmanager
    async def stream(self, call: Call, *, idle: float) -> AsyncIterator[aiohttp.StreamReader]:
        """An answer that goes on; raises `TimeoutError` when nothing arrives for `idle` seconds."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=idle)
        try:
            async with self._request(call, limits) as response:
                if response.status != 200:
                    raise self._refusal(call, response, await response.read())
                try:
                    yield response.content
                finally:
                    _abort(response)
        except aiohttp.SocketTimeoutError:  # silence; a connection that is not made in time is something else
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise _unreachable(call, error) from error

    @asynccontextmanager
    async def websocket(
        self, call: Call, *, protocols: Sequence[str], longest: int
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse[bool]]:
        """A connection in both directions. Leaving the block ends it at once, whatever is still under way."""
        code, began = "<error>", time.perf_counter()
        try:
            async with asyncio.timeout(self._limits.total):
                socket = await self._session().ws_connect(
                    self._url(call),
                    protocols=protocols,
                    headers=await self._headers(call),
                    max_msg_size=longest,
                    proxy=self._connection.proxy,
                    server_hostname=self._connection.server_name,
                )
            code = str(socket._response.status)  # noqa: SLF001 - there is no public name for it
        except aiohttp.WSServerHandshakeError as error:
            code = str(error.status)
            if error.status == 401 and self._connection.token is not None:
                self._connection.token.forget()
            # What the server said is lost with its answer; a Status without a name would read as "no such kind".
            body = orjson.dumps({"kind": "Status", "details": {"name": call.name}})
            raise error_of(call.subject, error.status, body) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _unreachable(call, error) from error
        finally:
            _count(call, code, began)
        try:
            yield socket
        finally:
            _abort(socket._response)  # noqa: SLF001 - see above
            await socket.close()

    async def _try(self, call: Call, *, resent: bool) -> HttpAnswer:
        try:
            async with self._request(call, self._limits) as response:
                body = await _body(call, response)
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            raise _unreachable(call, error) from error
        if response.status >= 300 and response.status != 304:  # redirects are not followed: the API has none
            raise self._refusal(call, response, body)
        return HttpAnswer(status=response.status, body=body, headers=response.headers, resent=resent)

    @asynccontextmanager
    async def _request(self, call: Call, limits: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send once and count it, by its status or as `<error>` when no answer began."""
        headers = await self._headers(call)
        if call.gate is not None:
            call.gate()
        if call.fence is not None and call.is_write:
            call.fence()
        code, began = "<error>", time.perf_counter()
        try:
            # Large bodies are written piece by piece: aiohttp would hand one piece of this size to the loop at once.
            async with self._session().request(
                call.method,
                self._url(call),
                data=io.BytesIO(call.body) if call.body is not None and len(call.body) > PIECEMEAL_BYTES else call.body,
                headers=headers,
                timeout=limits,
                proxy=self._connection.proxy,
                server_hostname=self._connection.server_name,
                allow_redirects=False,
            ) as response:
                code = str(response.status)
                _count(call, code, began)
                yield response
        finally:
            if code == "<error>":
                _count(call, code, began)

    def _url(self, call: Call) -> URL:
        return URL(self._connection.server + call.url_path, encoded=True).update_query(call.query)

    async def _headers(self, call: Call) -> dict[str, str]:
        headers = call.headers
        if self._connection.token is not None:
            headers["Authorization"] = f"Bearer {await self._connection.token.token()}"
        return headers

    def _refusal(self, call: Call, response: aiohttp.ClientResponse, body: bytes) -> ApiError:
        if response.status == 401 and self._connection.token is not None:
            self._connection.token.forget()
        return error_of(
            call.subject,
            response.status,
            body,
            retry_after=_seconds(response.headers.get("Retry-After")),
            sensitive=call.is_sensitive,
        )

    def _session(self) -> aiohttp.ClientSession:
        """The session, opened inside the running loop by the first request."""
        if self._open_session is None:
            tls = self._connection.tls
            session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=tls if tls is not None else True),
                headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                raise_for_status=False,
                trace_configs=[_without_redirects()],
            )
            # aiohttp sends a PUT or DELETE again by itself when a kept connection breaks: uncounted, and a DELETE could
            # hit another object of that name. There is no public switch; a test holds this one in place.
            session._retry_connection = False  # noqa: SLF001 - see above
            self._open_session = session
        return self._open_session


async def _body(call: Call, response: aiohttp.ClientResponse) -> bytes:
    if call.most is None:
        return await response.read()
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > call.most:
            response.close()
            text = f"the answer has more than {call.most} bytes"
            raise AnswerTooLargeError(ErrorAnswer(subject=call.subject, status=response.status, message=text))
        pieces.append(piece)
    return b"".join(pieces)


def _without_redirects() -> aiohttp.TraceConfig:
    """The API has no redirects. A websocket of aiohttp follows them and cannot be told not to."""

    async def refuse(
        _session: aiohttp.ClientSession, _context: object, redirect: aiohttp.TraceRequestRedirectParams
    ) -> None:
        raise aiohttp.ClientError(f"it answered {redirect.response.status}, and redirects are not followed")

    config = aiohttp.TraceConfig()
    config.on_request_redirect.append(refuse)
    return config


def _wait(error: ApiError, backoff: Backoff) -> float | None:
    """How long until the same request is worth another try; None: it is not."""
    if backoff.failures >= TRIES - 1 or error.retry_after > LONGEST_WAIT:
        return None
    if error.status == 401 and not backoff.failures:  # a rotated token: once, with the new one
        return backoff.next()
    if not isinstance(error, ServerUnavailableError):
        return None
    meant = error.status in {0, 429, 502, 503, 504} or error.retry_after or error.reason in _RETRYABLE_500
    return backoff.next(error.retry_after) if meant else None


def _unreachable(call: Call, error: Exception) -> ServerUnavailableError:
    """No answer. The text of aiohttp's errors names addresses and reasons, never headers."""
    what = "no answer in time" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
    return ServerUnavailableError(
        ErrorAnswer(subject=call.subject, message=f"the API server cannot be reached ({what})"),
    )


def _told_to_wait(call: Call, seconds: float) -> ServerUnavailableError:
    """Not sent: the server has asked the account to wait."""
    message = f"the API server has too many requests of {call.user} and asked it to wait"
    return ServerUnavailableError(
        ErrorAnswer(subject=call.subject, status=429, reason="TooManyRequests", message=message, retry_after=seconds)
    )


def _abort(response: aiohttp.ClientResponse) -> None:
    """End a stream at once: the polite end of TLS waits for the server, and nothing waits for that."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _seconds(header: str | None) -> float | None:
    """`Retry-After` in seconds; Kubernetes never sends a date."""
    return float(header) if header and header.isdecimal() else None


def _count(call: Call, code: str, began: float) -> None:
    resource = call.resource
    REQUESTS.labels(
        call.counted_verb,
        resource.gvk.group if resource else "",
        resource.plural if resource else call.path,
        call.subresource,
        code,
    ).inc()
    REQUEST_SECONDS.labels(call.counted_verb).observe(time.perf_counter() - began)

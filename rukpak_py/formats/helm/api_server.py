"""The API server that helm sees while it renders: it answers GET, from a listener that helm's own process has made.

The listener comes out of helm's process by a Unix socket (see `core.launcher`), with the path below which requests
count. Head and body of an answer go out in one segment: in two each costs 40 ms.
"""

import array
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

from rukpak_py.formats.helm.api_answers import ApiAnswer, status_body

API_SERVER_VARIABLE: Final = "HELM_KUBEAPISERVER"
_SILENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.01
_LONGEST_PATH: Final = 256  # bytes, of what counts
_CONNECTIONS: Final = 16  # at a time; helm has two or three
_NOT_HELM: Final = ApiAnswer(
    HTTPStatus.FORBIDDEN, status_body(HTTPStatus.FORBIDDEN, "Forbidden", "this server is for helm, which only reads")
)

Answer = Callable[[str, str], ApiAnswer]


class ApiServer:
    """Serves from `started` to the end of the context. Answers are made one at a time."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._ours, self._theirs = socket.socketpair()
        self._server: _Server | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="helm's API server")
        self._ending = threading.Lock()
        self._has_ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._theirs.close()
        with self._ending:
            self._has_ended = True
            server = self._server
        if self._thread.ident is not None:
            if server is not None:
                server.shutdown()
            self._thread.join()
        self._ours.close()

    @property
    def channel(self) -> int:
        """The descriptor for the process that makes the listener."""
        return self._theirs.fileno()

    def started(self) -> None:
        """The process runs: when it ends without a listener, that shows now."""
        self._theirs.close()
        self._thread.start()

    def _run(self) -> None:
        path, passed, _, _ = self._ours.recvmsg(_LONGEST_PATH, socket.CMSG_SPACE(array.array("i").itemsize))
        if not passed:
            return  # it ended before
        listener = socket.socket(fileno=array.array("i", passed[0][2])[0])
        with _Server(listener, path.decode().rstrip("/"), self._answer) as server:
            with self._ending:
                self._server = server
                if self._has_ended:
                    return
            server.serve_forever(_POLL_SECONDS)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a connection that is kept alive ends with helm

    def __init__(self, listener: socket.socket, prefix: str, answer: Answer) -> None:
        super().__init__(("", 0), _Requests, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.prefix = prefix
        self._answer = answer
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(_CONNECTIONS)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def answer(self, path: str, accept: str) -> ApiAnswer:
        with self._turn:
            return self._answer(path, accept)

    def handle_error(self, request: object, client_address: object) -> None:
        """The client has gone, and needs no answer."""


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = _SILENCE_SECONDS
    server: _Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        below = path.removeprefix(self.server.prefix)
        if self.server.prefix and below == path:
            return self._send(_NOT_HELM)
        return self._send(self.server.answer(below, self.headers.get("Accept", "")))

    def _send(self, answer: ApiAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Nothing is logged: paths hold names of a deployment."""

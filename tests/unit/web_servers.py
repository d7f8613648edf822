"""A web server that answers as a test says, and remembers what it was asked."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rukpak_py.core import x509
from rukpak_py.sources.image.reference import ImageReference


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    login: str | None
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    body: bytes = b""


class Server(ThreadingHTTPServer):
    """A server whose requests go to `answer`, and to `usual` where it returns nothing."""

    request_queue_size = 128  # of connections; beyond it some wait for seconds, as no client of a real server does

    def __init__(self, usual: Callable[[Asked], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.usual = usual
        self.asked: list[Asked] = []
        self.answer: Callable[[Asked], Answer | None] = lambda asked: None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def reference(self) -> ImageReference:
        return ImageReference(registry=self.address, repository="x/demo", tag="1")


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(self.command, self.path, self.headers.get("Authorization"), dict(self.headers), body)
        self.server.asked.append(asked)
        answer = self.server.answer(asked) or self.server.usual(asked)
        self.send_response(answer.status)
        for name, value in ({"Content-Length": str(len(answer.body))} | answer.headers).items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):  # a client that has seen enough hangs up
            self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_HEAD = do  # noqa: N815 - names of the library

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(usual: Callable[[Asked], Answer], context: ssl.SSLContext | None = None) -> Iterator[Server]:
    with Server(usual) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def tls_of(folder: Path, name: str = "127.0.0.1") -> tuple[ssl.SSLContext, str]:
    """The TLS context of a server, and the authority that its clients have to trust."""
    now = datetime.now(UTC)
    authority = x509.issue_ca(now)
    pair = x509.issue_serving(authority, [name], now)
    own = folder / "serving.pem"
    own.write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    return context, authority.certificate.decode()

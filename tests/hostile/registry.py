"""A registry that attacks its clients: too slowly, with too much, or with what costs the reader dear.

It serves one image, `team/demo:v1`, and everything that its attack does not concern is in order. A thread serves each
connection, with plain sockets: what it sends is not what a library of servers would. It speaks plain HTTP on loopback.
"""

import io
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from tests.hostile.registry_attacks import ANSWERS, MANIFEST, RAW, REPOSITORY, TAG, Attack, image_for

_TLS_HANDSHAKE: Final = b"\x16"  # a client that speaks TLS first, and tries without it next
_MOST_REQUEST: Final = 256 * 1024
_PIECE: Final = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]


class HostileRegistry:
    """Serves until `stop`; `interval`: seconds between the bytes of what is slow."""

    def __init__(self, attack: Attack, *, interval: float = 20.0, port: int = 0) -> None:
        self.attack = attack
        self.interval = interval
        self.asked: list[str] = []  # methods and paths
        self.sent = 0  # bytes of bodies
        self._port = port
        self._image = image_for(attack)
        self._stopped = threading.Event()
        self._listener: socket.socket | None = None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def ref(self) -> str:
        return f"{self.address}/{REPOSITORY}:{TAG}"

    @property
    def connections(self) -> int:
        """That are open."""
        return len(self._open)

    def start(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", self._port), backlog=128)
        self._port = self._listener.getsockname()[1]
        self._begin(self._accept, self._listener)
        return self

    def stop(self) -> None:
        self._stopped.set()
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        with self._lock:
            connections = list(self._open)
        for one in connections:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _begin(self, work: Callable[[socket.socket], None], argument: socket.socket) -> None:
        thread = threading.Thread(target=work, args=(argument,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while not self._stopped.is_set():
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._open.add(connection)
                self._begin(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection, connection.makefile("rb") as file:
            if connection.recv(1, socket.MSG_PEEK) == _TLS_HANDSHAKE:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.recv(_MOST_REQUEST)  # what is left unread would reset the connection
                raise ConnectionError
            while (request := _read_request(file)) is not None:
                self.asked.append(f"{request.method} {request.path}")
                if not self._answer(connection, request):
                    break
        with self._lock:
            self._open.discard(connection)

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        """Whether the connection is of use after it."""
        attack, path = self.attack, request.path
        if attack is Attack.SILENT:
            self._stopped.wait()
            return False
        if attack in ANSWERS:
            status, headers, body = ANSWERS[attack]
            return self._send(connection, status, body, *headers)
        if attack in RAW:
            return self._try(connection, RAW[attack])
        if attack is Attack.UNWELL:
            return self._send_endless(connection, 503)
        if attack is Attack.REDIRECT_BODY:
            return self._send_endless(connection, 307, ("Location", path))
        return self._answer_of_image(connection, request)

    def _answer_of_image(self, connection: socket.socket, request: Request) -> bool:
        attack, path = self.attack, request.path
        if attack in _WITH_TOKEN and path.startswith("/token"):
            return self._send_token(connection)
        if attack in _WITH_TOKEN and "Authorization" not in request.headers:
            realm = f'Bearer realm="http://{self.address}/token",service="registry"'
            return self._send(connection, 401, b"", ("WWW-Authenticate", realm))
        if "/blobs/" in path and attack in _OF_BLOBS:
            return self._send_blob(connection, path)
        kind, name = path.split("/")[-2:]
        found = self._image.documents if kind == "manifests" else self._image.blobs
        data = found.get(name)
        if data is None:
            return self._send(connection, 404, b'{"errors": [{"message": "manifest unknown"}]}')
        if attack is Attack.MANIFEST_ENDLESS and kind == "manifests":
            return self._send_endless(connection, 200)
        return self._send_part(connection, request, data, kind=kind, name=name)

    def _send_part(self, connection: socket.socket, request: Request, data: bytes, *, kind: str, name: str) -> bool:
        start = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        status = 206 if start else 200
        is_slow = (
            (self.attack is Attack.SLOW_MANIFEST and kind == "manifests")
            or (self.attack is Attack.SLOW_CONFIG and name == self._image.config)
            or (self.attack in {Attack.SLOW_LAYER, Attack.SLOW_LAYER_CUT} and name == self._image.layer)
        )
        headers = [("Content-Type", MANIFEST if kind == "manifests" else "application/octet-stream")]
        if self.attack is Attack.CLOSING:
            headers.append(("Connection", "close"))
        if self.attack is Attack.SLOW_STATUS:
            return self._drip(connection, _head(status, len(data), headers))
        if self.attack is Attack.SLOW_HEADERS:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            return self._drip(connection, b"".join(b"X-%d: a\r\n" % number for number in range(90)))
        if not is_slow:
            return self._send(connection, status, data[start:], *headers) and self.attack is not Attack.CLOSING
        connection.sendall(_head(status, len(data) - start, headers))
        return self._drip(connection, data[start:], most=3 if self.attack is Attack.SLOW_LAYER_CUT else len(data))

    def _drip(self, connection: socket.socket, data: bytes, *, most: int | None = None) -> bool:
        for number, byte in enumerate(data):
            if number == most or self._stopped.wait(self.interval):
                return False
            connection.sendall(bytes([byte]))
            self.sent += 1
        return True

    def _send_token(self, connection: socket.socket) -> bool:
        match self.attack:
            case Attack.TOKEN_HUGE:
                return self._send_endless(connection, 200, start=b'{"token": "')
            case Attack.TOKEN_DEEP:
                return self._send(connection, 200, b"[" * 60_000)
            case _:
                token = b'{"token": "abc", "expires_in": 300}'
                connection.sendall(_head(200, len(token), []))
                return self._drip(connection, token)

    def _send_blob(self, connection: socket.socket, path: str) -> bool:
        name = path.rpartition("/")[2]
        data = self._image.blobs.get(name, b"")
        is_layer = name == self._image.layer
        match self.attack:
            case Attack.REDIRECTS:
                return self._send(connection, 307, b"", ("Location", f"{path}?{len(self.asked)}"))
            case Attack.SEGMENTS if is_layer:
                connection.sendall(_head(200, len(data), []))
                return all(self._try(connection, data[at : at + 1]) for at in range(len(data)))
            case Attack.CHUNKS if is_layer:
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in data) + b"0\r\n\r\n"
                return self._try(connection, chunks)
            case Attack.STALLED_LAYER if is_layer:
                connection.sendall(_head(200, len(data), []) + data[:-1])
                self._stopped.wait()
                return False
            case Attack.LAYER_ENDLESS if is_layer:
                return self._send_endless(connection, 200, start=data)
            case Attack.LAYER_DAMAGED if is_layer:
                return self._send(connection, 200, data[:-1] + bytes([data[-1] ^ 1]))
            case _:
                return self._send(connection, 200, data)

    def _send(self, connection: socket.socket, status: int, data: bytes, *headers: tuple[str, str]) -> bool:
        connection.sendall(_head(status, len(data), headers) + data)
        self.sent += len(data)
        return True

    def _send_endless(
        self, connection: socket.socket, status: int, *headers: tuple[str, str], start: bytes = b""
    ) -> bool:
        connection.sendall(_head(status, 1 << 50, headers) + start)
        while not self._stopped.is_set() and self._try(connection, b"x" * _PIECE):
            self.sent += _PIECE
        return False

    def _try(self, connection: socket.socket, data: bytes) -> bool:
        with suppress(OSError):
            connection.sendall(data)
            return True
        return False


_WITH_TOKEN: Final = frozenset({Attack.SLOW_TOKEN, Attack.TOKEN_HUGE, Attack.TOKEN_DEEP})
_OF_BLOBS: Final = frozenset(
    {Attack.REDIRECTS, Attack.STALLED_LAYER, Attack.SEGMENTS, Attack.CHUNKS, Attack.LAYER_ENDLESS, Attack.LAYER_DAMAGED}
)


def _read_request(file: io.BufferedIOBase) -> Request | None:
    line = file.readline(_MOST_REQUEST).decode("latin-1").split()
    if len(line) < 2:
        return None
    headers: dict[str, str] = {}
    while (header := file.readline(_MOST_REQUEST).decode("latin-1").strip()) != "":
        name, _, value = header.partition(":")
        headers[name.title()] = value.strip()
    return Request(method=line[0], path=line[1], headers=headers)


def _head(status: int, size: int, headers: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {size}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")

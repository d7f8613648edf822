"""A web server of this process with TLS: repositories (`NAME.git`) by the real `git http-backend`, and other files.

For a handful of requests at a time. Where there are logins, everybody is asked for one.
"""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from e2e.cluster.pki import Subject

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from e2e.cluster.pki import Authority

REPOSITORY = ".git"
BACKEND = ("git", "http-backend")
IDENTITY = ("-c", "user.name=rukpak", "-c", "user.email=rukpak@localhost")


@dataclass(frozen=True, kw_only=True)
class WebServer:
    url: str
    authority: str  # PEM
    root: Path


@contextmanager
def running(
    root: Path, *, host: str, authority: Authority, keys: Path, logins: Collection[tuple[str, str]] = ()
) -> Iterator[WebServer]:
    """`keys`: a folder for the server's key, which is not below the root."""
    keys.mkdir(parents=True, exist_ok=True)
    server = _Server(host, root, logins)
    server.socket = server_context(authority, host, keys).wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        url = f"https://{host}:{server.server_port}"
        yield WebServer(url=url, authority=authority.pair.certificate.decode(), root=root)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def publish(repository: Path, content: Path, *, tag: str = "") -> None:
    """A bare repository whose branch `main` has the files of a folder in one commit."""
    _git("init", "--quiet", "--bare", "--initial-branch=main", str(repository))
    git = (f"--git-dir={repository}", f"--work-tree={content}", *IDENTITY)
    _git(*git, "add", "--all")
    _git(*git, "commit", "--quiet", "--message=content")
    if tag:
        _git(*git, "tag", tag)


def _git(*arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *arguments], check=True, stdin=subprocess.DEVNULL, env=environment)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, root: Path, logins: Collection[tuple[str, str]]) -> None:
        super().__init__((host, 0), _Handler)
        self.root = root.resolve()
        self.expected = {f"Basic {base64.b64encode(':'.join(login).encode()).decode()}" for login in logins}

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up, or does not trust us, is its own affair."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *args: object) -> None:
        pass

    def _answer(self) -> None:
        if self.server.expected and self.headers.get("Authorization") not in self.server.expected:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="content"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif f"{REPOSITORY}/" in self.path:
            self._run_backend()
        else:
            self._send_file()

    def _send_file(self) -> None:
        path = (self.server.root / urlsplit(self.path).path.lstrip("/")).resolve()
        if not path.is_relative_to(self.server.root) or not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _run_backend(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        done = subprocess.run(BACKEND, input=body, env=self._environment(), stdout=subprocess.PIPE, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.partition(": ") for line in head.decode().split("\r\n")]
        status = next((value for name, _, value in headers if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, _, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _environment(self) -> Mapping[str, str]:
        url = urlsplit(self.path)
        return {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": self.client_address[0],
        }


def server_context(authority: Authority, host: str, keys: Path) -> ssl.SSLContext:
    pair = authority.issue(Subject(name=host, dns_names=("localhost",), addresses=(host,)))
    certificate, key = keys / "server.crt", keys / "server.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context

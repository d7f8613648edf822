"""A real registry on loopback, and a token service as large registries have one."""

import base64
import json
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from e2e.cluster.pki import Authority
from e2e.servers import registry
from e2e.servers.registry import RegistryServer
from tests.unit.sources.image.image_registry import Contents

USER, PASSWORD = "someone", "a pass:word"
# Of the password, with bcrypt: the one kind that the registry takes. The cost is the lowest.
HTPASSWD = "someone:$2a$04$cJvYTq2nF9Lc3v176RByP..Le3L1PP26IkhlXbwdHJfYzIQwe0brK\n"


class Registry(RegistryServer):
    def get(self, path: str, *, accept: str = "*/*", login: str = "") -> bytes:
        headers = {"Accept": accept, **({"Authorization": login} if login else {})}
        request = urllib.request.Request(f"{self.url}/v2/{path}", headers=headers)  # noqa: S310 - our own
        with urllib.request.urlopen(request, timeout=10, context=self.context) as answer:  # noqa: S310 - see above
            body: bytes = answer.read()
        return body

    def push(self, image: Contents, repository: str, *, login: str = "") -> None:
        """Push all content, byte for byte: documents under their digests and tags."""
        for digest, data in image.blobs.items():
            started = self._send("POST", f"{self.url}/v2/{repository}/blobs/uploads/", login=login)
            target = urljoin(self.url, started.headers["Location"])
            joint = "&" if urlsplit(target).query else "?"
            self._send("PUT", f"{target}{joint}digest={digest}", data, "application/octet-stream", login=login)
        for name, (kind, data) in image.documents.items():
            self._send("PUT", f"{self.url}/v2/{repository}/manifests/{name}", data, kind, login=login)

    def _send(self, method: str, url: str, data: bytes = b"", kind: str = "", *, login: str = "") -> Any:
        headers = {**({"Content-Type": kind} if kind else {}), **({"Authorization": login} if login else {})}
        request = urllib.request.Request(url, data=data, method=method, headers=headers)  # noqa: S310 - our own
        with urllib.request.urlopen(request, timeout=30, context=self.context) as answer:  # noqa: S310 - see above
            answer.read()
        return answer


@contextmanager
def running_registry(
    folder: Path,
    auth: dict[str, Any] | None = None,
    *,
    with_tls: bool = False,
    host: str = "127.0.0.1",
    logs_requests: bool = False,
) -> Iterator[Registry]:
    authority = Authority.create("registry tests") if with_tls else None
    with registry.running(folder, host=host, authority=authority, auth=auth, logs_requests=logs_requests) as server:
        yield Registry(address=server.address, authority=server.authority)


@contextmanager
def private_registry(folder: Path) -> Iterator[Registry]:
    """One that asks for `USER` and `PASSWORD`, over TLS."""
    with running_registry(folder, htpasswd(folder), with_tls=True) as registry:
        yield registry


def htpasswd(folder: Path) -> dict[str, Any]:
    file = folder / "htpasswd"
    file.write_text(HTPASSWD)
    return {"htpasswd": {"realm": "tests", "path": str(file)}}


class TokenService(ThreadingHTTPServer):
    """Gives tokens for any scope to who is logged in; what was asked for is in `scopes`."""

    issuer, service = "tests", "registry"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _TokenHandler)
        self.scopes: list[str] = []
        self._key = ec.generate_private_key(ec.SECP256R1())

    def auth(self, folder: Path) -> dict[str, Any]:
        """The configuration of a registry that trusts this service."""
        folder.mkdir(parents=True, exist_ok=True)
        numbers = self._key.public_key().public_numbers()
        coordinates = {name: _encoded(number.to_bytes(32)) for name, number in {"x": numbers.x, "y": numbers.y}.items()}
        key = {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "one", **coordinates}
        keys = folder / "keys.json"
        keys.write_text(json.dumps({"keys": [key]}))
        realm = f"http://127.0.0.1:{self.server_port}/token"
        return {"token": {"realm": realm, "service": self.service, "issuer": self.issuer, "jwks": str(keys)}}

    def token(self, scope: str) -> str:
        self.scopes.append(scope)
        kind, name, actions = scope.split(":")
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": self.service,
            "sub": USER,
            "iat": now,
            "nbf": now - 10,
            "exp": now + 300,
            "jti": uuid.uuid4().hex,
            "access": [{"type": kind, "name": name, "actions": actions.split(",")}],
        }
        header = {"typ": "JWT", "alg": "ES256", "kid": "one"}
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(SHA256())))
        return f"{signed}.{_encoded(r.to_bytes(32) + s.to_bytes(32))}"


class _TokenHandler(BaseHTTPRequestHandler):
    server: TokenService

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != basic():
            self.send_error(401)
            return
        [scope] = parse_qs(urlsplit(self.path).query)["scope"]
        body = json.dumps({"token": self.server.token(scope)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def running_token_service() -> Iterator[TokenService]:
    with TokenService() as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()


def basic(password: str = PASSWORD) -> str:
    return f"Basic {base64.b64encode(f'{USER}:{password}'.encode()).decode()}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

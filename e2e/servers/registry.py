"""The reference registry of container images as a process of this machine, with its content in memory."""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from e2e.cluster import binaries
from e2e.cluster.pki import Subject
from e2e.cluster.ports import free_ports
from e2e.servers.tied import serving
from rukpak_py.cli.catalogs.opening import CATALOG_LABEL
from rukpak_py.content.tree import TreeBuilder
from rukpak_py.sources.image.build import image_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http.client import HTTPResponse

    from e2e.cluster.pki import Authority

RUKPAKCTL = Path(sys.executable).with_name("rukpakctl")
ENVIRONMENT = {"OTEL_TRACES_EXPORTER": "none"}


@dataclass(frozen=True, kw_only=True)
class RegistryServer:
    address: str  # HOST:PORT, as image names begin
    authority: str  # PEM; empty: it does not speak TLS

    @property
    def url(self) -> str:
        return f"{'https' if self.authority else 'http'}://{self.address}"

    @property
    def context(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cadata=self.authority) if self.authority else None


@contextmanager
def running(
    folder: Path,
    *,
    host: str,
    authority: Authority | None = None,
    auth: Mapping[str, Any] | None = None,
    logs_requests: bool = False,
) -> Iterator[RegistryServer]:
    """`auth` as in its configuration file: who may log in. Its log is `registry.log` in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    address = f"{host}:{free_ports(['registry'], host)['registry']}"
    pem = authority.pair.certificate.decode() if authority else ""
    server = RegistryServer(address=address, authority=pem)
    configuration = {
        "version": 0.1,
        "log": {"level": "error", "accesslog": {"disabled": not logs_requests}},
        "storage": {"inmemory": {}},
        "http": {"addr": address, "secret": "of a test", **(_tls(authority, host, folder) if authority else {})},
        **({"auth": auth} if auth else {}),
    }
    file, log = folder / "registry.json", folder / "registry.log"
    file.write_text(json.dumps(configuration), encoding="utf-8")
    command = [str(binaries.path("registry")), str(file)]
    with serving(command, log=log, answers=lambda: _answers(server), env=ENVIRONMENT):
        yield server


def push(
    server: RegistryServer,
    manifests: Path,
    image: str,
    folder: Path,
    *,
    login: tuple[str, str] | None = None,
    package: str = "sample",
) -> None:
    """Build the image of a bundle in a folder, and push it, as a user does."""
    folder.mkdir(parents=True)
    trusted = folder / "authority.pem"
    trusted.write_text(server.authority, encoding="utf-8")
    auths = {server.address: {"auth": base64.b64encode(":".join(login).encode()).decode()}} if login else {}
    (folder / "config.json").write_text(json.dumps({"auths": auths}), encoding="utf-8")
    command = [
        *(str(RUKPAKCTL), "bundle", "build", "-d", str(manifests), "-p", package, "-c", "stable"),
        *("-u", str(folder / "bundle"), "--push", f"{server.address}/{image}", "--no-plain-http"),
    ]
    environment = os.environ | {"SSL_CERT_FILE": str(trusted), "DOCKER_CONFIG": str(folder)}
    subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)


def push_catalog(server: RegistryServer, files: Mapping[str, bytes], repository: str) -> None:
    """Push the image of a file-based catalog, whose files are below `configs/`, as `latest`."""
    builder = TreeBuilder()
    for path, content in files.items():
        builder.add(path, content)
    image = image_of(builder.build(), labels={CATALOG_LABEL: "/configs"})
    for blob in (*image.layers, image.config):
        with _send(server, "POST", f"{server.url}/v2/{repository}/blobs/uploads/", b"") as started:
            location = urljoin(started.url, started.headers["Location"])
        with _send(server, "PUT", f"{location}&digest={blob.digest}", blob.data, "application/octet-stream"):
            pass
    manifest = image.manifest
    with _send(server, "PUT", f"{server.url}/v2/{repository}/manifests/latest", manifest.data, manifest.media_type):
        pass


def _send(server: RegistryServer, method: str, url: str, data: bytes, media_type: str = "") -> HTTPResponse:
    request = urllib.request.Request(url, data=data, method=method)  # noqa: S310 - our own
    if media_type:
        request.add_header("Content-Type", media_type)
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=10, context=server.context)  # noqa: S310 - our own
    return answer


def htpasswd(folder: Path, line: str) -> dict[str, Any]:
    """One login, as `USER:HASH` with a hash of bcrypt."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "htpasswd"
    file.write_text(line, encoding="utf-8")
    return {"htpasswd": {"realm": "registry", "path": str(file)}}


def _tls(authority: Authority, host: str, folder: Path) -> dict[str, Any]:
    pair = authority.issue(Subject(name=host, dns_names=("localhost",), addresses=(host,)))
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    return {"tls": {"certificate": str(certificate), "key": str(key)}}


def _answers(server: RegistryServer) -> bool:
    try:
        with urllib.request.urlopen(f"{server.url}/v2/", timeout=10, context=server.context):  # noqa: S310 - our own
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True  # it wants a login
    except OSError:
        return False

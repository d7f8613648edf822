"""An image pushed to a registry: blobs first, and the manifest, byte for byte, at last.

Credentials go to the registry's own host, and to the token service that it names. Nothing goes from TLS to plain HTTP,
and no redirect is followed. A refused push is an AccessError that says which login.
"""

from typing import Final
from urllib.parse import urlsplit

import requests

from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.sources.image.build import Blob, Image
from rukpak_py.sources.image.client import Advice, RegistryClient
from rukpak_py.sources.image.docker_config import credentials_for
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.image.transport import Connections
from rukpak_py.sources.urls import joined_url

_STREAM: Final = "application/octet-stream"
_ADVICE: Final = Advice(
    login="Log in with `docker login {registry}`",
    certificate="SSL_CERT_FILE names a file of authorities that are trusted",
    no_tls="--plain-http is for registries without TLS",
)


def push_image(image: Image, reference: ImageReference, *, plain_http: bool = False) -> None:
    connections = Connections(None)
    try:
        _Push(reference, connections, plain_http=plain_http).push(image)
    except RukPakError as error:
        raise type(error)(f"{reference} cannot be pushed: {error}") from error
    finally:
        connections.close()


class _Push:
    def __init__(self, reference: ImageReference, connections: Connections, *, plain_http: bool) -> None:
        self._tag = reference.tag
        self._client = RegistryClient(
            reference,
            credentials=credentials_for(reference),
            connections=connections,
            advice=_ADVICE,
            plain_http=plain_http,
        )

    def push(self, image: Image) -> None:
        self._client.demand_login()  # before anything is sent
        for blob in dict.fromkeys((*image.layers, image.config)):
            self._upload(blob)
        answer = self._ask("PUT", self._client.url(f"manifests/{self._tag}"), image.manifest)
        digest = answer.headers.get("Docker-Content-Digest", image.digest)
        if digest != image.digest:
            raise ContentError(f"the registry stored {digest} instead of {image.digest}")

    def _upload(self, blob: Blob) -> None:
        started = self._ask("POST", self._client.url("blobs/uploads/"))
        if not (location := started.headers.get("Location")):
            raise UnavailableError("the registry does not say where blobs go")
        target = joined_url(started.url, location, what="where the registry sends blobs to")
        joint = "&" if urlsplit(target).query else "?"
        self._ask("PUT", f"{target}{joint}digest={blob.digest}", Blob(media_type=_STREAM, data=blob.data))

    def _ask(self, method: str, url: str, blob: Blob | None = None) -> requests.Response:
        if urlsplit(url).scheme != self._client.prefix:
            raise UnavailableError(f"the registry sends uploads from {self._client.prefix} to {urlsplit(url).scheme}")
        headers = {"Content-Type": blob.media_type} if blob else {"Content-Length": "0"}
        answer = self._client.do_request(url, method, data=blob.data if blob else b"", headers=headers)
        return self._client.checked(answer)

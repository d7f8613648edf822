"""An image pushed to a registry: blobs first, and the manifest, byte for byte, at last.

Credentials go to the registry's own host, and to the token service that it names. Nothing goes from TLS to plain HTTP,
and no redirect is followed. A refused push is an AccessError that says which login.
"""

from typing import Final
from urllib.parse import urlsplit

from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.sources.image.build import Blob, Image
from rukpak_py.sources.image.client import Advice, RegistryClient
from rukpak_py.sources.image.credentials import credentials_for
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
        client = RegistryClient(
            reference,
            credentials=credentials_for(reference),
            connections=connections,
            advice=_ADVICE,
            plain_http=plain_http,
        )
        client.demand_login()  # before anything is sent
        for blob in dict.fromkeys((*image.layers, image.config)):
            _upload(blob, client)
        answer = client.put_manifest(reference.tag, image.manifest.data, image.manifest.media_type)
        digest = answer.headers.get("Docker-Content-Digest", image.digest)
        if digest != image.digest:
            raise ContentError(f"the registry stored {digest} instead of {image.digest}")
    except RukPakError as error:
        raise type(error)(f"{reference} cannot be pushed: {error}") from error
    finally:
        connections.close()


def _upload(blob: Blob, client: RegistryClient) -> None:
    started = client.start_upload()
    if not (location := started.headers.get("Location")):
        raise UnavailableError("the registry does not say where blobs go")
    target = joined_url(started.url, location, what="where the registry sends blobs to")
    if (scheme := urlsplit(target).scheme) != client.scheme:
        raise UnavailableError(f"the registry sends uploads from {client.scheme} to {scheme}")
    joint = "&" if urlsplit(target).query else "?"
    client.send("PUT", f"{target}{joint}digest={blob.digest}", blob.data, {"Content-Type": _STREAM})

"""An image pulled from its registry to a Tree: by reference to a manifest, and its layers as they stream by.

Everything is verified: the manifest by the digest that was asked for or that the registry announces, whatever it leads
to by the digest and size that name it, and unpacked layers by the digests in the image's configuration. Nothing of it
is on disk, and only kept paths are in memory. A blob that breaks off is read on from there.

Blocking: call it from threads. `abort` ends it from any other thread.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar
from urllib.parse import urlsplit

import requests

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import MIB, LimitError, Limits
from rukpak_py.sources.addresses import AddressPolicy, parse_networks
from rukpak_py.sources.image.client import Advice, NoTlsError, RegistryClient
from rukpak_py.sources.image.credentials import RegistryCredentials
from rukpak_py.sources.image.descriptors import Descriptor, Platform, check_digest, document, new_hash, verified
from rukpak_py.sources.image.layers import Keep, tree_of_image, unpacked
from rukpak_py.sources.image.layout import MOST_INDEXES, host_platform
from rukpak_py.sources.image.manifests import (
    MANIFEST_TYPES,
    Configuration,
    ImageDocument,
    image_for,
    layers_of,
    read_document,
)
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.image.transport import Connections
from rukpak_py.sources.image.unpack_methods import OutOfReachError
from rukpak_py.sources.urls import DEFAULT_PORTS

_MOST_READS: Final = 5  # of one blob, each from where the last one broke off
_PAUSE_SECONDS: Final = 0.5
_MOST_READ_ON: Final = 64 * MIB  # of a layer after its content was refused
T = TypeVar("T")
_LOOPBACK: Final = parse_networks("127.0.0.0/8,::1/128")


@dataclass(frozen=True, kw_only=True)
class PullOptions:
    """`plain_http`: registries, as references name them, that may do without TLS; those on loopback may anyway."""

    limits: Limits
    advice: Advice
    platform: Platform = field(default_factory=host_platform)
    addresses: AddressPolicy | None = None
    ca_bundle: str = ""
    plain_http: frozenset[str] = frozenset()


class ImagePull:
    """First `resolve`, then `tree`; `abort` in any case."""

    def __init__(self, reference: ImageReference, logins: Sequence[RegistryCredentials], options: PullOptions) -> None:
        """Of the logins the first that the registry takes is used; without any it is asked as by nobody."""
        self._reference = reference
        self._logins: Sequence[RegistryCredentials | None] = logins or (None,)
        self._options = options
        self._connections = Connections(_policy(reference, options))
        self._client = self._new_client(self._logins[0], plain_http=False)
        self._manifest = ImageDocument()
        self._diff_ids: Sequence[str] = ()
        self._reading: Iterator[bytes] = iter(())  # the layer

    def resolve(self) -> ImageReference:
        """The image by its digest, as a runtime shows it: where there is an index, that of the index."""
        return self._with_each_login(self._resolve)

    def check_access(self) -> None:
        """Ask for the manifest, and for nothing that it leads to: who may read it may have the image."""
        self._with_each_login(self._reach)

    def tree(self, keep: Keep) -> Tree:
        try:
            return tree_of_image(self._layers, keep=keep, limits=self._options.limits)
        except LimitError:
            raise
        except ContentError:
            self._read_on()
            raise

    def abort(self) -> None:
        """End it, whoever waits for what; it is of no use after that."""
        self._connections.abort()

    def _with_each_login(self, ask: Callable[[RegistryCredentials | None], T]) -> T:
        """The answer to the first that the registry takes."""
        _check_own_machine(self._reference, self._connections.addresses)
        failure: AccessError | None = None
        for login in self._logins:
            try:
                return ask(login)
            except AccessError as error:
                failure = failure or error
        raise failure or AccessError("there is no login for it")

    def _reach(self, login: RegistryCredentials | None) -> tuple[str, ImageDocument]:
        try:
            self._client = self._new_client(login, plain_http=False)
            return self._top()
        except NoTlsError:
            if not (self._reference.is_on_loopback or self._reference.registry in self._options.plain_http):
                raise
            self._client = self._new_client(login, plain_http=True)
            return self._top()

    def _resolve(self, login: RegistryCredentials | None) -> ImageReference:
        digest, found = self._reach(login)
        self._manifest = self._image(found)
        self._diff_ids = self._configured()
        return self._reference.at(digest)

    def _new_client(self, login: RegistryCredentials | None, *, plain_http: bool) -> RegistryClient:
        return RegistryClient(
            self._reference,
            credentials=login,
            connections=self._connections,
            advice=self._options.advice,
            ca_bundle=self._options.ca_bundle,
            plain_http=plain_http,
        )

    def _top(self) -> tuple[str, ImageDocument]:
        wanted = self._reference.digest
        data, answer = self._get(wanted or self._reference.tag)
        announced = answer.headers.get("Docker-Content-Digest", "").strip()
        digest = wanted or f"sha256:{hashlib.sha256(data).hexdigest()}"
        _check(data, digest)
        if announced.partition(":")[0] == digest.partition(":")[0]:
            _check(data, announced)
        return digest, self._document(data, answer)

    def _image(self, found: ImageDocument) -> ImageDocument:
        for _ in range(MOST_INDEXES):
            if found.manifests is None:
                return found
            chosen = image_for(found.manifests, self._options.platform)
            new_hash(chosen.digest)  # refuses what is not a digest
            data, answer = self._get(chosen.digest)
            for _chunk in verified([data], chosen, damaged=UnavailableError):
                pass
            found = self._document(data, answer)
        raise ContentError("the image's index leads from index to index and never to an image")

    def _get(self, name: str) -> tuple[bytes, requests.Response]:
        limits = self._options.limits
        answer = self._client.follow(self._client.url(f"manifests/{name}"), {"Accept": ", ".join(MANIFEST_TYPES)})
        data = self._client.body(answer, limits.image_manifest_bytes)
        if data is None:
            raise limits.exceeded("image_manifest_bytes", "the size of the image's manifest")
        if answer.headers.get("Content-Type", "").lower().startswith("text/html"):
            raise UnavailableError("the registry, or something before it, answers with a page and not with a manifest")
        return data, answer

    def _document(self, data: bytes, answer: requests.Response) -> ImageDocument:
        return read_document(data, answer.headers.get("Content-Type", ""), self._options.limits)

    def _configured(self) -> Sequence[str]:
        """The digests of the unpacked layers; what cannot be pulled is refused before content is asked for."""
        layers = layers_of(self._manifest, self._options.limits)
        config = self._manifest.config
        if config is None:
            raise ContentError("the image has no configuration")
        chunks = verified(self._blob(config), config, damaged=UnavailableError)
        digests = document("the image's configuration", chunks, Configuration, self._options.limits).rootfs.diff_ids
        if len(digests) != len(layers):
            raise ContentError(f"the image has {len(layers)} layers, and digests of {len(digests)}")
        return digests

    def _layers(self) -> Iterator[Iterator[bytes]]:
        limits = self._options.limits
        for layer, diff_id in zip(layers_of(self._manifest, limits), self._diff_ids, strict=True):
            self._reading = verified(self._blob(layer), layer, damaged=UnavailableError)
            yield unpacked(self._reading, diff_id, limits)

    def _read_on(self) -> None:
        """To the digest of the layer whose content was refused: what the registry has damaged is not the image's."""
        left = _MOST_READ_ON
        for piece in self._reading:
            left -= len(piece)
            if left < 0:
                return

    def _blob(self, blob: Descriptor) -> Iterator[bytes]:
        new_hash(blob.digest)  # refuses what is not a digest
        url = self._client.url(f"blobs/{blob.digest}")
        position = 0
        failure: UnavailableError | None = None
        for _ in range(_MOST_READS):
            answer = self._client.follow(url, {"Range": f"bytes={position}-"} if position else {})
            skipped = 0 if answer.status_code == 206 else position
            try:
                for chunk in self._client.chunks(answer):
                    rest = chunk[skipped:]
                    skipped -= len(chunk) - len(rest)
                    position += len(rest)
                    yield rest
                failure = None
            except UnavailableError as error:
                failure = error
            if position >= blob.size:
                return
            if self._connections.aborted.wait(_PAUSE_SECONDS):
                break
        raise failure or UnavailableError(f"blob {blob.digest} breaks off after {position} of {blob.size} bytes")


def _policy(reference: ImageReference, options: PullOptions) -> AddressPolicy | None:
    """A registry on loopback that the administrator named may be asked; nothing else is to lead there."""
    if options.addresses is None or not reference.is_on_loopback or reference.registry not in options.plain_http:
        return options.addresses
    return replace(options.addresses, allowed=(*options.addresses.allowed, *_LOOPBACK))


def _check_own_machine(reference: ImageReference, addresses: AddressPolicy | None) -> None:
    """On another machine the name may be a registry: for a node, say. So it is unreachable, and not wrong."""
    if addresses is None or not reference.is_on_loopback:
        return
    url = urlsplit(f"//{reference.registry}")
    address = "127.0.0.1" if url.hostname == "localhost" else url.hostname or ""
    others = replace(addresses, api_servers=frozenset())  # which is always wrong, and refused when it is connected to
    if refusal := others.refusal(address, url.port or DEFAULT_PORTS["https"], address):
        raise OutOfReachError(f"{refusal}, or --plain-http-registries the registry")


def _check(data: bytes, digest: str) -> None:
    found = new_hash(digest)
    found.update(data)
    check_digest(found, digest, UnavailableError)

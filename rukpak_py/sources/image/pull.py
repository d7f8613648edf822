"""An image pulled from its registry to files: by reference to a manifest, and its layers as they are.

Everything is verified while it arrives: the manifest by the digest that was asked for or that the registry announces,
and whatever it leads to by the digest and size that name it. What unpacked layers have to be is verified by who reads
them. In memory are chunks only, however many pulls there are. A blob that breaks off is read on from there.

Blocking: call it from threads. `abort` ends it from any other thread, and it ends by itself when its registry is too
slow (`Pace`).
"""

import hashlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import requests

from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy, parse_networks
from rukpak_py.sources.image.client import Advice, NoTlsError, RegistryClient
from rukpak_py.sources.image.credentials import RegistryCredentials
from rukpak_py.sources.image.descriptors import (
    CHART,
    Configuration,
    Descriptor,
    Platform,
    chart_archive_of,
    check_digest,
    document,
    is_chart,
    new_hash,
    verified,
)
from rukpak_py.sources.image.layer_files import LayerFile
from rukpak_py.sources.image.layout import MOST_INDEXES, host_platform
from rukpak_py.sources.image.manifests import (
    MANIFEST_TYPES,
    ImageDocument,
    image_for,
    layers_of,
    read_document,
)
from rukpak_py.sources.image.pace import Pace, TooSlowError
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.image.reference import ImageReference
from rukpak_py.sources.image.transport import Connections
from rukpak_py.sources.image.unpack_methods import OutOfReachError
from rukpak_py.sources.urls import DEFAULT_PORTS

_MOST_READS: Final = 5  # of one blob, each from where the last one broke off
_PAUSE_SECONDS: Final = 0.5
_LOOPBACK: Final = parse_networks("127.0.0.0/8,::1/128")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class PullOptions:
    """`plain_http`: registries, as references name them, that may do without TLS; those on loopback may anyway."""

    limits: Limits
    advice: Advice
    platform: Platform = field(default_factory=host_platform)
    addresses: AddressPolicy | None = None
    ca_bundle: str = ""
    plain_http: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layer:
    """The members that are needed of its descriptor, which may be large."""

    blob: Descriptor
    diff_id: str


class ImagePull:
    """First `resolve`, then `download`; `abort` in any case."""

    def __init__(
        self,
        reference: ImageReference,
        logins: Sequence[RegistryCredentials],
        options: PullOptions,
        files: ReceivedFiles,
    ) -> None:
        """Use the first of the logins that the registry takes; without any, ask it anonymously.

        `files`: where everything goes. The time of the pull begins now.
        """
        self._reference = reference
        self._logins: Sequence[RegistryCredentials | None] = logins or (None,)
        self._options = options
        self._files = files
        self._connections = Connections(_policy(reference, options))
        self._pace = self._connections.pace = Pace(options.limits, self._connections.aborted)
        self._client = self._new_client(self._logins[0], plain_http=False)
        self._layers: Sequence[_Layer] = ()
        self._chart: ImageDocument | None = None
        self.labels: Mapping[str, str] = {}  # of the configuration of what was resolved

    def resolve(self) -> ImageReference:
        """The image by its digest, as a runtime shows it: where there is an index, that of the index."""
        return self._with_each_login(self._resolve)

    def resolve_digest(self) -> ImageReference:
        """The same, of an image for any platform: only the manifest, or the index, is asked for."""
        digest, _ = self._with_each_login(self._reach)
        return self._reference.at(digest)

    @property
    def artifact_type(self) -> str:
        """The artifact type of what was resolved; empty: an image."""
        return CHART if self._chart is not None else ""

    def resolve_chart(self) -> ImageReference | None:
        """The same of a chart; None when it is an image, and nothing more is asked for."""
        return self._with_each_login(self._resolve_chart)

    def check_access(self) -> None:
        """Ask for the manifest, and for nothing that it leads to: who may read it may have the image."""
        self._with_each_login(self._reach)

    def download(self) -> Sequence[LayerFile]:
        """The layers, lowest first, or the archive of a chart, as long as the files are there."""
        if self._chart is not None:
            archive = chart_archive_of(self._chart, self._options.limits)
            self._layers = [_Layer(blob=Descriptor(digest=archive.digest, size=archive.size), diff_id="")]
        paths: dict[str, Path] = {}
        for layer in self._layers:
            if layer.blob.digest not in paths:
                paths[layer.blob.digest] = self._downloaded(layer.blob)
        self._files.settle()
        return [LayerFile(path=paths[layer.blob.digest], diff_id=layer.diff_id) for layer in self._layers]

    def abort(self) -> None:
        """End it, and each call that waits in it; it is of no use after that."""
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
        manifest = self._image(found)
        if is_chart(manifest):
            self._chart = manifest
        else:
            self._layers = self._configured(manifest)
        return self._reference.at(digest)

    def _resolve_chart(self, login: RegistryCredentials | None) -> ImageReference | None:
        digest, found = self._reach(login)
        manifest = self._image(found)
        if not is_chart(manifest):
            return None
        self._chart = manifest
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

        def read(data: bytes, answer: requests.Response) -> tuple[str, ImageDocument]:
            announced = answer.headers.get("Docker-Content-Digest", "").strip()
            digest = wanted or f"sha256:{hashlib.sha256(data).hexdigest()}"
            _check(data, digest)
            if announced.partition(":")[0] == digest.partition(":")[0]:
                _check(data, announced)
            return digest, self._document(data, answer)

        return self._get(wanted or self._reference.tag, read)

    def _image(self, found: ImageDocument) -> ImageDocument:
        for _ in range(MOST_INDEXES):
            if found.manifests is None:
                return found
            chosen = image_for(found.manifests, self._options.platform)
            new_hash(chosen.digest)  # refuses what is not a digest
            found = self._get(chosen.digest, partial(self._chosen, chosen))
        raise ContentError("the image's index leads from index to index and never to an image")

    def _chosen(self, descriptor: Descriptor, data: bytes, answer: requests.Response) -> ImageDocument:
        for _chunk in verified([data], descriptor, damaged=UnavailableError):
            pass
        return self._document(data, answer)

    def _get(self, name: str, read: Callable[[bytes, requests.Response], T]) -> T:
        limits = self._options.limits
        self._pace.begin()
        with self._client.manifest(name, MANIFEST_TYPES) as answer:
            if answer.headers.get("Content-Type", "").lower().startswith("text/html"):
                raise UnavailableError(
                    "the registry, or something before it, answers with a page and not with a manifest"
                )
            chunks = self._client.chunks(answer)
            found = self._files.document(chunks, limits.image_manifest_bytes, lambda data: read(data, answer))
        if found is None:
            raise limits.exceeded("image_manifest_bytes", "the size of the image's manifest")
        return found

    def _document(self, data: bytes, answer: requests.Response) -> ImageDocument:
        return read_document(data, answer.headers.get("Content-Type", ""), self._options.limits)

    def _configured(self, manifest: ImageDocument) -> Sequence[_Layer]:
        """The layers; what cannot be pulled is refused before content is asked for."""
        limits = self._options.limits
        layers = layers_of(manifest, limits)
        if manifest.config is None:
            raise ContentError("the image has no configuration")
        for layer in layers:
            new_hash(layer.digest)  # refuses what is not a digest
        configuration = self._configuration(manifest.config)
        self.labels, digests = configuration.labels, configuration.rootfs.diff_ids
        if len(digests) != len(layers):
            raise ContentError(f"the image has {len(layers)} layers, and digests of {len(digests)}")
        return [
            _Layer(blob=Descriptor(digest=layer.digest, size=layer.size), diff_id=diff_id)
            for layer, diff_id in zip(layers, digests, strict=True)
        ]

    def _configuration(self, config: Descriptor) -> Configuration:
        """The digests of the unpacked layers, and the labels."""
        limits = self._options.limits
        what = "the image's configuration"
        with closing(self._blob(config, is_layer=False)) as chunks:
            found = self._files.document(
                verified(chunks, config, damaged=UnavailableError),
                limits.image_manifest_bytes,
                lambda data: document(what, [data], Configuration, limits),
            )
        if found is None:
            raise limits.exceeded("image_manifest_bytes", f"the size of {what}")
        return found

    def _downloaded(self, blob: Descriptor) -> Path:
        file = self._files.file()
        with closing(self._blob(blob, is_layer=True)) as chunks:
            for chunk in verified(chunks, blob, damaged=UnavailableError):
                file.write(chunk)
        file.complete()
        return file.path

    def _blob(self, blob: Descriptor, *, is_layer: bool) -> Generator[bytes, None, None]:
        """Close it: what is not read to its end has a connection, which would be open until the error is forgotten."""
        new_hash(blob.digest)  # refuses what is not a digest
        self._pace.begin()
        position = 0
        failure: UnavailableError | None = None
        for _ in range(_MOST_READS):
            answer = self._client.blob(blob.digest, position)
            skipped = 0 if answer.status_code == 206 else position
            if is_layer:
                self._pace.read_layer()
            try:
                with answer:
                    for chunk in self._client.chunks(answer):
                        rest = chunk[skipped:]
                        skipped -= len(chunk) - len(rest)
                        position += len(rest)
                        yield rest
                failure = None
            except TooSlowError:
                raise
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
    """Raise the error of an unreachable registry, not of a wrong name: on a node the name may be a registry."""
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

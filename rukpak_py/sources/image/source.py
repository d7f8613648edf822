"""Content of an image, straight from its registry.

Threads download the layers to temporary files, and a worker process reads them. Only then the fetch takes a place of
the content budget: a registry that takes its time holds a thread, and a place in its own lane.

A reference by digest that was unpacked before costs no request, where the Bundle or its deployment has proved access
to the image. One that has not asks the registry for the manifest first, with its own logins: what is stored is handed
out when the registry answers with it, and in no other case. Pull secrets are the Bundle's own, then those of the
service account, as for a pod: one that is missing or broken is no failure by itself, but is told when the registry
refuses. What blocks runs in threads of its own, so that registries that hang delay no others; a job that is cancelled
ends its connections, and removes its files.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.layer_files import LayerFile, read_chart, read_layers
from rukpak_py.sources.image.layout import host_platform
from rukpak_py.sources.image.received_files import ReceivedFiles, receiving
from rukpak_py.sources.image.reference import PLAIN_HTTP_VARIABLE, ImageReference, parse_image
from rukpak_py.sources.image.unpack_methods import ImageNotFoundError, ImageQuestion, NoChartError, retold
from rukpak_py.sources.logins import Logins, OwnSecretError, Recipient
from rukpak_py.sources.source import Fetched, FetchRequest, PullSecrets, UnpackedImages, Workers
from rukpak_py.sources.spool import Spool

if TYPE_CHECKING:
    from rukpak_py.sources.image.credentials import Keychain
    from rukpak_py.sources.image.pull import ImagePull

_THREADS: Final = 256  # most of them wait, eight for a host that hangs; each holds some chunks
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ImagePorts:
    logins: Logins
    pull_secrets: PullSecrets
    unpacked: UnpackedImages


@dataclass(frozen=True, kw_only=True)
class ImageLogins:
    """The logins for an image, as the Secrets are now.

    `own_notes`, `notes`: what is wrong with the Bundle's own pull secret, and with those of the service account.
    """

    question: ImageQuestion
    keychain: "Keychain" = field(repr=False)
    own_notes: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Pulled:
    reference: ImageReference  # by digest
    layers: Sequence[LayerFile]
    artifact_type: str


class ImageFetcher:
    def __init__(
        self,
        ports: ImagePorts,
        *,
        addresses: AddressPolicy,
        plain_http: frozenset[str],
        limits: Limits,
        workers: Workers,
        spool: Spool,
        platform: Platform | None = None,
    ) -> None:
        """`platform`: of images for several; without it that of this process."""
        self._ports = ports
        self._addresses = addresses
        self._plain_http = plain_http
        self._limits = limits
        self._workers = workers
        self._spool = spool
        self._platform = platform or host_platform()
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="image")

    def lane(self, source: Source) -> str:
        try:
            return _reference(source)[1].registry
        except ContentError:
            return SourceType.IMAGE

    async def fetch(self, request: FetchRequest) -> Fetched:
        if (known := await self.unpacked_before(request)) is not None:
            return known
        return await self.pull(request, await self.logins(request))

    async def pull(self, request: FetchRequest, logins: ImageLogins, *, charts_only: bool = False) -> Fetched:
        """Ask the registry, whatever is stored. `charts_only`: NoChartError for what is an image, or may be one."""
        _, reference = _reference(request.source)
        try:
            async with receiving(self._spool) as files:
                found = await self._download(request, logins.keychain, files, charts_only=charts_only)
                if isinstance(found, Fetched):
                    return found
                await request.content_arrives()
                tree = await self._read(found, request.provisioner_class)
        except NoChartError:
            raise
        except RukPakError as error:
            # The cause first: a line of a condition has no room for both where names are long.
            cause = str(error)
            if isinstance(error, AccessError | ImageNotFoundError):  # a registry may hide what a login would show
                cause = "; ".join([*logins.own_notes, cause, *logins.notes])
            raise retold(error, f"{cause} (image {reference})", brief=cause) from error
        return Fetched(tree=tree, resolved=_resolved(found.reference), artifact_type=found.artifact_type)

    async def _read(self, pulled: "_Pulled", class_name: str) -> Tree:
        if pulled.artifact_type:
            return await self._workers.run(read_chart, pulled.layers, self._limits)
        return await self._workers.run(read_layers, pulled.layers, class_name, self._limits)

    async def unpacked_before(self, request: FetchRequest) -> Fetched | None:
        """The stored content of a reference by digest, if this Bundle has proved access. Makes no request."""
        _, reference = _reference(request.source)
        if not reference.digest:
            return None
        found = await self._ports.unpacked.find(request.access_to(str(reference)))
        if found is None:
            return None
        return Fetched(tree=found.tree, resolved=_resolved(reference), artifact_type=found.artifact_type)

    async def _proved_now(self, request: FetchRequest, pull: "ImagePull") -> Fetched | None:
        """The stored content of a reference by digest, after the registry let this Bundle read the manifest.

        The registry's refusal, or its silence, is raised.
        """
        _, reference = _reference(request.source)
        access = request.access_to(str(reference))
        if not reference.digest or not await self._ports.unpacked.is_stored(access):
            return None
        await self._in_thread(pull.check_access)
        await self._ports.unpacked.prove(access)
        return await self.unpacked_before(request)

    async def _download(
        self, request: FetchRequest, keychain: "Keychain", files: ReceivedFiles, *, charts_only: bool
    ) -> "Fetched | _Pulled":
        """Return the stored content, or the image by its digest and its layers."""
        spec, reference = _reference(request.source)
        pull: ImagePull | None = None
        try:
            pull = await self._in_thread(lambda: self._pull(spec, reference, keychain, files))
            if not charts_only and (known := await self._proved_now(request, pull)) is not None:
                return known
            resolved = await self._resolve_chart(pull) if charts_only else await self._in_thread(pull.resolve)
            layers = await self._in_thread(pull.download)
            return _Pulled(reference=resolved, layers=layers, artifact_type=pull.artifact_type)
        finally:
            if pull is not None:
                pull.abort()  # a thread may still wait

    async def _resolve_chart(self, pull: "ImagePull") -> ImageReference:
        try:
            resolved = await self._in_thread(pull.resolve_chart)
        except RukPakError as error:
            raise NoChartError("the registry does not say what it is", cause=error) from error
        if resolved is None:
            raise NoChartError("it is an image")
        return resolved

    def _pull(
        self, spec: ImageSpec, reference: ImageReference, keychain: "Keychain", files: ReceivedFiles
    ) -> "ImagePull":
        """The client is large, and loaded only where images are pulled."""
        from rukpak_py.sources.image.client import Advice  # noqa: PLC0415 - see above
        from rukpak_py.sources.image.pull import ImagePull, PullOptions  # noqa: PLC0415 - see above

        advice = Advice(
            login=_login_advice(spec.pull_secret),
            certificate="spec.source.image.caBundle names authorities that are trusted",
            no_tls=f"--plain-http-registries ({PLAIN_HTTP_VARIABLE}) names registries that are asked without TLS",
        )
        options = PullOptions(
            limits=self._limits,
            advice=advice,
            platform=self._platform,
            addresses=self._addresses,
            ca_bundle=spec.ca_bundle,
            plain_http=self._plain_http,
        )
        return ImagePull(reference, keychain.for_image(reference), options, files)

    async def logins(self, request: FetchRequest) -> ImageLogins:
        """Read the logins, without a request to the registry."""
        from rukpak_py.sources.image.credentials import Keychain  # noqa: PLC0415 - see _pull

        spec, reference = _reference(request.source)
        keychain = Keychain()
        versions: list[tuple[str, str]] = []
        notes: dict[str, str] = {}
        recipient = Recipient(scheme="https", host=reference.host, port=reference.port)
        names = [spec.pull_secret] if spec.pull_secret else []
        for name in dict.fromkeys([*names, *await self._ports.pull_secrets.names()]):
            try:
                secret = await self._ports.logins.for_registry(name, recipient, request)
            except (OwnSecretError, UnavailableError, AccessError) as error:
                if isinstance(error, OwnSecretError) and name == spec.pull_secret:
                    raise
                notes[name] = str(error)
                versions.append((name, notes[name]))
                continue
            versions.append((name, secret.version))
            try:
                keychain.add_secret(secret.data)
            except AccessError as error:
                notes[name] = f"Secret {name} is not a pull secret: {error}"
        question = ImageQuestion(ref=str(reference), ca_bundle=spec.ca_bundle, logins=tuple(versions))
        own = tuple(note for name, note in notes.items() if name == spec.pull_secret)
        others = tuple(note for name, note in notes.items() if name != spec.pull_secret)
        return ImageLogins(question=question, keychain=keychain, own_notes=own, notes=others)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.threads, copy_context().run, work)


def _reference(source: Source) -> tuple[ImageSpec, ImageReference]:
    if source.image is None:
        raise ContentError("bundle source image configuration is unset")
    return source.image, parse_image(source.image.ref)


def _resolved(reference: ImageReference) -> Source:
    """The pull secret is not part of it, as in the original."""
    return Source(type=SourceType.IMAGE, image=ImageSpec(ref=str(reference)))


def _login_advice(pull_secret: str) -> str:
    if pull_secret:
        return f"Secret {pull_secret} (spec.source.image.pullSecret) needs a login for it"
    return "Name a Secret with a login in spec.source.image.pullSecret"

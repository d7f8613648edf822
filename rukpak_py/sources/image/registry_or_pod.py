"""The image source of the cluster: straight from the registry or by an unpack pod, as the setting says."""

from collections.abc import Callable
from dataclasses import dataclass

from rukpak_py.api.source import ImageSource as ImageSpec
from rukpak_py.api.source import Source
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.image.pod import UnpackPods
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.image.reference import ImageReference, parse_image
from rukpak_py.sources.image.source import ImageFetcher, ImagePorts
from rukpak_py.sources.image.unpack_methods import ImageUnpack, OutOfReachError, PodFallbacks, may_help
from rukpak_py.sources.ports import Pods, Workers
from rukpak_py.sources.source import Fetched, FetchRequest, Waiting
from rukpak_py.sources.spool import Spool

Tell = Callable[[FetchRequest, str], None]


@dataclass(frozen=True, kw_only=True)
class ImageUnpackConfig:
    """How images are unpacked in this cluster. `tell` is called when a pod is made because a registry was of no use."""

    way: ImageUnpack
    pods: Pods
    settings: PodSettings
    tell: Tell


def image_source(
    ports: ImagePorts,
    unpacking: ImageUnpackConfig,
    *,
    addresses: AddressPolicy,
    plain_http: frozenset[str],
    limits: Limits,
    workers: Workers,
    spool: Spool,
) -> "RegistryOrPod":
    platform = unpacking.settings.platform
    direct = ImageFetcher(
        ports,
        addresses=addresses,
        plain_http=plain_http,
        limits=limits,
        workers=workers,
        spool=spool,
        platform=platform,
    )
    pods = UnpackPods(
        unpacking.pods,
        ports.logins,
        unpacking.settings,
        limits=limits,
        workers=workers,
        spool=spool,
    )
    return RegistryOrPod(direct, pods, unpacking.way, tell=unpacking.tell)


class RegistryOrPod:
    def __init__(
        self,
        direct: ImageFetcher,
        pods: UnpackPods,
        setting: ImageUnpack,
        *,
        tell: Tell,
        ways: PodFallbacks | None = None,
    ) -> None:
        self._direct = direct
        self._pods = pods
        self._setting = setting
        self._emit = tell
        self._ways = ways or PodFallbacks()

    def lane(self, source: Source) -> str:
        return self._direct.lane(source)

    async def fetch(self, request: FetchRequest) -> Fetched | Waiting:
        match self._setting:
            case ImageUnpack.DIRECT:
                return await self._direct.fetch(request)
            case ImageUnpack.POD:
                return await self._by_pod(request)
            case ImageUnpack.AUTO:
                return await self._auto(request)

    async def clean_up(self, bundle: str, uid: str, source: Source) -> None:
        """The content is stored: what becomes of the pod that it came from."""
        if source.image is not None and self._setting is not ImageUnpack.DIRECT:
            await self._pods.clean_up(bundle, uid, source.image, always=self._setting is ImageUnpack.POD)

    async def _by_pod(self, request: FetchRequest) -> Fetched | Waiting:
        spec, _ = _spec_of(request)
        if not self._pods.keeps and (known := await self._direct.unpacked_before(request)) is not None:
            return known
        return await self._pods.fetch(request, spec)

    async def _auto(self, request: FetchRequest) -> Fetched | Waiting:
        spec, reference = _spec_of(request)
        cause = self._ways.cause(reference.registry) or self._ways.cause(_image_of(spec))
        if cause is None:
            try:
                return await self._direct.fetch(request)
            except RukPakError as error:
                await self._must_be_tried_otherwise(error)
                cause = str(error)
                # What the registry says of one image, or to one login, says nothing of the others.
                self._ways.remember(_image_of(spec) if isinstance(error, AccessError) else reference.registry, cause)
        elif (known := await self._direct.unpacked_before(request)) is not None:
            return known
        return await self._instead(request, spec, reference, cause)

    async def _must_be_tried_otherwise(self, error: RukPakError) -> None:
        """Raises the error where a pod is no help."""
        if not may_help(error):
            raise error
        obstacle = await self._pods.obstacle()
        if not obstacle:
            return
        text = f"{error}; no unpack pod can be tried: {obstacle}"
        if isinstance(error, UnavailableError):
            raise OutOfReachError(text, retry_after=error.retry_after) from error
        raise AccessError(text) from error

    async def _instead(
        self, request: FetchRequest, spec: ImageSpec, reference: ImageReference, cause: str
    ) -> Fetched | Waiting:
        had_pod = self._pods.is_there(request.bundle)
        try:
            found = await self._pods.fetch(request, spec)
        except AccessError as error:
            self._ways.forget(reference.registry, _image_of(spec))
            raise AccessError(f"{cause}; {error}") from error
        if not had_pod and isinstance(found, Waiting):
            self._emit(request, f"Unpacking {spec.ref} by a pod, because {cause}")
        if isinstance(found, Waiting) and found.message and not found.is_about_image:
            return Waiting(message=f"{found.message}; {cause}")
        return found


def _image_of(spec: ImageSpec) -> str:
    """What the registry was asked for, and with which login."""
    return f"{spec.ref} {spec.pull_secret}"


def _spec_of(request: FetchRequest) -> tuple[ImageSpec, ImageReference]:
    if request.source.image is None:
        raise ContentError("bundle source image configuration is unset")
    return request.source.image, parse_image(request.source.image.ref)

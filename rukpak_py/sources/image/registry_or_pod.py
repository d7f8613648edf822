"""The image source of the cluster: straight from the registry or by an unpack pod, as the setting says."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rukpak_py.api.names import HELM_CLASS, canonical_class
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.image.pod import UnpackPods
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.image.reference import ImageReference, parse_image
from rukpak_py.sources.image.source import ImageFetcher, ImagePorts
from rukpak_py.sources.image.unpack_methods import (
    ASKED_AGAIN_SECONDS,
    OUT_OF_REACH_SECONDS,
    Fallback,
    ImageNotFoundError,
    ImageQuestion,
    ImageUnpack,
    NoChartError,
    OutOfReachError,
    PodFallbacks,
    may_help,
    retold,
)
from rukpak_py.sources.source import DirectAnswer, DirectFailure, Fetched, Fetcher, FetchRequest, Pods, Waiting, Workers
from rukpak_py.sources.spool import Spool

Tell = Callable[[FetchRequest, str], None]


@dataclass(frozen=True, kw_only=True)
class ImageUnpackConfig:
    """Settings for unpacking images. `tell` is called when a pod is made because a registry was of no use."""

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


class RegistryOrPod(Fetcher):
    def __init__(
        self,
        direct: ImageFetcher,
        pods: UnpackPods,
        setting: ImageUnpack,
        *,
        tell: Tell,
        fallbacks: PodFallbacks | None = None,
    ) -> None:
        self._direct = direct
        self._pods = pods
        self._setting = setting
        self._emit = tell
        self._fallbacks = fallbacks or PodFallbacks()

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
        spec, reference = _spec_of(request)
        known = await self._direct.unpacked_before(request)
        if known is not None and (known.artifact_type or not self._pods.keeps):
            return known
        if (chart := await self._chart(request, reference)) is not None:
            return chart
        return await self._pods.fetch(request, spec)

    async def _chart(self, request: FetchRequest, reference: ImageReference) -> Fetched | None:
        """The chart, which no pod can unpack. None: it is an image, or may be one."""
        if canonical_class(request.provisioner_class) != HELM_CLASS or self._pods.is_there(request.bundle):
            return None
        logins = await self._direct.logins(request)
        if self._fallbacks.find(reference.registry) or self._fallbacks.find(logins.question):
            return None
        try:
            return await self._direct.pull(request, logins, charts_only=True)
        except NoChartError as error:
            if error.cause is not None:
                self._remember(error.cause, reference.registry, logins.question)
            return None

    async def _auto(self, request: FetchRequest) -> Fetched | Waiting:
        """Each retry asks the registry again; what happens to the pod in between does not."""
        spec, reference = _spec_of(request)
        if (known := await self._direct.unpacked_before(request)) is not None:
            return known
        if (fallback := self._fallbacks.find(reference.registry)) is not None:
            return await self._by_pod_because(fallback, request, spec)
        logins = await self._direct.logins(request)
        fallback = self._fallbacks.find(logins.question)
        if fallback is None:
            try:
                return await self._direct.pull(request, logins)
            except RukPakError as error:
                await self._must_be_tried_otherwise(error, request.bundle)
                fallback = self._remember(error, reference.registry, logins.question)
        return await self._by_pod_because(fallback, request, spec)

    async def _must_be_tried_otherwise(self, error: RukPakError, bundle: str) -> None:
        """Raises the error where a pod is no help. One that is there goes on, whatever passes at the registry."""
        if isinstance(error, UnavailableError) and self._pods.is_there(bundle):
            return
        if not may_help(error):
            raise error
        if obstacle := await self._pods.obstacle():
            why = f"; no unpack pod can be tried: {obstacle}"
            raise retold(error, f"{error}{why}", brief=f"{error.brief or error}{why}") from error

    def _remember(self, error: RukPakError, registry: str, question: ImageQuestion) -> Fallback:
        failure = _direct_failure(error)
        if isinstance(error, OutOfReachError):
            return self._fallbacks.remember(registry, failure, OUT_OF_REACH_SECONDS)
        return self._fallbacks.remember(question, failure, ASKED_AGAIN_SECONDS, at_least=error.retry_after)

    async def _by_pod_because(self, fallback: Fallback, request: FetchRequest, spec: ImageSpec) -> Fetched | Waiting:
        failure, had_pod = fallback.failure, self._pods.is_there(request.bundle)
        try:
            found = await self._pods.fetch(request, spec)
        except ContentError:  # the node has the image, and its content is wrong
            raise
        except RukPakError as error:
            if isinstance(error, AccessError) or isinstance(fallback.about, ImageQuestion):
                self._fallbacks.forget(fallback)
            raise retold(error, f"{failure.message}; {error}", brief=f"{failure.brief}; {error}") from error
        if isinstance(found, Fetched):
            return found
        if not had_pod:
            self._emit(request, f"Unpacking {spec.ref} by a pod, because {failure.brief}")
        return replace(found, direct=failure)


def _direct_failure(error: RukPakError) -> DirectFailure:
    match error:
        case AccessError():
            answer = DirectAnswer.DENIED
        case ImageNotFoundError():
            answer = DirectAnswer.NOT_FOUND
        case _:
            answer = DirectAnswer.UNUSABLE
    return DirectFailure(answer=answer, message=str(error), brief=error.brief or str(error))


def _spec_of(request: FetchRequest) -> tuple[ImageSpec, ImageReference]:
    if request.source.image is None:
        raise ContentError("bundle source image configuration is unset")
    return request.source.image, parse_image(request.source.image.ref)

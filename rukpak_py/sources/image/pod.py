"""Content of an image by an unpack pod: the node pulls it, with its own credentials, mirrors and side-loaded images.

Level-triggered: each `fetch` looks at the pod as it is, does the next step, and answers `Waiting` until the content can
be read; what happens to the pod brings the Bundle back. So nothing is held while a node pulls, and another process goes
on where this one ended. A pod that failed is deleted, and made again only after a pause that doubles each time. Once
the content is stored, `clean_up` deletes the pod, or lets it end and makes it again when a user deletes it.
"""

from contextlib import suppress
from typing import Final

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.core.errors import AccessError, ConflictError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.pod_content import PodContent
from rukpak_py.sources.image.pod_manifest import CONTAINER, FINISH, PodSettings, WantedPod
from rukpak_py.sources.image.pod_state import (
    Pod,
    PodFailures,
    PodSituation,
    failure_message,
    is_pulling,
    read_pod,
    situation,
    waiting_brief,
    waiting_message,
)
from rukpak_py.sources.image.received_files import receiving
from rukpak_py.sources.image.reference import is_digest, parse_image
from rukpak_py.sources.logins import Logins
from rukpak_py.sources.source import Fetched, FetchRequest, Pods, Waiting, Workers
from rukpak_py.sources.spool import Spool

_NOT_READABLE: Final = "Permission denied"  # as the tool says it


class UnpackPods:
    def __init__(
        self,
        pods: Pods,
        logins: Logins,
        settings: PodSettings,
        *,
        limits: Limits,
        workers: Workers,
        spool: Spool,
    ) -> None:
        self._pods = pods
        self._logins = logins
        self._settings = settings
        self._limits = limits
        self._workers = workers
        self._spool = spool
        self._failures = PodFailures()
        self._ending: set[str] = set()  # uids of pods that were told to end, and still run

    @property
    def keeps(self) -> bool:
        """Whether pods stay."""
        return self._settings.keep

    async def obstacle(self) -> str:
        """The reason that pods cannot be used in this cluster; empty when nothing is known against them."""
        try:
            await self._pods.watch()
        except UnavailableError as error:
            return str(error)
        return await self._pods.obstacle()

    def is_there(self, bundle: str) -> bool:
        """Whether the Bundle has a pod already."""
        return self._pods.get(bundle) is not None

    async def fetch(self, request: FetchRequest, spec: ImageSpec) -> Fetched | Waiting:
        await self._pods.watch()
        wanted = WantedPod(bundle=request.bundle, uid=request.uid, ref=spec.ref, pull_secret=spec.pull_secret)
        json = self._pods.get(request.bundle)
        pod = read_pod(json) if json is not None else None
        match situation(pod, request.uid, wanted.digests(self._settings)), pod:
            case PodSituation.ABSENT, _:
                if spec.pull_secret:
                    with suppress(UnavailableError):  # the kubelet pulls without it, if it can
                        await self._logins.check_pull_secret(spec.pull_secret)
                return await self._create(wanted)
            case ((PodSituation.OUTDATED | PodSituation.SUCCEEDED), Pod()):
                await self._pods.delete(request.bundle, pod.uid)
                return Waiting()
            case PodSituation.LEAVING, _:
                return Waiting()
            case PodSituation.FOREIGN, _:
                raise _foreign(request.bundle)
            case PodSituation.PENDING, Pod():
                return await self._held_up(pod, spec)
            case PodSituation.RUNNING, Pod():
                return await self._read(request, spec, pod)
            case PodSituation.FAILED, Pod():
                await self._pods.delete(wanted.bundle, pod.uid)
                raise self._failures.failed(wanted.uid, failure_message(pod))
            case _:
                raise AssertionError("a pod that is there is in one of the situations above")

    async def clean_up(self, bundle: str, uid: str, spec: ImageSpec, *, always: bool) -> None:
        """The content is stored: what becomes of the pod. `always`: one that is kept belongs to every Bundle."""
        json = self._pods.get(bundle)
        if json is None:
            is_missed = self._pods.is_in_step() and (always or self._pods.was_deleted(bundle, uid))
            if self._settings.keep and is_missed:
                await self._create(WantedPod(bundle=bundle, uid=uid, ref=spec.ref, pull_secret=spec.pull_secret))
            return
        pod = read_pod(json)
        if pod.owner.uid != uid or pod.metadata.deletion_timestamp:
            return
        if not self._settings.keep:
            await self._pods.delete(bundle, pod.uid)
        elif not pod.is_running:
            self._ending.discard(pod.uid)
        elif pod.uid not in self._ending:
            async for _ in self._pods.run(bundle, CONTAINER, FINISH):
                pass
            self._ending.add(pod.uid)

    async def _create(self, wanted: WantedPod) -> Waiting:
        self._failures.check(wanted.uid)
        as_root = self._failures.needs_root(wanted.uid)
        try:
            is_new = await self._pods.create(wanted.manifest(self._settings, as_root=as_root))
        except AccessError as error:
            why = "; root is needed to read files of the image" if as_root else ""
            raise AccessError(f"the unpack pod is refused: {error}{why}") from error
        claim = None if is_new else await self._pods.claim(wanted.bundle)
        if claim is not None and claim.owner != wanted.uid:
            raise _foreign(wanted.bundle)
        if claim is not None and not claim.is_watched:  # its label was removed: nothing that happens to it is seen
            await self._pods.delete(wanted.bundle, claim.uid)
            return Waiting(message="the unpack pod has lost its label and is replaced")
        return Waiting()

    async def _held_up(self, pod: Pod, spec: ImageSpec) -> Waiting:
        """The kubelet says that it cannot pull, but not that a Secret is missing."""
        message, brief = waiting_message(pod), waiting_brief(pod)
        if not message or not spec.pull_secret or not is_pulling(pod):
            return Waiting(message=message, brief=brief)
        try:
            await self._logins.check_pull_secret(spec.pull_secret)
        except UnavailableError as error:
            return Waiting(message=f"{message}; {error}", brief=f"{error}; {brief}")
        return Waiting(message=message, brief=brief)

    async def _read(self, request: FetchRequest, spec: ImageSpec, pod: Pod) -> Fetched | Waiting:
        try:
            async with receiving(self._spool) as files:
                content = PodContent(
                    lambda command, end: self._pods.run(request.bundle, CONTAINER, command, end=end),
                    files,
                    self._workers,
                    class_name=request.provisioner_class,
                    limits=self._limits,
                )
                tree = await content.tree(request.content_arrives)
        except UnavailableError as error:
            if _NOT_READABLE not in str(error):
                raise
            if pod.is_root:
                raise AccessError(f"files of the image cannot be read, not even as root: {error}") from error
            self._failures.wants_root(request.uid)
            await self._pods.delete(request.bundle, pod.uid)
            return Waiting()
        self._failures.forget(request.uid)
        return Fetched(tree=tree, resolved=resolved_source(spec, pod.image_id))


def resolved_source(spec: ImageSpec, image_id: str) -> Source:
    """The image by its digest; as the spec has it where the node knows only an id, of an image that was loaded into it.

    A node that has the image from several repositories tells just one of them. The digest is that of the image all the
    same, and the repository that was asked for is the one whose credentials are known.
    """
    given = parse_image(spec.ref)
    _, _, digest = image_id.rpartition("@")
    found = given.at(digest) if "@" in image_id and is_digest(digest) else given
    return Source(type=SourceType.IMAGE, image=ImageSpec(ref=str(found)))


def _foreign(name: str) -> ConflictError:
    return ConflictError(
        f"pod {name} of the operator's namespace has the name of the unpack pod and is not managed by this Bundle: "
        "delete it, or create the Bundle with another name"
    )

"""The job of a Bundle: fetch, check, store. One step after the other; each has its own prefix in the message.

What keeps it from being unpacked is a fact; what follows from that says the table of causes.

An upload that arrives while a job runs makes the job's result outdated. Results are taken and recorded, and uploads
are stored, in the Bundle's turn: an upload is part of what is recorded, or it comes after it.

A Bundle that was deleted and made again while its content is installed is new, and has neither record nor status. Its
deployment knows what is installed: it is fetched as it was resolved then, and nothing else is accepted.

Content that the deployment had before, from the same pinned source, comes from the store: a server that is gone does
not keep a deployment from going back. A template may name its content by digest, and gets no other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from rukpak_py.api.bundle import Bundle, pinned_source
from rukpak_py.api.bundle_deployment import Installation
from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.template_hash import spec_digest
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.bundle.owners import FormerContent
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.jobs import ContentBudget, Jobs, KeyedLock
from rukpak_py.controllers.ports import Content, Records, Sources
from rukpak_py.controllers.result.bundle_details import ContentPending, InstalledContentGone
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import FETCH_ERRORS
from rukpak_py.controllers.result.progress import Fact, Words
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.findings import InvalidBundleError, advised
from rukpak_py.core.metrics import FETCH_SECONDS
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.manifests import MANIFESTS, advice_on_lone_manifest, manifests_at_root
from rukpak_py.sources.source import ContentPendingError, DirectAnswer, Fetched, FetchRequest, Waiting

LOG = logging.getLogger(__name__)
UNPACK_SECONDS = 900.0
PERSIST = "persist bundle content: "
ALL_DEFECTS = "rukpakctl bundle validate lists all"


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    digest: str
    resolved: Source
    artifact_type: str = ""


@dataclass(frozen=True, kw_only=True)
class ImageAwaited:
    """A node pulls the image. `direct`: why the operator did not; `pod`: what is known of the node's attempt."""

    pod: Fact
    direct: Fact | None = None

    @property
    def is_refused(self) -> bool:
        """The registry said no, and the node may only get what it refuses in a way of its own."""
        return self.direct is not None and self.direct.row.later is not None


Result = Unpacked | ImageAwaited | Fact
_DIRECT_CAUSES: Mapping[DirectAnswer, Cause] = {
    DirectAnswer.DENIED: Cause.IMAGE_DENIED,
    DirectAnswer.NOT_FOUND: Cause.IMAGE_NOT_FOUND,
    DirectAnswer.UNUSABLE: Cause.REGISTRY_UNUSABLE,
}


class UnpackJobs:
    """Jobs that unpack: at most one for each Bundle, in the lane of its source."""

    def __init__(
        self,
        sources: Sources,
        content: Content,
        *,
        records: Records,
        states: BundleStates,
        deployment_class: Callable[[Bundle], str],
        deployment_uid: Callable[[Bundle], str],
        installed_as: Callable[[Bundle], Awaitable[Installation | None]],
        on_end: Callable[[str], None],
        formerly: Callable[[Bundle], Awaitable[FormerContent | None]] | None = None,
        budget: ContentBudget | None = None,
    ) -> None:
        """`deployment_class`: of the deployment that controls a Bundle, which decides what its content has to be.

        `deployment_uid`: of the one whose template the Bundle is of; empty: there is none.

        `installed_as`: what the deployment of a Bundle has installed by the name of the Bundle.

        `formerly`: content that the deployment of a Bundle had before, and that the Bundle asks for.

        `on_end` is called with the name of the Bundle. `budget`: shared with others who hold content in memory.
        """
        self.turns = KeyedLock()  # by uid
        self.deployment_uid = deployment_uid
        self._deployment_class = deployment_class
        self._installed_as = installed_as
        self._formerly = formerly
        self._records = records
        self._states = states
        self._sources = sources
        self._content = content
        self._jobs: Jobs[Result] = Jobs(on_end=on_end)
        self._budget = budget or ContentBudget()

    def start(self, bundle: Bundle) -> None:
        """Start the job of the Bundle. Unpacked content never moves: it is fetched from where it was found then."""
        state = self._states.of(bundle.metadata.uid)
        record = self._records.of(bundle.metadata.uid)
        recorded = record.source if record is not None else None
        lane = self._sources.lane(pinned_source(bundle, recorded))
        classes = Classes(bundle.spec.provisioner_class, self._deployment_class(bundle))
        state.is_outdated, state.checked_for = False, classes.deployment
        work = self._work(bundle, recorded, classes)
        self._jobs.start(bundle.metadata.name, _key(bundle), work, lane=lane, deadline=UNPACK_SECONDS)

    def pinned_digest(self, bundle: Bundle) -> str:
        """Digest of the only content it may have: accepted before, or named by its template. Empty: any."""
        return self.accepted_digest(bundle) or self._states.of(bundle.metadata.uid).named

    def accepted_digest(self, bundle: Bundle) -> str:
        """Digest of what was unpacked for it, or is installed under its name."""
        return self.unpacked_digest(bundle) or self._states.of(bundle.metadata.uid).installed

    def unpacked_digest(self, bundle: Bundle) -> str:
        """Digest of the content that was unpacked for it; empty: none. Without a record the status counts."""
        record = self._records.of(bundle.metadata.uid)
        return record.digest if record is not None else bundle.status.digest

    def is_judged_anew(self, bundle: Bundle) -> bool:
        """The last job checked the content for a deployment of another class."""
        return self._states.of(bundle.metadata.uid).checked_for not in {None, self._deployment_class(bundle)}

    def is_running(self, bundle: Bundle) -> bool:
        return self._jobs.is_running(_key(bundle))

    def seconds(self, bundle: Bundle) -> float:
        """Time for which the job has been at work."""
        return self._jobs.seconds(_key(bundle))

    def take(self, bundle: Bundle) -> Result | None:
        """The result of a job that has ended, once."""
        finished = self._jobs.take(_key(bundle))
        if finished is None or self._states.of(bundle.metadata.uid).is_outdated:
            return None
        error = finished.error
        return fetch_failed(error, str(error)) if error is not None else finished.result()

    def outdate(self, uid: str) -> None:
        """Other content was uploaded: what a job that runs finds does not count."""
        self._states.of(uid).is_outdated = True

    async def clean_up(self, bundle: Bundle) -> None:
        """The content is stored, or of no use: nothing has to be kept ready for it.

        A node may not know an image that was loaded into it by the digest that it tells of it, so the source is the
        one of the spec.
        """
        await self._sources.clean_up(bundle.metadata.name, bundle.metadata.uid, bundle.spec.source)

    def drop(self, bundle: Bundle) -> None:
        self._jobs.drop(bundle.metadata.uid)

    async def close(self) -> None:
        await self._jobs.close()

    def _work(self, bundle: Bundle, recorded: Source | None, classes: Classes) -> Callable[[], Awaitable[Result]]:
        async def work() -> Result:
            started = perf_counter()
            try:
                installed = await self._installed(bundle)
            except RukPakError as error:
                return fetch_failed(error, str(error))
            stored = await self._stored(bundle, classes) if installed is None else None
            if stored is not None:
                return stored
            source = pinned_source(bundle, recorded, installed=installed)
            async with self._budget.share() as content_arrives:
                request = FetchRequest(
                    bundle=bundle.metadata.name,
                    uid=bundle.metadata.uid,
                    source=source,
                    provisioner_class=classes.bundle,
                    deployment=self.deployment_uid(bundle),
                    content_arrives=content_arrives,
                )
                result = await self._unpack(request, classes, accepted=self.accepted_digest(bundle))
            if installed is not None and source != bundle.spec.source:
                result = _of_installed(result, source)
            if (label := _label(result)) is not None:
                FETCH_SECONDS.labels(source.type, label).observe(perf_counter() - started)
            return result

        return work

    async def _installed(self, bundle: Bundle) -> Source | None:
        """The resolved source of what is installed by its name, where nothing was unpacked for this Bundle so far."""
        if self.unpacked_digest(bundle):
            return None
        entry = await self._installed_as(bundle)
        self._states.of(bundle.metadata.uid).installed = entry.digest if entry is not None else ""
        return entry.template.spec.source if entry is not None and entry.template is not None else None

    async def _stored(self, bundle: Bundle, classes: Classes) -> Unpacked | None:
        """Take content that the deployment of the Bundle had before from the store. None: it has to be fetched.

        A record shows that the deployment had it; the history alone, which others may have written, does not. It had to
        come from this source: who names a digest need not be allowed to read where another source had it from.
        """
        if self._formerly is None or self.unpacked_digest(bundle):
            return None
        former = await self._formerly(bundle)
        self._states.of(bundle.metadata.uid).named = former.digest if former is not None and former.is_named else ""
        if former is None:
            return None
        of_spec = "" if former.is_of_source else spec_digest(bundle.spec)
        record = self._records.of_deployment(former.digest, former.deployment, spec_digest=of_spec)
        if record is None:
            return None
        try:
            async with self._budget.share() as content_arrives:
                await content_arrives()
                tree = await self._content.load(former.digest)
                if tree is None:
                    return None
                stored = Fetched(tree=tree, resolved=bundle.spec.source, artifact_type=record.artifact_type)
                converted = await self._checked(stored, classes, bundle.spec.source, accepted=former.digest)
                digest = await self._content.keep(tree, converted)
        except RukPakError as error:
            LOG.info("%s: stored content is fetched again: %s", bundle.metadata.name, error)
            return None
        return Unpacked(digest=digest, resolved=bundle.spec.source, artifact_type=record.artifact_type)

    async def _unpack(self, request: FetchRequest, classes: Classes, *, accepted: str) -> Result:
        prefix = "source bundle content: "
        try:
            fetched = await self._sources.fetch(request)
            if isinstance(fetched, Waiting):
                return _waiting(fetched, request.source)
            await request.content_arrives()  # it has, whether the source said so or not
            prefix = ""
            converted = await self._checked(fetched, classes, request.source, accepted=accepted)
            prefix = PERSIST
            digest = await self._content.keep(fetched.tree, converted)
            if (image := fetched.resolved.image) is not None and "@" in image.ref:
                access = request.access_to(image.ref)
                await self._records.image_unpacked(access, digest, artifact_type=fetched.artifact_type)
            return Unpacked(digest=digest, resolved=fetched.resolved, artifact_type=fetched.artifact_type)
        except ContentPendingError as pending:
            detail = ContentPending(source=request.source.type, message=str(pending))
            return Fact(cause=Cause.UPLOAD_PENDING, detail=detail)
        except InvalidBundleError as error:  # often the first defect only
            return fetch_failed(error, f"{prefix}{advised(error).rstrip('.')}; {ALL_DEFECTS}")
        except RukPakError as error:
            return fetch_failed(error, f"{prefix}{advised(error)}")

    async def _checked(self, fetched: Fetched, classes: Classes, source: Source, *, accepted: str) -> Tree | None:
        """The converted form. What was unpacked once is not judged again: its deployment may need it to go back."""
        tree, came_as_directory = fetched.tree, source.is_directory(fetched.artifact_type)
        try:
            return await self._content.check(classes, tree, is_directory=came_as_directory)
        except ContentError as error:
            if not accepted or await asyncio.to_thread(lambda: tree.digest) != accepted:
                raise for_source(error, source, tree) from error
            return None


def fetch_failed(error: RukPakError, message: str) -> Fact:
    """`message`: what the condition says of it."""
    at = asyncio.get_running_loop().time() + error.retry_after if error.retry_after else None
    return Fact(cause=FETCH_ERRORS.cause_of(error), detail=Words(words=message, line=error.brief), at=at)


def _of_installed(result: Result, source: Source) -> Result:
    """Explain a result about installed content that is gone: why it is asked for, not the source of the template."""
    match result:
        case Fact(cause=Cause.FETCH_CONTENT | Cause.FETCH_NOT_FOUND | Cause.IMAGE_NOT_FOUND, detail=Words() as said):
            return replace(result, detail=InstalledContentGone(words=said.words, line=said.line, pin=source.pin))
        case ImageAwaited(direct=Fact() as direct) if isinstance(told := _of_installed(direct, source), Fact):
            return replace(result, direct=told)
        case _:
            return result


def _waiting(waiting: Waiting, source: Source) -> ImageAwaited:
    """Facts about an awaited image. Without a message no failure of the node's attempt is known, nor reported."""
    pod, direct = Fact(cause=Cause.IMAGE_COMING), None
    if waiting.message:
        detail = ContentPending(source=source.type, message=waiting.message, line=waiting.brief)
        pod = Fact(cause=Cause.IMAGE_PENDING, detail=detail)
    if (failure := waiting.direct) is not None:
        detail_of_direct = Words(words=failure.message, line=failure.brief)
        direct = Fact(cause=_DIRECT_CAUSES[failure.answer], detail=detail_of_direct)
    return ImageAwaited(pod=pod, direct=direct)


def _label(result: Result) -> str | None:
    """Label of the metric; None: the fetch has not ended."""
    match result:
        case Unpacked():
            return "unpacked"
        case Fact(cause=Cause.UPLOAD_PENDING):
            return "pending"
        case ImageAwaited():
            return None
        case Fact():
            return "failed"


def _key(bundle: Bundle) -> tuple[str]:
    return (bundle.metadata.uid,)


def for_source(error: ContentError, source: Source, tree: Tree) -> ContentError:
    """The error, where files of ConfigMaps are to go into a directory with the field that puts them there."""
    files = manifests_at_root(tree)
    if source.type != SourceType.CONFIG_MAPS or not files or not isinstance(error, InvalidBundleError):
        return error
    general = advice_on_lone_manifest(files[0])
    number = next((number for number, one in enumerate(source.config_maps) if not one.path), 0)
    advice = f"set path: {MANIFESTS} in source.configMaps[{number}]"
    findings = [replace(one, hint=advice) if one.hint == general else one for one in error.findings]
    return InvalidBundleError(findings, text=str(error))

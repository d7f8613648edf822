"""Renderings of stored content for deployments: kinds resolved, normalised, and kept in a cache.

The same content, options and owner give the same objects, kinds that are missing included: only what such an object
becomes is found anew when the kinds change. Nothing is rendered, or taken from the cache, by the digest of a status
alone: the record of the Bundle has to say the same. A rendering that goes to a worker process is a job; its end brings
the key back. A deployment has one job at most for what is wanted: another one supersedes it, and the process of a
rendering that runs is ended, because it may hang for the very reason that was corrected. Content that is wrong stays
wrong: the error is kept, too; that of a chart, which may ask for kinds, until what the cluster serves changes.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

from rukpak_py.api.names import CLUSTER_DOMAIN
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.serving_workloads import serving_workloads
from rukpak_py.certificates.wanted import RenderedObject, wanted_certificates
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment.attempt import Attempt, installed_entry, installed_rendering
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.rendered_objects import desired_of, namespace_object, patched_objects
from rukpak_py.controllers.deployment.rendering_cache import RenderingCache
from rukpak_py.controllers.deployment.state_parts import ContentFacts, ContentKey, Loss
from rukpak_py.controllers.jobs import LANE_WIDTH, Jobs
from rukpak_py.controllers.ports import Content
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.formats.format import ChartRenderer, RenderedContent, RenderOptions
from rukpak_py.formats.hook import Hook, has_delete_hooks
from rukpak_py.kube.discovery_documents import Served

RENDER_SECONDS = 600.0
LANE = "render"
VARYING_LANE = "render charts"  # helm may hang; whatever hangs must leave a worker process to everybody else
VARYING_LANE_WIDTH = 1
WANTED = "wanted"  # the slot of renderings of what the spec wants; nothing supersedes those of what is installed


class NotRendered(Enum):
    RUNNING = auto()  # a job renders it; its end brings the key back
    CONTENT_MISSING = auto()  # it is not in the store, or not recorded as that of the Bundle: it is fetched again first
    LOST = auto()  # what was installed was rendered once, is lost, and a new rendering differs or cannot be made


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """`desired` has the objects of kinds that can be used; where all of them can, `content` is without its objects:
    nothing is found anew then.
    """

    content: RenderedContent
    desired: tuple[Desired, ...]
    resolution: Resolution
    facts: ContentFacts = field(default_factory=ContentFacts)

    @cached_property
    def size(self) -> int:
        parts = (*self.content.objects, *(hook.object for hook in self.content.hooks))
        return sum(len(one.payload.body) for one in self.desired) + sum(len(one.json) for one in parts)

    @cached_property
    def served_by(self) -> Mapping[GroupKind, frozenset[ObjectKey]]:
        """Workloads of the content."""
        return serving_workloads(self.desired)

    @property
    def hooks(self) -> tuple[Hook, ...]:
        return tuple(self.content.hooks)

    @property
    def keys(self) -> set[ObjectKey]:
        return {one.key for one in self.desired}

    @property
    def owned_keys(self) -> set[ObjectKey]:
        """Keys of the objects that the deployment is to own."""
        return {one.key for one in self.desired if not one.create_only}


class Renderer:
    def __init__(
        self,
        content: Content,
        kinds: Kinds,
        renderings: KeptRenderings,
        *,
        jobs: "Jobs[MadeContent]",
        cluster_domain: str = CLUSTER_DOMAIN,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._content = content
        self._kinds = kinds
        self._cluster_domain = cluster_domain
        self._renderings = renderings
        self._jobs = jobs
        self._limits = limits
        self._kept = RenderingCache[Rendered]()

    async def rendered(self, attempt: Attempt) -> Rendered | NotRendered:
        if not is_recorded(attempt, self._content):
            return NotRendered.CONTENT_MISSING
        key = attempt.content
        known = attempt.state.failures.error_of(key, self._served(attempt))
        if known is not None:
            raise known.with_traceback(None)  # else it grows with every look, and holds their frames
        if self.is_lost(attempt):
            return NotRendered.LOST
        kept = self._cached(attempt)
        if kept is not None:
            if differs(attempt, kept.content.digest):
                return NotRendered.LOST
            attempt.state.rendered(key, kept.facts)
            return await self._refreshed(attempt, kept)
        served = self._served(attempt)
        try:
            made = await self._made(attempt)
            if isinstance(made, NotRendered):
                return made
            served = made.served
            content = made.content()
            if differs(attempt, content.digest):
                return _lose(attempt)
            if attempt.makes_namespace and not any(attempt.makes(obj) for obj in content.objects):
                content = replace(content, objects=[namespace_object(attempt.install_namespace), *content.objects])
            content, unmatched = await self._patched(attempt, content)
            resolution = await self._kinds.resolve(content.objects, attempt.deployment)
            rendered = await self._desired(attempt, content, resolution, unmatched)
        except ContentError as error:
            attempt.state.failures.add_error(key, error, served)
            raise
        self._keep(attempt, rendered)
        return rendered

    def is_lost(self, attempt: Attempt) -> bool:
        """Whether the installed content was rendered again and differs, or cannot be rendered again."""
        return attempt.state.failures.is_lost(_loss_of(attempt))

    def drop_superseded(self, uid: str, wanted: ContentKey | None = None) -> None:
        """End the renderings of content that is not wanted any more. None: the wanted content is not known."""
        self._jobs.drop_superseded(uid, slot=WANTED, but=wanted.job if wanted is not None else ())

    def ended(self, uid: str) -> None:
        self._kept.ended(uid)

    async def _made(self, attempt: Attempt) -> "MadeContent | NotRendered":
        finished = self._jobs.take(attempt.content.job)
        if finished is not None:
            try:
                return finished.result()
            except (AccessError, UnavailableError) as error:
                if attempt.is_nondeterministic:
                    attempt.state.failures.add_error(attempt.content, error, self._served(attempt))
                raise
        if self._jobs.is_running(attempt.content.job):
            return NotRendered.RUNNING
        stored = await self._renderings.load(attempt) if attempt.is_nondeterministic else None
        if stored is not None:
            return MadeContent(stored, self._served(attempt))
        if attempt.lacks_values:
            return _lose(attempt)
        tree = await self._content.load(attempt.bundle.status.digest)
        if tree is None:
            return NotRendered.CONTENT_MISSING
        if not attempt.is_nondeterministic and self._content.renders_in_place(attempt.classes, tree):
            return MadeContent(await self._content.render(attempt.classes, tree, render_options(attempt)), None)
        if not attempt.state.has_ended:  # the result would not be taken
            self._start(attempt, tree)
        return NotRendered.RUNNING

    def _start(self, attempt: Attempt, tree: Tree) -> None:
        classes, options = attempt.classes, render_options(attempt)

        async def render() -> MadeContent:
            return MadeContent(await self._content.render(classes, tree, options), None)

        async def render_once() -> MadeContent:
            served = self._kinds.served  # it may have changed when the result is taken
            try:
                return MadeContent(await self._renderings.make(attempt, tree, options), served)
            except ContentError as error:
                return MadeContent(error, served)

        metadata, slot = attempt.deployment.metadata, WANTED if attempt.is_wanted else ""
        self._jobs.drop_finished(metadata.uid, slot=slot)  # of a template that was edited meanwhile
        work, lane = (render_once, VARYING_LANE) if attempt.is_nondeterministic else (render, LANE)
        width = VARYING_LANE_WIDTH if attempt.is_nondeterministic else LANE_WIDTH
        self._jobs.start(
            metadata.name, attempt.content.job, work, lane=lane, deadline=RENDER_SECONDS, width=width, slot=slot
        )

    async def _refreshed(self, attempt: Attempt, kept: Rendered) -> Rendered:
        """The same content against the kinds as they are now."""
        await self._kinds.look_for(one.gvk for one in kept.content.requirements)
        if not kept.content.objects:
            resolution = await self._kinds.resolve_again(kept.resolution, kept.desired, attempt.deployment)
            return kept if resolution is kept.resolution else replace(kept, resolution=resolution)
        resolution = await self._kinds.resolve(kept.content.objects, attempt.deployment)
        if resolution == kept.resolution:
            return kept
        rendered = await self._desired(attempt, kept.content, resolution, kept.facts.unmatched_patches)
        self._keep(attempt, rendered)
        return rendered

    async def _patched(self, attempt: Attempt, content: RenderedContent) -> tuple[RenderedContent, tuple[int, ...]]:
        """The content with `spec.patches`, and which of them match nothing."""
        if not attempt.options.patches:
            return content, ()
        objects, unmatched = await asyncio.to_thread(patched_objects, attempt, content, self._limits)
        return replace(content, objects=objects), unmatched

    async def _desired(
        self, attempt: Attempt, content: RenderedContent, resolution: Resolution, unmatched: tuple[int, ...]
    ) -> Rendered:
        facts = ContentFacts(
            namespace=content.default_namespace,
            description=content.description,
            rendering=content.digest,
            made=content.made,
            delete_hooks=has_delete_hooks(content.hooks),
            unmatched_patches=unmatched,
        )
        attempt.state.rendered(attempt.content, facts)
        desired = await desired_of(content, resolution, attempt)
        rendered = (RenderedObject(one.key, one.head.gvk, one.payload.body) for one in desired)
        facts = replace(facts, certificates=wanted_certificates(rendered, cluster_domain=self._cluster_domain))
        attempt.state.rendered(attempt.content, facts)
        if all(state is KindState.SERVED for state in resolution.states.values()):
            content = replace(content, objects=())
        return Rendered(content=content, desired=desired, resolution=resolution, facts=facts)

    def _cached(self, attempt: Attempt) -> Rendered | None:
        found = self._kept.get(attempt.content)
        if found is not None and attempt.is_wanted and attempt.state.is_applied(attempt.content):
            self._kept.installed(attempt.content)
        return found

    def _keep(self, attempt: Attempt, rendered: Rendered) -> None:
        if not attempt.state.has_ended:  # nothing would take it out again
            self._kept.keep(attempt.content, rendered)

    def _served(self, attempt: Attempt) -> Served | None:
        """Served kinds, which an error may be about beside the content."""
        return self._kinds.served if attempt.is_nondeterministic else None


class MadeContent(NamedTuple):
    """Result of a rendering; for a chart, also what the cluster served when its rendering began."""

    result: RenderedContent | ContentError
    served: Served | None

    def content(self) -> RenderedContent:
        if isinstance(self.result, ContentError):
            raise self.result
        return self.result


def is_recorded(attempt: Attempt, content: Content) -> bool:
    """Whether this is the content of the Bundle, whatever its status says."""
    bundle, deployment = attempt.bundle, attempt.deployment
    return content.is_content_of(bundle.status.digest, bundle=bundle.metadata.uid, deployment=deployment.metadata.uid)


def _lose(attempt: Attempt) -> NotRendered:
    attempt.state.failures.lose(_loss_of(attempt), sees_cluster=sees_cluster(attempt))
    return NotRendered.LOST


def sees_cluster(attempt: Attempt) -> bool:
    """Whether what is installed was rendered so."""
    entry = installed_entry(attempt)
    return entry is not None and entry.renderer == ChartRenderer.CLUSTER


def _loss_of(attempt: Attempt) -> Loss:
    return Loss(attempt.content, installed_rendering(attempt), attempt.lacks_values)


def differs(attempt: Attempt, digest: str) -> bool:
    """A rendering of what is installed is not what was installed."""
    installed = installed_rendering(attempt)
    return bool(installed) and digest != installed


def render_options(attempt: Attempt) -> RenderOptions:
    return RenderOptions(
        is_directory=attempt.bundle.spec.source.is_directory(attempt.bundle.status.artifact_type),
        install_namespace=attempt.install_namespace or None,
        watch_namespaces=attempt.options.watch_namespaces or None,
        config=attempt.options.config,
        values=attempt.values,
    )

"""From stored content to what a deployment wants: rendered, its kinds resolved, normalised. Kept within one budget.

The same content, options and owner give the same objects, so they are kept until one of them changes or the budget
needs the room, kinds that are missing included: only what such an object becomes is found anew when the kinds change.
A rendering that goes to a worker process is a job; its end brings the key back. Content that is wrong stays wrong:
the error is kept, too.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from rukpak_py.apply.desired import Desired, desire
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.serving_certificates import wanted_certificates
from rukpak_py.apply.serving_workloads import serving_workloads
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.state import ContentFacts, ContentKey
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.ports import Content
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Head, Object, ObjectKey, canonical_json
from rukpak_py.formats.format import OlmIdentity, RenderedContent, RenderOptions, Requirement
from rukpak_py.kube.resources import NAMESPACES

BUDGET_BYTES = 64 * 1024 * 1024
REMEMBERED_ERRORS = 1000
TURN_BYTES = 64 * 1024  # of manifests, between two chances for the rest of the process
RENDER_SECONDS = 600.0
LANE = "render"


class NotRendered(Enum):
    RUNNING = auto()  # a job renders it; its end brings the key back
    CONTENT_MISSING = auto()  # the content is not in the store: it must be fetched again first


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """Everything that a plan needs to know of the content. `desired` has the objects of kinds that can be used."""

    desired: tuple[Desired, ...]
    resolution: Resolution
    objects: tuple[Object, ...]  # empty when all kinds are served: nothing is found anew then
    size: int
    facts: ContentFacts = field(default_factory=ContentFacts)
    requirements: tuple[Requirement, ...] = ()
    olm: OlmIdentity | None = None
    served_by: Mapping[GroupKind, frozenset[ObjectKey]] = field(default_factory=dict)  # workloads of the content

    @property
    def keys(self) -> set[ObjectKey]:
        return {one.key for one in self.desired}


class Renderer:
    def __init__(self, content: Content, kinds: Kinds, *, on_end: Callable[[str], None]) -> None:
        self._content = content
        self._kinds = kinds
        self._jobs: Jobs[RenderedContent] = Jobs(on_end=on_end)
        self._kept: OrderedDict[ContentKey, Rendered] = OrderedDict()
        self._size = 0
        self._errors: OrderedDict[ContentKey, ContentError] = OrderedDict()

    async def rendered(self, attempt: Attempt) -> Rendered | NotRendered:
        key = attempt.content
        if key in self._errors:
            raise self._errors[key].with_traceback(None)  # else it grows with every look, and holds their frames
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            attempt.state.rendered(key, kept.facts)
            return await self._refreshed(attempt, kept)
        try:
            content = await self._content_of(attempt)
            if isinstance(content, NotRendered):
                return content
            if attempt.makes_namespace and not any(attempt.makes(obj) for obj in content.objects):
                content = replace(content, objects=[_namespace(attempt.install_namespace), *content.objects])
            resolution = await self._kinds.resolve(content.objects, attempt.deployment)
            rendered = await self._desired(attempt, content, resolution)
        except ContentError as error:
            self._remember(key, error)
            raise
        self._keep(key, rendered)
        return rendered

    def forget(self, uid: str) -> None:
        """The deployment is gone."""
        self._jobs.drop(uid)
        for key in [key for key in self._kept if key[0] == uid]:
            self._size -= self._kept.pop(key).size
        for key in [key for key in self._errors if key[0] == uid]:
            del self._errors[key]

    async def close(self) -> None:
        await self._jobs.close()

    async def _content_of(self, attempt: Attempt) -> RenderedContent | NotRendered:
        finished = self._jobs.take(attempt.content)
        if finished is not None:
            return finished.result()
        if self._jobs.is_running(attempt.content):
            return NotRendered.RUNNING
        tree = await self._content.load(attempt.bundle.status.digest)
        if tree is None:
            return NotRendered.CONTENT_MISSING
        if self._content.renders_in_place(attempt.classes, tree):
            return await self._content.render(attempt.classes, tree, _options(attempt))
        if not attempt.state.has_ended:  # nobody would take the result
            self._start(attempt, tree)
        return NotRendered.RUNNING

    def _start(self, attempt: Attempt, tree: Tree) -> None:
        classes, options = attempt.classes, _options(attempt)

        async def render() -> RenderedContent:
            return await self._content.render(classes, tree, options)

        name = attempt.deployment.metadata.name
        self._jobs.drop_finished(attempt.deployment.metadata.uid)  # of a template that was edited meanwhile
        self._jobs.start(name, attempt.content, render, lane=LANE, deadline=RENDER_SECONDS)

    async def _refreshed(self, attempt: Attempt, kept: Rendered) -> Rendered:
        """The same content against the kinds as they are now."""
        await self._kinds.look_for(one.gvk for one in kept.requirements)
        if not kept.objects:
            return await self._with_states(attempt, kept)
        resolution = await self._kinds.resolve(kept.objects, attempt.deployment)
        if resolution == kept.resolution:
            return kept
        content = RenderedContent(
            objects=kept.objects, default_namespace=kept.facts.namespace, requirements=kept.requirements, olm=kept.olm
        )
        rendered = await self._desired(attempt, content, resolution)
        self._keep(attempt.content, rendered)
        return rendered

    async def _with_states(self, attempt: Attempt, kept: Rendered) -> Rendered:
        """All kinds were served when it was rendered; discovery may not show some of them at the moment."""
        find = self._kinds.cluster.discovery.find
        if all(find(gvk) is not None for gvk in kept.resolution.states):
            return kept
        resolution = await self._kinds.states_again(kept.resolution, kept.desired, attempt.deployment)
        return replace(kept, resolution=resolution)

    async def _desired(self, attempt: Attempt, content: RenderedContent, resolution: Resolution) -> Rendered:
        objects = content.objects
        attempt.state.rendered(attempt.content, ContentFacts(namespace=content.default_namespace))
        desired = await _desire_all(objects, resolution, attempt)
        facts = ContentFacts(namespace=content.default_namespace, certificates=wanted_certificates(desired))
        attempt.state.rendered(attempt.content, facts)
        is_settled = all(state is KindState.SERVED for state in resolution.states.values())
        size = sum(len(one.form.body) for one in desired)
        return Rendered(
            desired=desired,
            resolution=resolution,
            objects=() if is_settled else tuple(objects),
            size=size if is_settled else size + sum(len(obj.json) for obj in objects),
            facts=facts,
            requirements=tuple(content.requirements),
            olm=content.olm,
            served_by=serving_workloads(desired),
        )

    def _keep(self, key: ContentKey, rendered: Rendered) -> None:
        former = self._kept.pop(key, None)
        self._size -= former.size if former is not None else 0
        self._kept[key] = rendered
        self._size += rendered.size
        while self._size > BUDGET_BYTES and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size

    def _remember(self, key: ContentKey, error: ContentError) -> None:
        self._errors[key] = error
        if len(self._errors) > REMEMBERED_ERRORS:
            self._errors.popitem(last=False)


async def _desire_all(objects: Iterable[Object], resolution: Resolution, attempt: Attempt) -> tuple[Desired, ...]:
    desired: dict[object, Desired] = {}
    turn = 0
    for obj in objects:
        resource = resolution.resources.get(obj.head.gvk)
        if resource is None:
            continue
        one = _desire(obj, namespaced=resource.namespaced, attempt=attempt)
        known = desired.setdefault(one.key, one)
        if known.form.digest != one.form.digest:
            raise ContentError(f"the content has two different objects of the same name: {one.key}")
        turn += len(obj.json)
        if turn > TURN_BYTES:
            turn = 0
            await asyncio.sleep(0)
    return tuple(desired.values())


def _desire(obj: Object, *, namespaced: bool, attempt: Attempt) -> Desired:
    return desire(
        obj,
        owner=attempt.owner,
        namespaced=namespaced,
        default_namespace=attempt.namespace,
        custom=not is_builtin(obj.head.gvk.group),
        outlives=attempt.makes(obj),
        overrides=attempt.options.overrides,
    )


def _options(attempt: Attempt) -> RenderOptions:
    return RenderOptions(
        install_namespace=attempt.install_namespace or None,
        watch_namespaces=attempt.options.watch_namespaces or None,
        config=attempt.options.config,
    )


def _namespace(name: str) -> Object:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    head = Head(gvk=GroupVersionKind("", "v1", NAMESPACES.gvk.kind), namespace="", name=name)
    return Object(head=head, json=canonical_json(manifest))

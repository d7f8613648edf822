"""The stage that says what is wanted, and after a restart what was wanted before: rendered, or why not yet."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.applied_digest import recall, recall_from_content, recall_untouched
from rukpak_py.controllers.deployment.attempt import Attempt, is_of_former_release
from rukpak_py.controllers.deployment.facts import error_fact, look_again
from rukpak_py.controllers.deployment.rendering import NotRendered, Rendered, Renderer, sees_cluster
from rukpak_py.controllers.deployment.state_parts import LOST_SECONDS, ContentKey
from rukpak_py.controllers.result.cause_table import LOOK_AGAIN_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import REFETCHING, RENDERING, RENDERING_LOST
from rukpak_py.controllers.result.errors import RENDERING_ERRORS
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.helm.settings import settings_of
from rukpak_py.kube.errors import ApiError

REFETCHING_CONTENT = Progress(facts=(Fact(cause=Cause.REFETCHING, detail=REFETCHING),))
RENDERING_RUNNING = Progress(facts=(Fact(cause=Cause.RENDERING, detail=RENDERING), Fact(cause=Cause.JOB_RUNNING)))
_LOST = Progress(facts=(Fact(cause=Cause.RENDERING_LOST, detail=RENDERING_LOST),))


class RenderingStage:
    def __init__(
        self,
        renderer: Renderer,
        *,
        former: Callable[[BundleDeployment, Bundle], list[Bundle]],
        request_content: Callable[[Bundle], None],
    ) -> None:
        """`former`: other Bundles of the deployment. `request_content`: the content is not stored; fetch it again."""
        self._renderer = renderer
        self._former = former
        self._want_content = request_content

    async def rendered(self, attempt: Attempt) -> Rendered | Progress:
        try:
            if attempt.is_wanted and attempt.is_nondeterministic and not is_of_former_release(attempt):
                settings_of(attempt.deployment.spec.config or {})  # with what the options leave out
            rendered = await self._renderer.rendered(attempt)
        except ApiError:
            raise  # about the server, which was asked for its kinds; the content may be fine
        except RukPakError as error:
            return rendering_failed(attempt, error)
        match rendered:
            case NotRendered.CONTENT_MISSING:
                self._want_content(attempt.bundle)
                return REFETCHING_CONTENT
            case NotRendered.RUNNING:
                return RENDERING_RUNNING
            case NotRendered.LOST:
                again = (look_again(LOST_SECONDS),) if sees_cluster(attempt) else ()
                return _LOST + Progress(facts=again)
            case Rendered():
                return rendered

    def drop_superseded(self, uid: str, wanted: ContentKey | None = None) -> None:
        """End the renderings of content that is not wanted any more. None: the wanted content is not known."""
        self._renderer.drop_superseded(uid, wanted)

    def lost(self, attempt: Attempt) -> Progress:
        """Report a rendering that cannot be known any more; nothing where it can, or was not asked for yet."""
        return _LOST if self._renderer.is_lost(attempt) else NO_PROGRESS

    async def recall(
        self, attempt: Attempt, active: Attempt | None, owned: Mapping[ObjectKey, ObservedObject]
    ) -> Progress | None:
        """Recall after a restart what was applied, and the names of the content before. Else it is still rendered."""
        state = attempt.state
        if state.former.is_complete or not state.applied.is_empty:
            return None
        if recall(active, owned):
            return None
        bundles = self._former(attempt.deployment, attempt.bundle)
        there = {one.metadata.name for one in (attempt.bundle, *bundles)}
        is_missing = active is None and attempt.deployment.status.active_bundle not in {
            "",
            *there,
        }  # it may be made again
        others = [attempt.of_bundle(one) for one in bundles if active is None or one is not active.bundle]
        for before in [*([active] if active is not None else []), *others]:
            with suppress(ContentError):
                try:
                    rendered = await self._renderer.rendered(before)
                except UnavailableError as error:
                    if isinstance(error, ApiError):
                        raise
                    return rendering_failed(before, error)
                if rendered is NotRendered.RUNNING:
                    return RENDERING_RUNNING
                if rendered is NotRendered.CONTENT_MISSING and before is active:
                    self._want_content(before.bundle)
                    is_missing = True
                if isinstance(rendered, Rendered):
                    state.former.add(rendered.keys)
                    is_wanted = before.content == attempt.content
                    if before is active and not recall_from_content(before, rendered.keys, owned, is_wanted=is_wanted):
                        recall_untouched(before, rendered.desired, owned)
        state.former.is_complete = not is_missing
        return None


def rendering_failed(attempt: Attempt, error: RukPakError) -> Progress:
    failure = error_fact(RENDERING_ERRORS, error)
    if failure.cause is Cause.RENDERING_CONTENT and attempt.is_nondeterministic:
        return Progress(facts=(failure, look_again(LOOK_AGAIN_SECONDS)))  # what it asked the cluster for may come
    return Progress(facts=(failure,))

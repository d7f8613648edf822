"""Content that is rendered once more, for its Secrets to be compared: kept nowhere, and no loss where they differ."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rukpak_py.api.bundle import Bundle
from rukpak_py.apply.secret_values import Comparison, Values, secrets_of
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings
from rukpak_py.controllers.deployment.rendering import (
    RENDER_SECONDS,
    VARYING_LANE,
    VARYING_LANE_WIDTH,
    is_recorded,
    render_options,
)
from rukpak_py.controllers.deployment.rendering_stage import REFETCHING_CONTENT, RENDERING_RUNNING, rendering_failed
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.kube.errors import ApiError

_SLOT: Final = "again"


@dataclass(frozen=True, kw_only=True)
class RenderedAgain:
    """`error`: why one of the two cannot be rendered, so that nothing can be told by it."""

    compared: Comparison
    error: str = ""


class SecondRendering:
    def __init__(
        self,
        content: Content,
        renderings: KeptRenderings,
        *,
        jobs: Jobs[RenderedAgain],
        request_content: Callable[[Bundle], None],
    ) -> None:
        self._content = content
        self._renderings = renderings
        self._jobs = jobs
        self._want_content = request_content

    async def of(self, wanted: Attempt, installed: Attempt | None) -> RenderedAgain | Progress:
        """What is wanted, and what is installed where that can be rendered. A job; its result is taken once."""
        before = installed.content.job[1] if installed is not None else ""
        key = (wanted.deployment.metadata.uid, _SLOT, wanted.content.job[1], before)
        finished = self._jobs.take(key)
        if finished is None:
            return await self._begun(key, wanted, installed)
        try:
            return finished.result()
        except ApiError:
            raise
        except RukPakError as error:
            return rendering_failed(wanted, error)

    async def _begun(self, key: tuple[str, ...], wanted: Attempt, installed: Attempt | None) -> Progress:
        if self._jobs.is_running(key):
            return RENDERING_RUNNING
        tree = await self._tree(wanted)
        if tree is None:
            self._want_content(wanted.bundle)
            return REFETCHING_CONTENT
        can_render = installed is not None and not installed.lacks_values
        former = await self._tree(installed) if installed is not None and can_render else None

        async def render() -> RenderedAgain:
            try:
                secrets = await self._secrets(wanted, tree)
                if installed is None or former is None:
                    return RenderedAgain(compared=Comparison(wanted=secrets))
                compared = Comparison(
                    before=await self._kept(installed),
                    installed=await self._secrets(installed, former),
                    wanted=secrets,
                )
                return RenderedAgain(compared=compared)
            except ContentError as error:
                return RenderedAgain(compared=Comparison(), error=str(error))

        if not wanted.state.has_ended:
            self._jobs.start(
                wanted.deployment.metadata.name,
                key,
                render,
                lane=VARYING_LANE,
                deadline=RENDER_SECONDS,
                width=VARYING_LANE_WIDTH,
                slot=_SLOT,
            )
        return RENDERING_RUNNING

    async def _tree(self, attempt: Attempt) -> Tree | None:
        """None: it is not stored. What is installed may be gone where it came from, and is done without then."""
        return await self._content.load(attempt.bundle.status.digest) if is_recorded(attempt, self._content) else None

    async def _secrets(self, attempt: Attempt, tree: Tree) -> Values:
        made = await self._renderings.render(attempt, tree, render_options(attempt))
        return secrets_of(made.objects, attempt.namespace)

    async def _kept(self, attempt: Attempt) -> Values:
        kept = await self._renderings.load(attempt)
        return secrets_of(kept.objects, attempt.namespace) if kept is not None else {}

"""Secrets of content that is rendered once more, to be compared: kept nowhere, and no loss where they differ."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from rukpak_py.api.bundle import Bundle
from rukpak_py.apply.secret_values import is_secret
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings
from rukpak_py.controllers.deployment.rendering import (
    RENDER_SECONDS,
    VARYING_LANE,
    VARYING_LANE_WIDTH,
    MadeContent,
    is_recorded,
    render_options,
)
from rukpak_py.controllers.deployment.rendering_stage import REFETCHING_CONTENT, RENDERING_RUNNING, rendering_failed
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.objects import Object
from rukpak_py.kube.errors import ApiError

_SLOT: Final = "again"


class SecondRendering:
    def __init__(
        self,
        content: Content,
        renderings: KeptRenderings,
        *,
        jobs: Jobs[MadeContent],
        request_content: Callable[[Bundle], None],
    ) -> None:
        self._content = content
        self._renderings = renderings
        self._jobs = jobs
        self._want_content = request_content

    async def of(self, attempt: Attempt, *, upgrade: Attempt) -> Sequence[Object] | Progress:
        """The Secrets of an attempt, before an upgrade to another one, or to itself. Raises ContentError.

        A job renders; its result is taken once.
        """
        key = (upgrade.deployment.metadata.uid, _SLOT, upgrade.content.job[1], attempt.content.job[1])
        finished = self._jobs.take(key)
        if finished is None:
            return await self._begun(key, attempt, upgrade)
        try:
            return finished.result().content().objects
        except (ApiError, ContentError):
            raise
        except RukPakError as error:
            return rendering_failed(attempt, error)

    async def _begun(self, key: tuple[str, ...], attempt: Attempt, upgrade: Attempt) -> Progress:
        if self._jobs.is_running(key):
            return RENDERING_RUNNING
        digest = attempt.bundle.status.digest
        tree = await self._content.load(digest) if is_recorded(attempt, self._content) else None
        if tree is None:
            self._want_content(attempt.bundle)
            return REFETCHING_CONTENT
        options = render_options(attempt)

        async def render() -> MadeContent:
            try:
                content = await self._renderings.render(attempt, tree, options)
                secrets = [one for one in content.objects if is_secret(one.head.key)]
                return MadeContent(replace(content, objects=secrets, hooks=()), None)
            except ContentError as error:
                return MadeContent(error, None)

        if not upgrade.state.has_ended:
            name = upgrade.deployment.metadata.name
            self._jobs.start(
                name, key, render, lane=VARYING_LANE, deadline=RENDER_SECONDS, width=VARYING_LANE_WIDTH, slot=_SLOT
            )
        return RENDERING_RUNNING

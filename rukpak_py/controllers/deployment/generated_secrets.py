"""A gate before a rendering of a chart that is not the installed one: whether it would renew generated passwords.

Templates without `lookup` make them anew at each rendering. Only Secrets that the plan changes are read; where a value
would change, what is installed and what is wanted are rendered once more: a value that comes out differently is
generated. It is refused until `spec.config.acceptNewSecrets` lists it, or `spec.config` says the value. That holds for
half an installation, too, whose database may run already, and with lost storage, when other content is wanted or not.

The renderings to compare with are kept nowhere. What has passed is not judged again while it is wanted: it may be half
done.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rukpak_py.api.bundle import Bundle
from rukpak_py.apply.plan import TAKES, Action
from rukpak_py.apply.secret_values import (
    ChangedValue,
    Comparison,
    Values,
    changed_values,
    is_secret,
    secrets_of,
    values_of,
)
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.rendered_objects import patched_objects
from rukpak_py.controllers.deployment.rendering import (
    RENDER_SECONDS,
    VARYING_LANE,
    VARYING_LANE_WIDTH,
    is_recorded,
    render_options,
)
from rukpak_py.controllers.deployment.rendering_stage import REFETCHING_CONTENT, RENDERING_RUNNING, rendering_failed
from rukpak_py.controllers.deployment.state_parts import Passed
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.ports import Content
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.object_details import GeneratedValues, RenewedCertificates
from rukpak_py.controllers.result.progress import Fact, Progress
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.helm.settings import settings_of
from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import SECRETS

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
        """Render the wanted content, and the installed one where possible. A job; its result is taken once."""
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
        return secrets_of(patched_objects(attempt, made).objects, attempt.namespace)

    async def _kept(self, attempt: Attempt) -> Values:
        kept = await self._renderings.load(attempt)
        return secrets_of(patched_objects(attempt, kept).objects, attempt.namespace) if kept is not None else {}


_CHANGING: Final = frozenset({*TAKES, Action.UPDATE})
_NAME: Final = "generated secrets"  # among the gates that were passed


class GeneratedSecrets:
    def __init__(self, renderings: SecondRendering) -> None:
        self._renderings = renderings

    async def judge(
        self, attempt: Attempt, active: Attempt | None, planned: Planned, *, rendering: str
    ) -> Progress | tuple[Fact, ...]:
        """Judge before the first write: refuse, wait, or report facts. `rendering`: digest of the rendering."""
        passed = attempt.state.passed_gates
        if not attempt.is_nondeterministic:
            return ()
        entry = attempt.installed.entry if attempt.installed is not None else None
        if rendering == (entry.rendering_digest if entry is not None else ""):  # whichever content the attempt is about
            if attempt.is_wanted:
                passed.pop(_NAME, None)  # what has passed is not wanted any more
            return ()
        if passed.get(_NAME) == Passed(attempt.subject):
            return ()
        changed = [one for one in await _changed(planned) if not _is_accepted(one, attempt)]
        found: Progress | tuple[Fact, ...] = await self._told(attempt, active, changed) if changed else ()
        if not isinstance(found, Progress):
            passed[_NAME] = Passed(attempt.subject)
        return found

    async def _told(
        self, attempt: Attempt, active: Attempt | None, changed: list[ChangedValue]
    ) -> Progress | tuple[Fact, ...]:
        again = await self._renderings.of(attempt, active)
        if isinstance(again, Progress):
            return again
        generated = [one for one in changed if again.error or again.compared.is_generated(one)]
        refused = [one for one in generated if not one.is_certificate]
        if refused:
            values = GeneratedValues(
                keys=tuple(map(str, refused)),
                entries=tuple(one.entry(attempt.namespace) for one in refused),
                error=again.error,
            )
            return Progress(facts=(Fact(cause=Cause.GENERATED_VALUES, detail=values, objects=_secrets(refused)),))
        if not generated:
            return ()
        renewed = RenewedCertificates(keys=tuple(map(str, generated)))
        return (Fact(cause=Cause.CERTIFICATES_RENEWED, detail=renewed, objects=_secrets(generated)),)


def _is_accepted(one: ChangedValue, attempt: Attempt) -> bool:
    accepted = settings_of(attempt.deployment.spec.config or {}).accept_new_secrets
    return one.entry(attempt.namespace) in accepted or one.entry("") in accepted


async def _changed(planned: Planned) -> list[ChangedValue]:
    changes = [one for one in planned.plan.changes if one.action in _CHANGING and is_secret(one.key)]
    live: dict[ObjectKey, dict[str, bytes]] = {}

    async def read(key: ObjectKey) -> None:
        try:
            live[key] = values_of(await planned.target.client.get(SECRETS, key.namespace, key.name))
        except NotFoundError:
            live[key] = {}

    await run_bounded(read, [one.key for one in changes])
    return changed_values(live, {one.key: values_of(one.payload.body) for one in changes})


def _secrets(values: list[ChangedValue]) -> tuple[ObjectKey, ...]:
    return tuple(dict.fromkeys(one.secret for one in values))

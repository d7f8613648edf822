"""Before a rendering of a chart is applied that is not the installed one: whether it would renew generated passwords.

Templates without `lookup` make them anew at each rendering. Only Secrets that the plan changes are read; where a value
would change, what is installed and what is wanted are rendered once more: a value that comes out differently is
generated. It is refused until `spec.config.acceptNewSecrets` lists it, or `spec.config` says the value. That holds for
half an installation, too, whose database may run already, and with lost storage, when other content is wanted or not.

The renderings to compare with are kept nowhere. What has passed is not judged again while it is wanted: it may be half
done.
"""

from typing import Final

from rukpak_py.apply.plan import TAKES, Action
from rukpak_py.apply.secret_values import ChangedValue, changed_values, is_secret, values_of
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.second_rendering import SecondRendering
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import GeneratedValues, RenewedCertificates
from rukpak_py.controllers.result.progress import Fact, Progress
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.helm.settings import settings_of
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import SECRETS

_CHANGING: Final = frozenset({*TAKES, Action.UPDATE})
_NAME: Final = "generated secrets"  # among the gates that were passed


class GeneratedSecrets:
    def __init__(self, renderings: SecondRendering) -> None:
        self._renderings = renderings

    async def judge(
        self, attempt: Attempt, active: Attempt | None, planned: Planned, *, rendering: str
    ) -> Progress | tuple[Fact, ...]:
        """Before the first write: why it is refused or waits, or what is told about it. `rendering`: its digest."""
        passed = attempt.state.passed_gates
        if not attempt.is_nondeterministic:
            return ()
        if rendering == _recorded_rendering(attempt):
            if attempt.is_wanted:
                passed.pop(_NAME, None)  # what has passed is not wanted any more
            return ()
        if passed.get(_NAME) == attempt.content:
            return ()
        changed = [one for one in await _changed(planned) if not _is_accepted(one, attempt)]
        found: Progress | tuple[Fact, ...] = await self._told(attempt, active, changed) if changed else ()
        if not isinstance(found, Progress):
            passed[_NAME] = attempt.content
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
            return Progress(facts=(_refusal(refused, attempt, again.error),))
        return (_renewed(generated),) if generated else ()


def _recorded_rendering(attempt: Attempt) -> str:
    """The digest of what is installed, whichever content the attempt is about."""
    entry = attempt.installed.entry if attempt.installed is not None else None
    return entry.rendering_digest if entry is not None else ""


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


def _refusal(refused: list[ChangedValue], attempt: Attempt, error: str) -> Fact:
    detail = GeneratedValues(
        keys=tuple(map(str, refused)),
        entries=tuple(one.entry(attempt.namespace) for one in refused),
        error=error,
    )
    return Fact(cause=Cause.GENERATED_VALUES, detail=detail, objects=_secrets(refused))


def _renewed(volatile: list[ChangedValue]) -> Fact:
    detail = RenewedCertificates(keys=tuple(map(str, volatile)))
    return Fact(cause=Cause.CERTIFICATES_RENEWED, detail=detail, objects=_secrets(volatile))


def _secrets(values: list[ChangedValue]) -> tuple[ObjectKey, ...]:
    return tuple(dict.fromkeys(one.secret for one in values))

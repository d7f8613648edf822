"""Before an upgrade of a chart, or an installation that takes Secrets over: whether it would renew generated passwords.

Templates without `lookup` make them anew at each rendering. Only Secrets that the plan changes are read; where a value
would change, what is installed is rendered once more: a value that comes out differently is volatile. It is refused
until `spec.config.acceptNewSecrets` lists it, or `spec.config` says the value. That works with lost storage, too. Where
nothing is installed, its values are gone or it did not have the Secret, what is wanted is rendered twice.

The rendering to compare with is kept nowhere. An upgrade that has passed is not judged again: it may be half done.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rukpak_py.apply.plan import TAKES, Action, Change
from rukpak_py.apply.secret_values import (
    ChangedValue,
    Values,
    changed_values,
    is_secret,
    values_of,
    volatile_values,
)
from rukpak_py.apply.target import run_bounded
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.second_rendering import SecondRendering
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import GeneratedValues, RenewedCertificates
from rukpak_py.controllers.result.progress import Fact, Progress
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.helm.settings import settings_of
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import SECRETS

_NAME: Final = "generated secrets"  # among the gates that were passed


class GeneratedSecrets:
    def __init__(self, renderings: SecondRendering) -> None:
        self._renderings = renderings

    async def judge(self, attempt: Attempt, active: Attempt | None, planned: Planned) -> Progress | tuple[Fact, ...]:
        """Before the first write: why it is refused or waits, or what is told about it."""
        passed = attempt.state.passed_gates
        if not attempt.is_nondeterministic or passed.get(_NAME) == attempt.content:
            return ()
        changes = _changes(attempt, planned)
        changed = [one for one in await _changed(changes, planned) if not _is_accepted(one, attempt)]
        if any(one.action in TAKES for one in changes):
            active = None
        found: Progress | tuple[Fact, ...] = await self._told(attempt, active, changed) if changed else ()
        if not isinstance(found, Progress):
            passed[_NAME] = attempt.content
        return found

    async def _told(
        self, attempt: Attempt, active: Attempt | None, changed: list[ChangedValue]
    ) -> Progress | tuple[Fact, ...]:
        once_more = active if active is not None and not active.lacks_values else attempt
        error = ""
        try:
            again = await self._renderings.of(once_more, upgrade=attempt)
            if isinstance(again, Progress):
                return again
            values = _rendered(again, once_more.namespace)
            volatile = volatile_values(changed, values, wanted=once_more is attempt)
        except ContentError as failed:
            volatile, error = changed, str(failed)
        refused = [one for one in volatile if not one.is_certificate]
        if refused:
            return Progress(facts=(_refusal(refused, attempt, error),))
        return (_renewed(volatile),) if volatile else ()


def has_installed(attempt: Attempt) -> bool:
    """Whether this operator has; what the original had installed is taken over."""
    return attempt.installed is not None and attempt.installed.entry is not None


def _is_accepted(one: ChangedValue, attempt: Attempt) -> bool:
    accepted = settings_of(attempt.deployment.spec.config or {}).accept_new_secrets
    return one.entry(attempt.namespace) in accepted or one.entry("") in accepted


def _changes(attempt: Attempt, planned: Planned) -> list[Change]:
    """Of Secrets. What half an installation has left behind is nothing that has been in use."""
    actions = {*TAKES, Action.UPDATE} if has_installed(attempt) else TAKES
    return [one for one in planned.plan.changes if one.action in actions and is_secret(one.key)]


async def _changed(changes: Sequence[Change], planned: Planned) -> list[ChangedValue]:
    live: dict[ObjectKey, Mapping[str, bytes]] = {}

    async def read(key: ObjectKey) -> None:
        try:
            live[key] = values_of(await planned.target.client.get(SECRETS, key.namespace, key.name))
        except NotFoundError:
            live[key] = {}

    await run_bounded(read, [one.key for one in changes])
    return changed_values(live, {one.key: values_of(one.payload.body) for one in changes})


def _rendered(objects: Iterable[Object], namespace: str) -> Values:
    return {_at_home(one.head.key, namespace): values_of(one.json) for one in objects if is_secret(one.head.key)}


def _at_home(key: ObjectKey, namespace: str) -> ObjectKey:
    return key if key.namespace else key._replace(namespace=namespace)


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

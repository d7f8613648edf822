"""Before an upgrade of a chart: whether it would renew passwords that the chart generated.

Templates without `lookup` make them anew at each rendering. Only Secrets that the plan changes are read; where a value
would change, what is installed is rendered once more: a value that comes out differently is volatile. It refuses the
upgrade until `spec.config.acceptNewSecrets` lists it, or `spec.config` says the value. That works with lost storage,
too, and where values of the installed content are gone, what is wanted is rendered twice.

The rendering to compare with is kept nowhere. An upgrade that has passed is not judged again: it may be half done.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from rukpak_py.apply.plan import Action
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
        """Of an upgrade, before its first write: why it is refused or waits, or what is told about it."""
        passed = attempt.state.passed_gates
        if not attempt.is_nondeterministic or passed.get(_NAME) == attempt.content:
            return ()
        changed = [one for one in await _changed(planned) if not _is_accepted(one, attempt)]
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


def _is_accepted(one: ChangedValue, attempt: Attempt) -> bool:
    accepted = settings_of(attempt.deployment.spec.config or {}).accept_new_secrets
    return one.entry(attempt.namespace) in accepted or one.entry("") in accepted


async def _changed(planned: Planned) -> list[ChangedValue]:
    changes = [one for one in planned.plan.changes if one.action is Action.UPDATE and is_secret(one.key)]
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

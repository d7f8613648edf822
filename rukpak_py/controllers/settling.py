"""After everything is applied: health, then pruning, then the final word.

Health comes from the watches; nothing is asked. What left the content goes when the new content is healthy (or applied,
if the deployment says so), within its budget. What may not be pruned is let go: it loses our marks and stays.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import (
    BundleDeployment,
    BundleTemplate,
    InstalledKind,
    PruneWhen,
)
from rukpak_py.api.bundle_deployment import Installation as Installed
from rukpak_py.api.conditions import Summary
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, GROUP, ConditionStatus, Reason
from rukpak_py.apply.health import HealthStatus, describe, has_health
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.live import Live
from rukpak_py.apply.look import still_ours
from rukpak_py.apply.plan import Plan
from rukpak_py.apply.prune import let_go, prune
from rukpak_py.apply.results import Carried
from rukpak_py.apply.target import Target
from rukpak_py.controllers.deployment_status import Aspect, Report
from rukpak_py.controllers.outcome import DONE, WAIT, again, retry
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.session import Session, applied_digest
from rukpak_py.controllers.step import Step
from rukpak_py.controllers.targets import Targets
from rukpak_py.core.metrics import PRUNED
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client

PATIENCE = 1.0  # seconds before a wait that usually ends at once is told in the status
HELD_BACK = 600.0  # seconds of waiting for health before the condition names what is not pruned
HISTORY = 5


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What was just found applied: for whom, and with which content and options."""

    deployment: BundleDeployment
    bundle: Bundle
    session: Session
    key: tuple[str, ...]


class Settling:
    def __init__(
        self, *, client: Client, inventory: Inventory, targets: Targets, events: Recorder, now: Callable[[], str]
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._targets = targets
        self._events = events
        self._now = now

    async def settle(self, applied: Applied, *, target: Target | None = None, plan: Plan | None = None) -> Step:
        """`plan` None: the watches show exactly what was applied."""
        session = applied.session
        lives = self._installed(applied)
        unseen = [live for live in lives if live.health is None and has_health(live.gvk)]
        if unseen and session.waited("health", monotonic()) < PATIENCE:
            return Step(outcome=again(PATIENCE))
        sick = _sick(lives)
        spec = applied.deployment.spec.prune
        if plan is not None and not (sick and spec.when is PruneWhen.AFTER_HEALTHY):
            target = target or self._targets.target(applied.deployment, session.memory)
            step = await self._retire(applied, target, plan)
            if step is not None:
                return step
        if sick:
            return self._unhealthy(applied, sick, plan)
        if not self._is_as_applied(applied) and session.waited("others", monotonic()) < PATIENCE:
            return Step(outcome=again(PATIENCE))  # changed meanwhile: the next look is on its way and has the last word
        session.no_longer_waits("health", "prune", "others")
        message = f"Instantiated bundle {applied.bundle.metadata.name} successfully"
        healthy = Aspect(status=ConditionStatus.TRUE, reason=Reason.HEALTHY, message="BundleDeployment is healthy")
        report = self._report(applied, Summary.READY, Reason.SUCCEEDED, message, healthy)
        return Step(outcome=DONE, report=report, is_finished=True)

    async def _retire(self, applied: Applied, target: Target, plan: Plan) -> Step | None:
        """Delete, or let go, what left the content. A step: pruning is not finished."""
        session, prune_spec = applied.session, applied.deployment.spec.prune
        leaving = [*plan.prune, *await self._stripped(applied, target)]
        if not prune_spec.enabled:
            session.memory.trust([*leaving, *plan.let_go])
            return None
        if prune_spec.max_objects is not None and len(leaving) > prune_spec.max_objects:
            return self._over_budget(applied, leaving, prune_spec.max_objects)
        carried = Carried()
        await prune(self._client, target, leaving, carried)
        for live in plan.let_go:
            await let_go(self._client, target, live, carried)
        if carried.pruned:
            PRUNED.inc(len(carried.pruned))
            self._event(applied, "Pruned", f"deleted {_names(carried.pruned)}, which left the content")
        if carried.failures:
            text = "could not prune: " + " && ".join(failure.message for failure in carried.failures)
            report = self._report(applied, Summary.RETRYING, Reason.RETRYING, text)
            return Step(outcome=retry(), report=report)
        session.retired.clear()
        if (leaving or plan.let_go) and session.waited("prune", monotonic()) < PATIENCE:
            return Step(outcome=again(PATIENCE))  # their deletions are on the way
        return None

    async def _stripped(self, applied: Applied, target: Target) -> list[Live]:
        owned = self._inventory.owned_by(applied.deployment.metadata.uid)
        hidden = [key for key in applied.session.retired if key not in owned]
        return [live for live in await still_ours(self._client, target, hidden) if not live.never_prune]

    def _installed(self, applied: Applied) -> list[Live]:
        owned = self._inventory.owned_by(applied.deployment.metadata.uid)
        return [owned[key] for key in sorted(applied.session.memory.fields) if key in owned]

    def _unhealthy(self, applied: Applied, sick: Sequence[Live], plan: Plan | None) -> Step:
        lines = "\n".join(
            describe(live.gvk, live.key, live.health)
            if live.health
            else f"{live.key} was not seen since it was applied"
            for live in sick
        )
        waited = applied.session.waited("health", monotonic())
        held = len(plan.prune) if plan is not None else 0
        if held and waited >= HELD_BACK:
            lines += (
                f"\n{held} object(s) that left the content are kept until the new content is healthy: "
                f"{_names([live.key for live in plan.prune] if plan else [])}; "
                "set spec.prune.when to AfterApply to delete them now"
            )
        failed = any(live.health is not None and live.health.status is HealthStatus.FAILED for live in sick)
        healthy = Aspect(status=ConditionStatus.FALSE, reason=Reason.UNHEALTHY, message=lines)
        summary = Summary.RETRYING if failed else Summary.PROGRESSING
        report = self._report(applied, summary, Reason.UNHEALTHY, lines, healthy)
        return Step(outcome=again(HELD_BACK - waited) if held and waited < HELD_BACK else WAIT, report=report)

    def _over_budget(self, applied: Applied, leaving: Sequence[Live], most: int) -> Step:
        text = (
            f"{len(leaving)} objects left the content and spec.prune.maxObjects is {most}: nothing was pruned; "
            f"raise it to delete {_names([live.key for live in leaving])}"
        )
        report = self._report(applied, Summary.RETRYING, Reason.PRUNE_BUDGET_EXCEEDED, text)
        return Step(outcome=WAIT, report=report)

    def _report(
        self, applied: Applied, summary: Summary, reason: Reason, message: str, healthy: Aspect | None = None
    ) -> Report:
        bundle = applied.bundle.metadata.name
        return Report(
            summary=summary,
            reason=reason,
            message=message,
            installed=Aspect(
                status=ConditionStatus.TRUE,
                reason=Reason.INSTALLATION_SUCCEEDED,
                message=f"Instantiated bundle {bundle} successfully",
            ),
            healthy=healthy,
            fields=self._fields(applied),
        )

    def _fields(self, applied: Applied) -> dict[str, Any]:
        owned = self._inventory.owned_by(applied.deployment.metadata.uid)
        as_applied = self._is_as_applied(applied)
        kinds = _kinds(owned.values())
        return {
            "active_bundle": applied.bundle.metadata.name,
            "digest": applied.bundle.status.digest,
            "applied_digest": applied_digest(owned.values(), applied.key) if as_applied else "",
            "kinds": kinds if as_applied else _union(applied.deployment.status.kinds, kinds),
            "history": self._history(applied),
        }

    def _is_as_applied(self, applied: Applied) -> bool:
        return applied.session.is_as_applied(self._inventory.owned_by(applied.deployment.metadata.uid))

    def _history(self, applied: Applied) -> tuple[Installed, ...]:
        history, spec = applied.deployment.status.history, applied.deployment.spec
        bundle = applied.bundle
        latest = history[0] if history else None
        if latest is not None and (latest.bundle, latest.digest, latest.config) == (
            bundle.metadata.name,
            bundle.status.digest,
            spec.config,
        ):
            return history
        entry = Installed(
            bundle=bundle.metadata.name,
            digest=bundle.status.digest,
            time=self._now(),
            config=spec.config,
            template=_template(bundle),
        )
        return (entry, *history)[:HISTORY]

    def _event(self, applied: Applied, reason: str, message: str) -> None:
        metadata = applied.deployment.metadata
        self._events.normal(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, reason, message)


def _sick(lives: Iterable[Live]) -> list[Live]:
    return [live for live in lives if has_health(live.gvk) and not (live.health and live.health.is_healthy)]


def _kinds(lives: Iterable[Live]) -> tuple[InstalledKind, ...]:
    found = {live.gvk.group_kind: live.gvk for live in lives}
    return tuple(InstalledKind(group=gvk.group, version=gvk.version, kind=gvk.kind) for _, gvk in sorted(found.items()))


def _union(one: Iterable[InstalledKind], other: Iterable[InstalledKind]) -> tuple[InstalledKind, ...]:
    found = {(kind.group, kind.kind): kind for kind in (*one, *other)}
    return tuple(kind for _, kind in sorted(found.items()))


def _template(bundle: Bundle) -> BundleTemplate:
    """The template that brings exactly this content back: its source is the resolved one."""
    metadata = bundle.metadata
    labels = {name: value for name, value in metadata.labels.items() if not name.startswith(f"{GROUP}/")}
    return BundleTemplate(
        metadata=TemplateMeta(labels=labels, annotations=metadata.annotations),
        spec=replace(bundle.spec, source=bundle.status.resolved_source or bundle.spec.source),
    )


def _names(keys: Iterable[ObjectKey]) -> str:
    listed = [str(key) for key in keys]
    more = f" and {len(listed) - 10} more" if len(listed) > 10 else ""
    return ", ".join(listed[:10]) + more

"""Carries a plan out: what has to stand in the status first, the writes, and what came of them.

A difference to what was applied is drift when the same content with the same options was applied before. What somebody
changes again as often as it is reverted is left alone for a minute at a time.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic

from rukpak_py.api.bundle_deployment import KeptObject
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, EventReason
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.object_failures import failure_of
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.ownership import adopted
from rukpak_py.apply.plan import make_plan
from rukpak_py.apply.preflight.refusal import WaitsFor, ended_by
from rukpak_py.apply.prune import prune
from rukpak_py.apply.results import ChangeSet, Failure, FailureKind
from rukpak_py.apply.target import Target
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.certificates import CertificateStage
from rukpak_py.controllers.deployment.failure_reports import failed
from rukpak_py.controllers.deployment.kind_record import KindRecord
from rukpak_py.controllers.deployment.kind_visibility import HiddenKinds
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.stage import StageResult, waiting
from rukpak_py.controllers.outcome import again, retry_unless_stalled
from rukpak_py.controllers.ports import Recorder
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.metrics import APPLIED, DRIFT_CORRECTED
from rukpak_py.core.objects import GroupKind, ObjectKey, canonical_json
from rukpak_py.core.wording import joined, named
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.resources import NAMESPACES

SCHEMA_LAG_SECONDS = 30.0  # how long a server may know the old schema of a kind whose CRD was changed
SCHEMA_LAG_INTERVAL_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True)
class AppliedContent:
    """Everything that could be applied is. `resting` is what somebody keeps changing and is left alone for now, `kept`
    what left the content and stays, `hidden` what cannot be seen.
    """

    attempt: Attempt
    planned: Planned | None = None  # None: the watches show exactly what was applied
    resting: frozenset[ObjectKey] = field(default_factory=frozenset)
    kept: tuple[KeptObject, ...] = ()
    hidden: HiddenKinds = field(default_factory=HiddenKinds)


class Applier:
    def __init__(
        self,
        engine: Engine,
        record: KindRecord,
        events: Recorder,
        certificates: CertificateStage,
        *,
        has_namespace: Callable[[str], bool],
    ) -> None:
        self._certificates = certificates
        self._engine = engine
        self._record = record
        self._events = events
        self._has_namespace = has_namespace

    async def apply(self, attempt: Attempt, rendered: Rendered, planned: Planned) -> AppliedContent | StageResult:
        state, is_drift = attempt.state, attempt.is_settled
        writes = [change.key for change in planned.plan.writes]
        resting = state.drift.resting(writes, monotonic()) if is_drift else frozenset[ObjectKey]()
        plan = planned.plan.without(resting)
        if plan.writes:
            failures = await self._prepare(attempt, rendered, planned)
            if failures and not is_drift:
                return replace(self._failed(attempt, failures, is_drift=False), wrote_nothing=True)
        if plan.writes or rendered.hooks:
            try:
                await self._record.record(attempt.deployment, rendered.desired, rendered.hooks)
            except (NotFoundError, StaleError):
                return StageResult(outcome=again(1.0), wrote_nothing=True)  # its event is on the way
        if plan.writes and not is_drift:
            state.applying(attempt.content)
        known = frozenset(key for key, seen in state.applied.fields.items() if seen)
        change_set = await self._engine.apply(planned.target, plan, served_by=rendered.served_by)
        self._note(attempt, change_set, drifted=known if is_drift else frozenset())
        unfinished = self._unfinished(attempt, planned, change_set, is_drift=is_drift)
        kept = attempt.deployment.status.kept
        return unfinished or AppliedContent(attempt=attempt, planned=planned, resting=resting, kept=kept)

    async def apply_before_hooks(self, attempt: Attempt, rendered: Rendered, planned: Planned) -> StageResult | None:
        """What hooks may need: the definitions that come first, and the namespace that is ours. None: it is there."""
        first = [key for key in rendered.keys if _comes_before_hooks(key, attempt, rendered)]
        applied = await self.apply(attempt, rendered, replace(planned, plan=planned.plan.only(first)))
        return applied if isinstance(applied, StageResult) else None

    async def _prepare(self, attempt: Attempt, rendered: Rendered, planned: Planned) -> list[Failure]:
        """What has to be there before the first object: the namespace that the content chose, and certificates."""
        name = rendered.facts.namespace
        try:
            if name and not self._has_namespace(name):
                await _make_namespace(planned.target, name)
        except RukPakError as error:
            return [failure_of(NAMESPACES.key("", name), error)]
        issued = await self._certificates.issue_missing(attempt)
        return issued.failures

    async def withdraw(self, attempt: Attempt, planned: Planned, owned: dict[ObjectKey, ObservedObject]) -> None:
        """A first install that lost a race for a name is refused like one that came later: nothing of it stays.

        Only what the attempt that lost had made itself, and never what others may have filled since: CRDs, namespaces
        and storage. A half install of any other kind stays, is named and is retried.
        """
        created = attempt.state.created.among(owned)
        owner, adopt = planned.target.owner, attempt.deployment.spec.adopt
        plan = make_plan((), live={}, owned=created, fields={}, owner=owner, adopt=adopt)
        change_set = ChangeSet()
        await prune(planned.target, plan.prune, change_set)
        attempt.state.created.clear()
        if change_set.pruned:
            text = f"deleted {named(sorted(change_set.pruned))}, created by the installation that was refused"
            self._emit_warning(attempt, EventReason.WITHDRAWN, text)

    def _unfinished(
        self, attempt: Attempt, planned: Planned, change_set: ChangeSet, *, is_drift: bool
    ) -> StageResult | None:
        """A result when something could not be applied, or has to be waited for."""
        state = attempt.state
        if change_set.failures:
            state.applied.absent.clear()  # what was free may be why
            failure_kinds = {failure.kind for failure in change_set.failures}
            text = joined(failure.message for failure in change_set.failures)
            return lagging(attempt, failure_kinds, text) or self._failed(
                attempt, change_set.failures, is_drift=is_drift
            )
        state.waits.over("schema", "schema lag")
        if change_set.waiting:
            text = f"Waiting: {'; '.join(change_set.waiting[:10])}"
            kinds = frozenset[GroupKind]().union(*(change.desired.defines for change in planned.plan.changes))
            return waiting(state, "objects", text, WaitsFor(kinds=kinds))
        state.waits.over("objects")
        return None

    def _failed(self, attempt: Attempt, failures: Sequence[Failure], *, is_drift: bool) -> StageResult:
        report = failed(attempt.deployment, failures, is_drift=is_drift)
        longest = max(failure.retry_after for failure in failures)
        outcome = retry_unless_stalled(report.summary, longest)
        return StageResult(outcome=outcome, report=report, waits_for=ended_by(failures))

    def _note(self, attempt: Attempt, change_set: ChangeSet, *, drifted: Collection[ObjectKey]) -> None:
        """`drifted`: what was as it should be before. Anything else is seen for the first time by this process."""
        state, now = attempt.state, monotonic()
        reverted = [key for key in change_set.corrected + change_set.created if key in drifted]
        state.drift.corrected(reverted, now)
        lost_a_race = any(failure.kind is FailureKind.CONFLICT for failure in change_set.failures)
        is_first_install = not attempt.deployment.status.active_bundle
        state.created.record(change_set.created if lost_a_race and is_first_install else (), state.applied.uids)
        for action in ("created", "updated", "corrected", "taken"):
            APPLIED.labels(action).inc(len(getattr(change_set, action)))
        for warning in change_set.warnings:
            self._emit_warning(attempt, EventReason.FIELDS_LEFT_OUT, warning)
        for key, why in change_set.replaced.items():
            self._emit_normal(attempt, EventReason.REPLACED, f"deleted and re-created {key}: {why}")
        if change_set.taken:
            self._emit_normal(attempt, EventReason.ADOPTED, adopted(change_set.taken))
        if reverted:
            DRIFT_CORRECTED.inc(len(reverted))
            self._emit_normal(attempt, EventReason.DRIFT_CORRECTED, messages.reverted_drift(reverted))

    def _emit_normal(self, attempt: Attempt, reason: str, text: str) -> None:
        metadata = attempt.deployment.metadata
        self._events.normal(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, reason, text)

    def _emit_warning(self, attempt: Attempt, reason: str, text: str) -> None:
        metadata = attempt.deployment.metadata
        self._events.warning(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, reason, text)


def _comes_before_hooks(key: ObjectKey, attempt: Attempt, rendered: Rendered) -> bool:
    if attempt.makes_namespace and key == NAMESPACES.key("", attempt.install_namespace):
        return True
    shipped = key._replace(namespace="") if key.namespace == attempt.namespace else key
    return not rendered.before_hooks.isdisjoint({key, shipped})


async def _make_namespace(target: Target, name: str) -> None:
    """Others may use it, too, so it is nobody's and is never pruned."""
    manifest = {"apiVersion": "v1", "kind": NAMESPACES.gvk.kind, "metadata": {"name": name}}
    with suppress(AlreadyExistsError):
        await target.client.create(NAMESPACES, "", canonical_json(manifest))


def lagging(attempt: Attempt, failure_kinds: Collection[FailureKind], message: str) -> StageResult | None:
    """The server may not know the schema or the URL of a kind yet whose CRD has just changed: try again for a while."""
    state = attempt.state
    if set(failure_kinds) != {FailureKind.LAGGING} or state.waited("schema", attempt.content) > SCHEMA_LAG_SECONDS:
        return None
    result = waiting(state, "schema lag", f"Waiting: the API server does not know the new schema yet: {message}")
    return StageResult(outcome=again(SCHEMA_LAG_INTERVAL_SECONDS), report=result.report)

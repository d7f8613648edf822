"""Carries a plan out: what has to stand in the status first, the writes, and what came of them.

A difference to what was applied is drift when the same content with the same options was applied before. An object
that another client changes as often as it is reverted is left alone for a minute at a time.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from rukpak_py.api.bundle_deployment import KeptObject
from rukpak_py.apply.engine import LAST_PHASE, Engine
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.apply.plan import Plan, make_plan
from rukpak_py.apply.prune import prune
from rukpak_py.apply.results import ChangeSet, Failure, FailureKind, failure_of, kind_wakes
from rukpak_py.apply.trying_out import Trials, instances_wait
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.certificates import CertificateStage, certificate_failures
from rukpak_py.controllers.deployment.facts import answers_slowly, failure_facts, look_again
from rukpak_py.controllers.deployment.kinds import HiddenKinds, Kinds
from rukpak_py.controllers.deployment.planning import Planned, kinds_coming
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import PendingObjects
from rukpak_py.controllers.result.object_details import Adopted, Replaced, RevertedDrift, Withdrawn
from rukpak_py.controllers.result.progress import Fact, Progress, Reached, Words
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.metrics import APPLIED, DRIFT_CORRECTED
from rukpak_py.core.objects import GroupKind, ObjectKey, canonical_json
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.resources import NAMESPACES

NEW_KIND_SECONDS = 10.0  # in which discovery shows a new kind, and its watch begins
NEW_SCHEMA_SECONDS = 0.5  # in which a server takes up the schema of a CRD that was written
STALE_SECONDS = 1.0  # the event that brings the newer version is usually faster


@dataclass(frozen=True, kw_only=True)
class AppliedContent:
    """Everything that could be applied is. `resting` is what another client keeps changing and is left alone for now,
    `kept` what left the content and stays, `hidden` what cannot be seen. `facts`: what has happened to objects.
    """

    attempt: Attempt
    planned: Planned | None = None  # None: the watches show exactly what was applied
    resting: frozenset[ObjectKey] = field(default_factory=frozenset)
    kept: tuple[KeptObject, ...] = ()
    hidden: HiddenKinds = field(default_factory=HiddenKinds)
    facts: tuple[Fact, ...] = ()


class Applier:
    def __init__(
        self,
        engine: Engine,
        kinds: Kinds,
        certificates: CertificateStage,
        *,
        has_namespace: Callable[[str], bool],
    ) -> None:
        self._certificates = certificates
        self._engine = engine
        self._kinds = kinds
        self._has_namespace = has_namespace

    async def apply(
        self,
        attempt: Attempt,
        rendered: Rendered,
        planned: Planned,
        *,
        is_upgrade: bool = False,
        only: Collection[ObjectKey] | None = None,
    ) -> AppliedContent | Progress:
        """`is_upgrade`: of something else that is installed, so that nothing is written before all that the server can
        judge was tried out. `only`: these objects and nothing else.
        """
        state, is_drift = attempt.state, attempt.is_settled
        writes = [change.key for change in planned.plan.writes]
        resting = state.drift.resting(writes, monotonic()) if is_drift else frozenset[ObjectKey]()
        whole = planned.plan.without(resting)
        plan = whole if only is None else whole.only(only)
        if plan.writes:
            failures = await self._prepare(attempt, rendered, planned)
            if failures and not is_drift:
                return Progress(facts=failure_facts(failures))
        if plan.writes or rendered.hooks:
            try:
                await self._kinds.record(attempt.deployment, rendered.desired, rendered.hooks)
            except (NotFoundError, StaleError):
                return Progress(facts=(look_again(STALE_SECONDS),))
        if plan.writes and not is_drift:
            state.applying(attempt.content)
        known = frozenset(key for key, seen in state.applied.fields.items() if seen)
        is_first = attempt.installed is None  # of an upgrade the server was asked before, and drift waits for nothing
        stop = _stop(attempt, rendered, planned, plan, whole) if is_upgrade else ()
        change_set = await self._engine.apply(
            planned.target,
            plan,
            served_by=rendered.served_by,
            names_all=is_first,
            trials=self._trials(attempt, whole) if is_upgrade else None,
            until=ApplyPhase.CRDS if stop else LAST_PHASE,
        )
        if is_upgrade and instances_wait(plan, whole):
            state.schemas_changed_at = monotonic()
        if not is_drift:
            state.written |= {*change_set.created, *change_set.updated, *change_set.taken, *change_set.corrected}
        happened = self._note(attempt, change_set, drifted=known if is_drift else frozenset())
        unfinished = self._unfinished(attempt, planned, change_set)
        if unfinished:
            return Progress(facts=(*happened, *unfinished), reached=Reached.PARTLY)
        if stop:
            return Progress(facts=(*happened, *stop), reached=Reached.PARTLY)
        kept = attempt.deployment.status.kept
        return AppliedContent(
            attempt=attempt, planned=planned, resting=resting, kept=kept, hidden=planned.hidden, facts=happened
        )

    async def correct(self, attempt: Attempt, planned: Planned) -> tuple[Fact, ...]:
        """Write what drifted, and nothing else. What is new about it, and what could not be corrected."""
        drifted = frozenset(change.key for change in planned.plan.writes)
        change_set = await self._engine.apply(planned.target, planned.plan)
        return (*self._note(attempt, change_set, drifted=drifted), *failure_facts(change_set.failures))

    async def apply_before_hooks(
        self, attempt: Attempt, rendered: Rendered, planned: Planned, *, is_upgrade: bool
    ) -> AppliedContent | Progress:
        """Apply what hooks may need: the definitions that come first, and the namespace that is ours."""
        first = [key for key in rendered.keys if _comes_before_hooks(key, attempt, rendered)]
        return await self.apply(attempt, rendered, planned, is_upgrade=is_upgrade, only=first)

    @staticmethod
    def _trials(attempt: Attempt, plan: Plan) -> Trials:
        tried = attempt.state.tried.of(attempt.content)
        return Trials(plan=plan, tried=tried, has_account=attempt.account is not None)

    async def _prepare(self, attempt: Attempt, rendered: Rendered, planned: Planned) -> list[Failure]:
        """Create what the first object needs: the namespace that the content chose, and certificates."""
        name = rendered.facts.namespace
        try:
            if name and not self._has_namespace(name):
                # Without an owner: other clients may use it, too, so it is never pruned.
                manifest = {"apiVersion": "v1", "kind": NAMESPACES.gvk.kind, "metadata": {"name": name}}
                with suppress(AlreadyExistsError):
                    await planned.target.client.create(NAMESPACES, "", canonical_json(manifest))
        except RukPakError as error:
            return [failure_of(NAMESPACES.key("", name), error)]
        issued = await self._certificates.issue_missing(attempt)
        return certificate_failures(issued.failures)

    async def withdraw(
        self, attempt: Attempt, planned: Planned, owned: dict[ObjectKey, ObservedObject]
    ) -> tuple[Fact, ...]:
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
        if not change_set.pruned:
            return ()
        return (Fact(cause=Cause.WITHDRAWN, detail=Withdrawn(), objects=tuple(sorted(change_set.pruned))),)

    @staticmethod
    def _unfinished(attempt: Attempt, planned: Planned, change_set: ChangeSet) -> tuple[Fact, ...]:
        """Facts about objects that could not be applied, or are waited for."""
        if change_set.failures:
            attempt.state.applied.absent.clear()  # what was free may be why
            attempt.state.tried.forget()
            return failure_facts(change_set.failures)
        if change_set.postponed:
            return (answers_slowly(attempt.state.pace, len(change_set.postponed)),)
        if not change_set.waiting:
            return ()
        kinds = frozenset[GroupKind]().union(*(change.desired.defines for change in planned.plan.changes))
        detail = PendingObjects(waits=tuple(change_set.waiting))
        return (Fact(cause=Cause.OBJECTS_PENDING, detail=detail, wakes=kind_wakes(kinds)),)

    @staticmethod
    def _note(attempt: Attempt, change_set: ChangeSet, *, drifted: Collection[ObjectKey]) -> tuple[Fact, ...]:
        """`drifted`: what was as it should be before. Anything else is seen for the first time by this process."""
        state, now = attempt.state, monotonic()
        reverted = [key for key in change_set.corrected + change_set.created if key in drifted]
        state.drift.repaired(reverted, now)
        lost_a_race = any(failure.kind is FailureKind.CONFLICT for failure in change_set.failures)
        is_first_install = not attempt.deployment.status.active_bundle
        state.created.record(change_set.created if lost_a_race and is_first_install else (), state.applied.uids)
        for action in ("created", "updated", "corrected", "taken"):
            APPLIED.labels(action).inc(len(getattr(change_set, action)))
        return tuple(_happened(change_set, reverted))


def schema_lag(state: DeploymentState, now: float) -> float:
    """Seconds in which instances may still be judged by a schema that was replaced."""
    return state.schemas_changed_at + NEW_SCHEMA_SECONDS - now


def _stop(attempt: Attempt, rendered: Rendered, planned: Planned, plan: Plan, whole: Plan) -> tuple[Fact, ...]:
    """Waits of an upgrade after its CRDs, before it writes anything else: instances are looked at and tried out
    then. `plan`: what is applied now. A kind that stays hidden for long holds back its own objects alone.
    """
    brought = frozenset[GroupKind]().union(*(change.desired.defines for change in plan.changes))
    coming = brought & {one.head.gvk.group_kind for one in planned.later}
    appearing = (brought & planned.hidden.unexplained) - rendered.served_by.keys()
    if not appearing:
        attempt.state.waits.over("new kinds")
    elif (left := NEW_KIND_SECONDS - attempt.state.waited("new kinds", attempt.content)) > 0:
        return kinds_coming(coming | appearing), look_again(left)
    if coming:
        return (kinds_coming(coming),)
    return (look_again(NEW_SCHEMA_SECONDS),) if instances_wait(plan, whole) else ()


def _happened(change_set: ChangeSet, reverted: Sequence[ObjectKey]) -> Iterator[Fact]:
    for warning in change_set.warnings:
        yield Fact(cause=Cause.FIELDS_LEFT_OUT, detail=Words(words=warning))
    for key, why in change_set.replaced.items():
        yield Fact(cause=Cause.REPLACED, detail=Replaced(why=why), objects=(key,))
    if change_set.taken:
        yield Fact(cause=Cause.ADOPTED, detail=Adopted(), objects=tuple(change_set.taken))
    if reverted:
        DRIFT_CORRECTED.inc(len(reverted))
        yield Fact(cause=Cause.DRIFT_CORRECTED, detail=RevertedDrift(), objects=tuple(reverted))


def _comes_before_hooks(key: ObjectKey, attempt: Attempt, rendered: Rendered) -> bool:
    if attempt.makes_namespace and key == NAMESPACES.key("", attempt.install_namespace):
        return True
    shipped = key._replace(namespace="") if key.namespace == attempt.namespace else key
    return not rendered.content.before_hooks.isdisjoint({key, shipped})

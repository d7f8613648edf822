"""Brings the content of one Bundle into the cluster and keeps it there (design section 9).

Fast path: the watches show exactly what was applied; no call, nothing rendered. After a restart one hash in the status
proves the same. Otherwise: render, look, plan, check, record the kinds, apply; what follows is `Settling`'s.

Nothing is written while the plan refuses anything, or before the kinds of what is written stand in the status: whatever
happens to this process, the next one knows where to look for what the deployment owns.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, Reason
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.live import Live
from rukpak_py.apply.look import look
from rukpak_py.apply.plan import Action, Change, Plan, make_plan
from rukpak_py.apply.prune import prune
from rukpak_py.apply.results import Carried
from rukpak_py.apply.target import Target
from rukpak_py.controllers import failures
from rukpak_py.controllers.books import Books
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment_status import Report
from rukpak_py.controllers.outcome import WAIT, Outcome, again, retry
from rukpak_py.controllers.ports import Recorder
from rukpak_py.controllers.rendering import Rendering, Request, Wanted
from rukpak_py.controllers.session import Session, applied_digest
from rukpak_py.controllers.settling import Applied, Settling
from rukpak_py.controllers.step import Step
from rukpak_py.controllers.targets import Targets
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.metrics import APPLIED, DRIFT_CORRECTED
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import NAMESPACES

SYNC = 5.0  # seconds to wait for the first list of a kind
PATIENCE = 1.0  # seconds before a wait that usually ends at once is told in the status


class Installation:
    def __init__(
        self,
        *,
        client: Client,
        inventory: Inventory,
        engine: Engine,
        cluster: Cluster,
        rendering: Rendering,
        former: Callable[[BundleDeployment], Iterable[Bundle]],
        targets: Targets,
        settling: Settling,
        books: Books,
        events: Recorder,
        system_namespace: str,
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._engine = engine
        self._cluster = cluster
        self._rendering = rendering
        self._former = former
        self._targets = targets
        self._settling = settling
        self._books = books
        self._events = events
        self._system_namespace = system_namespace

    async def bring(self, deployment: BundleDeployment, bundle: Bundle, session: Session) -> Step:
        if not await self._watching(deployment):
            return Step(outcome=again(PATIENCE))
        owned = self._inventory.owned_by(deployment.metadata.uid)
        request = self._request(deployment, bundle)
        self._recall(deployment, request, session, owned)
        await self._look_back(request, session)
        if session.settled_on == request.key and session.is_as_applied(owned):
            return await self._settling.settle(
                Applied(deployment=deployment, bundle=bundle, session=session, key=request.key)
            )
        try:
            wanted = await self._rendering.wanted(request)
        except RukPakError as error:
            return Step(outcome=_unloadable_until(error), report=failures.unloadable(error), wrote_nothing=True)
        if wanted is None:
            self._books.want_content(bundle)
            return self._patiently(session, "content", "its content is fetched again")
        blocker = self._blocker(deployment, wanted)
        if blocker is not None:
            return Step(outcome=retry(), report=blocker, is_blocked=True, wrote_nothing=True)
        session.no_longer_waits("content")
        return await self._carry_out(deployment, bundle, session, request, wanted)

    async def _carry_out(
        self, deployment: BundleDeployment, bundle: Bundle, session: Session, request: Request, wanted: Wanted
    ) -> Step:
        """Plan, check, write."""
        served = [
            resource
            for resource in wanted.resolution.resources.values()
            if resource.group_kind not in wanted.resolution.new_kinds
        ]
        self._inventory.watch(served)
        if not await self._inventory.wait_synced((resource.group_kind for resource in served), SYNC):
            return Step(outcome=again(PATIENCE))
        target = self._targets.target(deployment, session.memory, wanted.resolution)
        plan = await self._plan(deployment, session, target, wanted)
        if plan.refused:
            session.memory.absent.clear()
            await self._withdraw(deployment, session, target)
            return Step(
                outcome=retry(),
                report=failures.refused(deployment, plan.refused),
                wrote_nothing=True,
                contested=frozenset(change.key for change in plan.refused),
            )
        lost = [change for change in plan.changes if _lost_its_owner(change)]
        is_suspicious = bool(lost) or session.is_fought_over(_created(plan), monotonic())
        if (lost or plan.count(Action.CREATE)) and not await self._books.still_exists(
            deployment, is_suspicious=is_suspicious
        ):
            return Step(outcome=WAIT)
        if self._is_upgrade(deployment, bundle):
            problems = await self._engine.dry_run(target, plan, skip=_not_checkable(plan))
            if problems:
                return Step(outcome=retry(), report=failures.failed(deployment, problems), wrote_nothing=True)
        if plan.writes:
            deployment = await self._books.record_kinds(deployment, wanted)
        carried = await self._engine.apply(target, plan)
        is_drift = session.settled_on == request.key
        self._tell(deployment, session, carried, is_drift=is_drift)
        if carried.failures:
            report = failures.failed(deployment, carried.failures, is_drift=is_drift)
            longest = max(failure.retry_after for failure in carried.failures)
            stalled = report.summary is Summary.STALLED
            return Step(outcome=WAIT if stalled else retry(longest), report=report)
        if carried.waiting:
            return self._patiently(session, "objects", "; ".join(carried.waiting[:10]))
        session.no_longer_waits("objects")
        if wanted.resolution.new_kinds:
            return Step(outcome=again(0.1))  # established, and discovery has not seen them yet
        self._retire(session, {one.key for one in wanted.desired})
        session.settled_on = request.key
        session.unfinished.clear()
        applied = Applied(deployment=deployment, bundle=bundle, session=session, key=request.key)
        return await self._settling.settle(applied, target=target, plan=plan)

    async def _withdraw(self, deployment: BundleDeployment, session: Session, target: Target) -> None:
        """A first install that lost a race for a name is refused like one that came later: nothing of it stays."""
        owned = self._inventory.owned_by(deployment.metadata.uid)
        created = {key: owned[key] for key, uid in session.unfinished.items() if key in owned and owned[key].uid == uid}
        plan = make_plan((), live={}, owned=created, fields={}, owner=target.owner, adopt=deployment.spec.adopt)
        carried = Carried()
        await prune(self._client, target, plan.prune, carried)
        for key in carried.pruned:
            session.unfinished.pop(key, None)

    async def _plan(self, deployment: BundleDeployment, session: Session, target: Target, wanted: Wanted) -> Plan:
        live = await look(
            self._client,
            self._inventory,
            target,
            (one.key for one in wanted.desired),
            new_kinds=wanted.resolution.new_kinds,
        )
        return make_plan(
            wanted.desired,
            live=live,
            owned=self._inventory.owned_by(deployment.metadata.uid),
            fields=session.memory.fields,
            owner=target.owner,
            adopt=deployment.spec.adopt,
        )

    async def _watching(self, deployment: BundleDeployment) -> bool:
        """The kinds that the status names are watched and were listed once."""
        resources = self._targets.resources(deployment)
        self._inventory.watch(resources)
        return await self._inventory.wait_synced((resource.group_kind for resource in resources), SYNC)

    def _request(self, deployment: BundleDeployment, bundle: Bundle) -> Request:
        namespace = deployment.spec.install_namespace or self._system_namespace
        known = self._inventory.get(NAMESPACES.key("", namespace))
        is_ours = known is not None and known.owner_uid == deployment.metadata.uid
        return Request(
            deployment=deployment,
            bundle=bundle,
            install_namespace=namespace,
            make_namespace=deployment.spec.create_namespace and (is_ours or not self._cluster.has_namespace(namespace)),
        )

    def _recall(
        self, deployment: BundleDeployment, request: Request, session: Session, owned: Mapping[ObjectKey, Live]
    ) -> None:
        """After a restart: the status proves that what the cluster shows is what was applied."""
        status = deployment.status
        if (
            session.memory.is_empty
            and status.applied_digest
            and status.digest == request.bundle.status.digest
            and status.applied_digest == applied_digest(owned.values(), request.key)
        ):
            session.memory.trust(owned.values())
            session.settled_on = request.key

    async def _look_back(self, request: Request, session: Session) -> None:
        """After a restart in the middle of a pivot: what did the content before have?"""
        if session.looked_back or not session.memory.is_empty:
            return
        session.looked_back = True
        for former in self._former(request.deployment):
            if former.metadata.uid == request.bundle.metadata.uid or not former.status.digest:
                continue
            with suppress(ContentError):
                wanted = await self._rendering.wanted(replace(request, bundle=former))
                session.retired |= {one.key for one in wanted.desired} if wanted is not None else set()

    def _blocker(self, deployment: BundleDeployment, wanted: Wanted) -> Report | None:
        """Kinds and namespaces that are not there and that the content does not bring."""
        if wanted.resolution.missing:
            return failures.missing_kinds(deployment, wanted.resolution.missing)
        brought = {one.key.name for one in wanted.desired if one.head.gvk.group_kind == NAMESPACES.group_kind}
        needed = {one.key.namespace for one in wanted.desired if one.key.namespace} - brought
        absent = sorted(name for name in needed if not self._cluster.has_namespace(name))
        return failures.missing_namespaces(deployment, absent) if absent else None

    def _is_upgrade(self, deployment: BundleDeployment, bundle: Bundle) -> bool:
        return bool(deployment.status.digest) and deployment.status.digest != bundle.status.digest

    def _retire(self, session: Session, desired: set[ObjectKey]) -> None:
        """Names of former content: what the watch does not show of them is asked for before pruning ends."""
        former = session.memory.fields.keys() - desired
        session.retired |= former
        session.retired -= desired
        for key in former:
            session.memory.forget(key)

    def _patiently(self, session: Session, what: str, message: str) -> Step:
        """A wait that a watch ends. It is told only when it lasts."""
        if session.waited(what, monotonic()) < PATIENCE:
            return Step(outcome=again(PATIENCE))
        text = f"Waiting: {message}"
        return Step(
            outcome=again(30.0),
            report=Report(summary=Summary.PROGRESSING, reason=Reason.PROGRESSING, message=text),
        )

    def _tell(self, deployment: BundleDeployment, session: Session, carried: Carried, *, is_drift: bool) -> None:
        if session.settled_on:
            session.created_again(carried.created, monotonic())
        if not deployment.status.active_bundle:
            session.unfinished |= {key: session.memory.uids[key] for key in carried.created}
        for action in ("created", "updated", "corrected", "taken"):
            APPLIED.labels(action).inc(len(getattr(carried, action)))
        name, uid = deployment.metadata.name, deployment.metadata.uid
        for warning in carried.warnings:
            self._events.warning(BUNDLE_DEPLOYMENT_KIND, name, uid, "FieldsLeftOut", warning)
        put_back = carried.corrected + carried.created
        if put_back and is_drift:
            DRIFT_CORRECTED.inc(len(put_back))
            text = f"put {len(put_back)} object(s) back: {', '.join(map(str, put_back[:5]))}"
            self._events.normal(BUNDLE_DEPLOYMENT_KIND, name, uid, "DriftCorrected", text)


def _unloadable_until(error: RukPakError) -> Outcome:
    """Wrong content needs another Bundle; a worker that died or a server that did not answer, another try."""
    return WAIT if isinstance(error, ContentError) else retry(getattr(error, "retry_after", None) or 0.0)


def _created(plan: Plan) -> list[ObjectKey]:
    return [change.key for change in plan.changes if change.action is Action.CREATE]


def _lost_its_owner(change: Change) -> bool:
    """Ours by its labels alone. Of a deployment that is deleted with `orphan` this is seen before the deletion is; to
    give the owner back then would hand the object to the collector.
    """
    return change.action is Action.TAKE and change.live is not None and bool(change.live.labelled_for)


def _not_checkable(plan: Plan) -> Callable[[Change], bool]:
    """What cannot be dry-run yet: objects in namespaces that the plan creates, and of kinds that it defines."""
    writes = plan.writes
    namespaces = {change.key.name for change in writes if change.desired.head.gvk.group_kind == NAMESPACES.group_kind}
    kinds: set[GroupKind] = set().union(*(change.desired.defines for change in writes))

    def skip(change: Change) -> bool:
        return change.key.namespace in namespaces or change.desired.head.gvk.group_kind in kinds

    return skip

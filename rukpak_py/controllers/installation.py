"""Brings the content of one Bundle into the cluster and keeps it there (design section 9).

Fast path: the watches show exactly what was applied; no call, nothing rendered. After a restart one hash in the status
proves the same. Otherwise: render, look, plan, check, record the kinds, apply; what follows is `Settling`'s.

Nothing is written while the plan refuses anything, or before the kinds of what is written stand in the status: whatever
happens to this process, the next one knows where to look for what the deployment owns.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from rukpak_py.apply.look import field_managers, look
from rukpak_py.apply.plan import Plan, make_plan
from rukpak_py.apply.prune import prune
from rukpak_py.apply.results import Carried, Trouble
from rukpak_py.apply.target import Target
from rukpak_py.controllers import failures, preflight
from rukpak_py.controllers.books import Books
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment_status import Report
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, again, retry
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
from rukpak_py.kube.resources import CRDS, NAMESPACES, Resource

SYNC = 0.5  # seconds to wait for the first list of a kind
FIGHT = 60.0  # seconds between two corrections of what somebody else changes again and again
FILLED_BY_OTHERS = frozenset(
    {
        NAMESPACES.group_kind,
        CRDS.group_kind,
        GroupKind("", "PersistentVolume"),
        GroupKind("", "PersistentVolumeClaim"),
    }
)
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
        claimant: Callable[[ObjectKey, str], str | None],
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
        self._claimant = claimant
        self._targets = targets
        self._settling = settling
        self._books = books
        self._events = events
        self._system_namespace = system_namespace

    async def bring(self, deployment: BundleDeployment, bundle: Bundle, session: Session) -> Step:
        resources = self._targets.resources(deployment)
        if not await self._are_listed(resources):
            return self._unlisted(session, resources)
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
        blocker = preflight.blocker(deployment, wanted, self._cluster.has_namespace)
        if blocker is not None:
            return Step(outcome=_until(blocker), report=blocker, is_blocked=True, wrote_nothing=True)
        session.no_longer_waits("content")
        return await self._carry_out(deployment, bundle, session, request, wanted)

    async def keep(self, deployment: BundleDeployment, bundle: Bundle, session: Session) -> Step:
        """Keep the active content as it should be while its successor is refused.

        Only when nothing of the successor was written since: half an upgrade is not drift, and to undo it here, to be
        done again at the next try, would go on for ever.
        """
        request = self._request(deployment, bundle)
        self._recall(deployment, request, session, self._inventory.owned_by(deployment.metadata.uid))
        if session.settled_on != request.key:
            return Step(outcome=DONE)
        return await self.bring(deployment, bundle, session)

    async def _carry_out(
        self, deployment: BundleDeployment, bundle: Bundle, session: Session, request: Request, wanted: Wanted
    ) -> Step:
        """Plan, check, write."""
        served = [
            resource
            for resource in wanted.resolution.resources.values()
            if resource.group_kind not in wanted.resolution.new_kinds
        ]
        if not await self._are_listed(served):
            return self._unlisted(session, served)
        session.no_longer_waits("lists")
        target = self._targets.target(deployment, session.memory, wanted.resolution)
        plan = await self._plan(deployment, session, target, wanted)
        stop = await self._check(deployment, bundle, session, target, plan)
        if stop is not None:
            return stop
        is_drift = session.settled_on == request.key
        fought = session.fought_over((change.key for change in plan.writes), monotonic()) if is_drift else frozenset()
        plan = plan.without(fought)
        if plan.writes:
            deployment = await self._books.record_kinds(deployment, wanted)
            if not is_drift:
                session.settled_on = ()  # neither the old content nor the new: nothing is as it was applied
        carried = await self._engine.apply(target, plan)
        self._tell(deployment, session, carried, is_drift=is_drift)
        stop = self._unfinished(deployment, session, carried, is_drift=is_drift)
        if stop is not None:
            return stop
        if fought:
            return Step(outcome=again(FIGHT), report=await self._fight(deployment, target, fought))
        if wanted.resolution.new_kinds:
            return Step(outcome=again(0.1))  # established, and discovery has not seen them yet
        self._retire(session, {one.key for one in wanted.desired})
        session.settled_on = request.key
        session.unfinished.clear()
        session.contested = frozenset()
        applied = Applied(deployment=deployment, bundle=bundle, session=session, key=request.key)
        return await self._settling.settle(applied, target=target, plan=plan)

    async def _check(
        self, deployment: BundleDeployment, bundle: Bundle, session: Session, target: Target, plan: Plan
    ) -> Step | None:
        """Everything that can be checked before the first write; a step when something speaks against it."""
        if plan.refused:
            session.memory.absent.clear()
            session.contested = frozenset(change.key for change in plan.refused)
            await self._withdraw(deployment, session, target)
            return Step(
                outcome=retry(),
                report=failures.refused(deployment, plan.refused),
                wrote_nothing=True,
                contested=session.contested,
            )
        lost, creates = preflight.lost_their_owner(plan), preflight.creates(plan)
        claimed = self._claimed(deployment, session, creates)
        if claimed:
            session.memory.absent.clear()
            report = failures.claimed(deployment, claimed)
            return Step(outcome=retry(), report=report, wrote_nothing=True, contested=session.contested)
        is_suspicious = bool(lost) or session.went_again(creates, monotonic())
        if (lost or creates) and not await self._books.still_exists(deployment, is_suspicious=is_suspicious):
            return Step(outcome=WAIT)
        if deployment.status.digest and deployment.status.digest != bundle.status.digest:
            problems = await self._engine.dry_run(target, plan, skip=preflight.not_checkable(plan))
            if problems:
                report = failures.failed(deployment, problems)
                return Step(outcome=_until(report), report=report, wrote_nothing=True)
        return None

    def _claimed(
        self, deployment: BundleDeployment, session: Session, creates: Iterable[ObjectKey]
    ) -> dict[ObjectKey, str]:
        """Names that are free for a moment only: the deployment that they were refused for is about to fill them."""
        wanted = session.contested & set(creates)
        found = {key: self._claimant(key, deployment.metadata.uid) for key in wanted}
        return {key: name for key, name in found.items() if name is not None}

    def _unfinished(
        self, deployment: BundleDeployment, session: Session, carried: Carried, *, is_drift: bool
    ) -> Step | None:
        """A step when something could not be applied, or has to be waited for."""
        if carried.failures:
            session.memory.absent.clear()  # what was free may be why
            report = failures.failed(deployment, carried.failures, is_drift=is_drift)
            longest = max(failure.retry_after for failure in carried.failures)
            return Step(outcome=_until(report, longest), report=report)
        if carried.waiting:
            return self._patiently(session, "objects", "; ".join(carried.waiting[:10]))
        session.no_longer_waits("objects")
        return None

    async def _withdraw(self, deployment: BundleDeployment, session: Session, target: Target) -> None:
        """A first install that lost a race for a name is refused like one that came later: nothing of it stays.

        Only what the attempt that lost had made itself, and never what others may have filled since: definitions,
        namespaces and storage. A half install of any other kind stays, is named and is retried.
        """
        owned = self._inventory.owned_by(deployment.metadata.uid)
        created = {key: owned[key] for key, uid in session.unfinished.items() if key in owned and owned[key].uid == uid}
        plan = make_plan((), live={}, owned=created, fields={}, owner=target.owner, adopt=deployment.spec.adopt)
        carried = Carried()
        await prune(self._client, target, plan.prune, carried)
        session.unfinished.clear()
        if carried.pruned:
            metadata, text = deployment.metadata, f"took back {', '.join(map(str, sorted(carried.pruned)[:10]))}"
            self._events.warning(BUNDLE_DEPLOYMENT_KIND, metadata.name, metadata.uid, "Withdrawn", text)

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

    async def _are_listed(self, resources: Sequence[Resource]) -> bool:
        """The kinds are watched and were listed once. A kind that cannot be listed must not hold a worker."""
        self._inventory.watch(resources)
        return await self._inventory.wait_synced((resource.group_kind for resource in resources), SYNC)

    def _unlisted(self, session: Session, resources: Iterable[Resource]) -> Step:
        kinds = self._inventory.unsynced(resource.group_kind for resource in resources)
        names = ", ".join(sorted(f"{kind.kind}.{kind.group}" if kind.group else kind.kind for kind in kinds))
        return self._patiently(session, "lists", f"the API server has not listed {names} yet", after=PATIENCE)

    async def _fight(self, deployment: BundleDeployment, target: Target, fought: Iterable[ObjectKey]) -> Report:
        """Somebody else wants it differently, and insists. Correcting at full speed would only burn the API server."""
        texts = []
        for key in sorted(fought)[:5]:
            others = await field_managers(self._client, target, key)
            texts.append(f"{key} is changed again and again by {' and '.join(others) or 'somebody'}")
        message = f"{'; '.join(texts)}: it is put back once a minute only. Make them stop, or change the bundle"
        self._events.warning(
            BUNDLE_DEPLOYMENT_KIND, deployment.metadata.name, deployment.metadata.uid, Reason.CONFLICT, message
        )
        return Report(summary=Summary.RETRYING, reason=Reason.CONFLICT, message=message)

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

    def _retire(self, session: Session, desired: set[ObjectKey]) -> None:
        """Names of former content: what the watch does not show of them is asked for before pruning ends."""
        former = session.memory.fields.keys() - desired
        session.retired |= former
        session.retired -= desired
        for key in former:
            session.memory.forget(key)

    def _patiently(self, session: Session, what: str, message: str, *, after: float = 30.0) -> Step:
        """A wait that a watch ends. It is told only when it lasts."""
        if session.waited(what, monotonic()) < PATIENCE:
            return Step(outcome=again(PATIENCE))
        text = f"Waiting: {message}"
        return Step(
            outcome=again(after),
            report=Report(summary=Summary.PROGRESSING, reason=Reason.PROGRESSING, message=text),
        )

    def _tell(self, deployment: BundleDeployment, session: Session, carried: Carried, *, is_drift: bool) -> None:
        if is_drift:
            session.created_again(carried.created, monotonic())
            session.put_back([*carried.corrected, *carried.created], monotonic())
        session.unfinished = {
            key: session.memory.uids[key]
            for key in carried.created
            if not deployment.status.active_bundle
            and any(failure.trouble is Trouble.CONFLICT for failure in carried.failures)
            and GroupKind(key.group, key.kind) not in FILLED_BY_OTHERS
        }
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


def _until(report: Report, at_least: float = 0.0) -> Outcome:
    """What is told as stalled is not tried again by itself: a status must not say one thing and the queue another."""
    return WAIT if report.summary is Summary.STALLED else retry(at_least)


def _unloadable_until(error: RukPakError) -> Outcome:
    """Wrong content needs another Bundle; a worker that died or a server that did not answer, another try."""
    return WAIT if isinstance(error, ContentError) else retry(getattr(error, "retry_after", None) or 0.0)

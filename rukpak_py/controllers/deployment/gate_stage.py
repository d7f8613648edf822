"""Asks the gates about an attempt: those of one phase, in their order."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import REGISTRY_CLASS
from rukpak_py.apply.crd_review import CrdReview, review_upgrade
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.plan import Change, Plan
from rukpak_py.apply.preflight import GATES, PERMISSIONS, AnyRefusal, Candidate, Gate, GatePhase, PassedWithWarnings
from rukpak_py.apply.preflight.gates import created_keys
from rukpak_py.apply.preflight.olm import managed_by_olm
from rukpak_py.apply.results import DryRun
from rukpak_py.apply.target import Target
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.certificates import certificate_failures
from rukpak_py.controllers.deployment.permission_review import PermissionReview
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.deployment.state_parts import NO_WARNINGS, Passed
from rukpak_py.controllers.existence import Existence
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Words
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CRDS


class Gates:
    def __init__(
        self,
        *,
        engine: Engine,
        cluster: Cluster,
        existence: Existence[BundleDeployment],
        deployments: Cache[BundleDeployment],
        states: DeploymentStates,
        permissions: PermissionReview,
    ) -> None:
        self._engine = engine
        self._cluster = cluster
        self._existence = existence
        self._deployments = deployments
        self._states = states
        self._permissions = permissions

    def candidate(self, attempt: Attempt, rendered: Rendered, active: Attempt | None, target: Target) -> Candidate:
        """Make a candidate before looking. `active`: the installed content; None: none, or its options are lost."""
        applied = attempt.state.applied.fields
        was_begun = bool(attempt.deployment.status.kinds)  # they were recorded before the first write

        async def still_exists(is_doubtful: bool) -> bool:  # noqa: FBT001 - a callback
            return await self._existence.still_exists(attempt.deployment, is_doubtful=is_doubtful)

        async def dry_run(plan: Plan, skip: Callable[[Change], bool]) -> DryRun:
            tried = attempt.state.tried.of(attempt.content)
            return await self._engine.dry_run_on(target, plan, skip=skip, tried=tried, served_by=rendered.served_by)

        bundles = {attempt.bundle.metadata.name, attempt.deployment.status.active_bundle} - {""}
        own = (BUNDLES.key("", name) for name in bundles)
        return Candidate(
            desired=rendered.desired,
            resolution=rendered.resolution,
            requirements=tuple(rendered.content.requirements),
            olm=rendered.content.olm,
            install_namespace=attempt.namespace,
            watch_namespaces=attempt.options.watch_namespaces,
            may_bring_namespaces=attempt.classes.bundle != REGISTRY_CLASS,
            makes_namespace=rendered.facts.namespace,
            wrong_certificates=certificate_failures(rendered.facts.certificates.problems),
            is_installed=attempt.is_settled or (active is not None and active.content == attempt.content),
            is_upgrade=_is_upgrade(attempt, active),
            has_account=attempt.account is not None,
            broken_service=self._cluster.broken_service,
            itself=frozenset({BUNDLE_DEPLOYMENTS.key("", attempt.deployment.metadata.name), *own}),
            has_namespace=self._cluster.has_namespace,
            is_served=lambda gvk: self._cluster.discovery.find(gvk) is not None,
            had=lambda key: key in applied or (was_begun and not applied),
            still_exists=still_exists,
            managed_by_olm=partial(managed_by_olm, target.client, self._cluster.resource_of),
            dry_run=dry_run,
            crd_safety=attempt.deployment.spec.crd_safety,
            review_crd=partial(_review_crd, target.client),
            missing_permissions=partial(self._permissions.missing, attempt, rendered, active, target.client),
        )

    def looked_at(self, attempt: Attempt, candidate: Candidate, plan: Plan) -> Candidate:
        # Names that were refused a moment ago and are free now: their owner puts them back.
        wanted = attempt.state.conflicts & set(created_keys(plan))
        found = {key: self._applied_by(key, attempt.deployment.metadata.uid) for key in wanted}
        returning = {key: name for key, name in found.items() if name is not None}
        return replace(candidate, plan=plan, returning=returning)

    async def refusals(self, phase: GatePhase, attempt: Attempt, candidate: Candidate) -> tuple[AnyRefusal, ...]:
        """Empty: all of them let it pass."""
        gates = [gate for gate in GATES if gate.phase is phase]
        asked = [await gate.ask(candidate) for gate in gates if not gate.costs_calls]
        found = tuple(one for one in asked if one is not None and not isinstance(one, PassedWithWarnings))
        for gate in gates:
            if not found and gate.costs_calls:
                refusal = await self._asked(gate, attempt, candidate)
                found = (refusal,) if refusal is not None else ()
        return found

    async def _asked(self, gate: Gate, attempt: Attempt, candidate: Candidate) -> AnyRefusal | None:
        passed = attempt.state.passed_gates
        before = passed.get(gate.name)
        if gate.holds and before is not None and before.subject == attempt.subject:
            return None
        answer = await gate.ask(candidate)
        if answer is not None and not isinstance(answer, PassedWithWarnings):
            return answer
        if gate.holds:
            passed[gate.name] = Passed(attempt.subject, answer.warnings if answer is not None else NO_WARNINGS)
        return None

    @staticmethod
    def warnings(attempt: Attempt) -> tuple[Fact, ...]:
        """Warnings of the gates that let the content pass, once."""
        warnings, passed = attempt.warnings, attempt.state.passed_gates
        for name in [name for name, one in passed.items() if one.subject == attempt.subject]:
            passed[name] = Passed(attempt.subject)
        return tuple(
            Fact(cause=Cause.CRD_WARNING, detail=Words(words=text), objects=(key,)) for key, text in warnings.items()
        )

    def ask_again(self, attempt: Attempt) -> None:
        """The content has waited since the gates let it pass, and what they have looked at may have changed."""
        for gate in GATES:
            attempt.state.passed_gates.pop(gate.name, None)

    def review_permissions_again(self, attempt: Attempt) -> None:
        """A right has been taken away since the gate let the content pass."""
        attempt.state.passed_gates.pop(PERMISSIONS, None)

    def _applied_by(self, key: ObjectKey, uid: str) -> str | None:
        for other in self._states.applied_by_others(key, uid):
            name = self._deployments.name_of(other)
            deployment = self._deployments.get(name) if name is not None else None
            if deployment is not None and not deployment.metadata.is_deleted and not deployment.spec.suspend:
                return name
        return None


async def _review_crd(client: Client, change: Change) -> CrdReview:
    live = await client.get(CRDS, "", change.key.name)
    return await review_upgrade(client, live, change.payload.body)


def _is_upgrade(attempt: Attempt, active: Attempt | None) -> bool:
    """Other content than what is installed; a change of options alone is one, too. To put back what is, is none."""
    if attempt.installed is None or attempt.installed.entry is None or attempt.is_settled:
        return False
    return active is None or active.content != attempt.content

"""The gates that need the cluster: asked in order, after looking and before the first write."""

from collections.abc import Awaitable, Callable

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import REGISTRY_CLASS
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.preflight import Candidate, Refusal, dry_run, olm, ownership, refusal_before_looking, still_exists
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.existence import Existence
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client


class Gates:
    def __init__(
        self,
        client: Client,
        *,
        engine: Engine,
        cluster: Cluster,
        existence: Existence[BundleDeployment],
        deployments: Cache[BundleDeployment],
        states: DeploymentStates,
        release: Callable[[Attempt], Awaitable[object]],
    ) -> None:
        """`release`: give up fields that the content drops, for whose sake the server would refuse the rest."""
        self._release = release
        self._client = client
        self._engine = engine
        self._cluster = cluster
        self._existence = existence
        self._deployments = deployments
        self._states = states

    def before_looking(self, attempt: Attempt, rendered: Rendered) -> Refusal | None:
        return refusal_before_looking(
            Candidate(
                desired=rendered.desired,
                resolution=rendered.resolution,
                has_namespace=self._cluster.has_namespace,
                is_served=lambda gvk: self._cluster.discovery.find(gvk) is not None,
                requirements=rendered.requirements,
                install_namespace=attempt.namespace,
                watch_namespaces=attempt.options.watch_namespaces,
                may_bring_namespaces=attempt.classes.bundle != REGISTRY_CLASS,
                makes_namespace=rendered.facts.namespace,
                wrong_certificates=rendered.facts.certificates.failures,
            )
        )

    async def of_plan(
        self, attempt: Attempt, rendered: Rendered, planned: Planned, active: Attempt | None
    ) -> Refusal | None:
        """`active`: the same for what is installed; None when nothing is, or when its options are lost."""
        returning = self._about_to_return(attempt, planned)
        refused = ownership.refused(planned.plan) or ownership.free_for_a_moment(returning)
        if refused is not None:
            return refused
        applied = attempt.state.applied.fields
        is_unknown = not applied and bool(attempt.deployment.status.kinds)  # they were recorded before the first write
        gone = await still_exists.refusal(
            planned.plan,
            had=lambda key: is_unknown or key in applied,
            still_exists=lambda is_doubtful: self._existence.still_exists(attempt.deployment, is_doubtful=is_doubtful),
        )
        if gone is not None:
            return gone
        is_installed = attempt.is_settled or (active is not None and active.content == attempt.content)
        if rendered.olm is not None and not is_installed and attempt.state.free_of_olm != attempt.content:
            managed = await olm.refusal(self._client, rendered.olm, self._cluster.resource_of)
            if managed is not None:
                return managed
            attempt.state.free_of_olm = attempt.content
        if not attempt.is_settled:  # also after half an install, or on the way back from half an upgrade
            await self._release(attempt)
        if _is_upgrade(attempt, active):
            return await dry_run.refusal(
                self._engine, planned.target, planned.plan, makes_namespace=rendered.facts.namespace
            )
        return None

    def _about_to_return(self, attempt: Attempt, planned: Planned) -> dict[ObjectKey, str]:
        """Names that were refused a moment ago and are free now: their owner puts them back."""
        wanted = attempt.state.conflicts & set(ownership.created_keys(planned.plan))
        found = {key: self._applied_by(key, attempt.deployment.metadata.uid) for key in wanted}
        return {key: name for key, name in found.items() if name is not None}

    def _applied_by(self, key: ObjectKey, uid: str) -> str | None:
        for other in self._states.applied_by_others(key, uid):
            name = self._deployments.name_of(other)
            deployment = self._deployments.get(name) if name is not None else None
            if deployment is not None and not deployment.metadata.is_deleted and not deployment.spec.suspend:
                return name
        return None


def _is_upgrade(attempt: Attempt, active: Attempt | None) -> bool:
    """Other content than what is installed; a change of options alone is one, too. To put back what is, is none."""
    if not attempt.deployment.status.history or attempt.is_settled:
        return False
    return active is None or active.content != attempt.content

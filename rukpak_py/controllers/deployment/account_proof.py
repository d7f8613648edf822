"""Proof that a deployment may act with the rights of its account, asked before anything is done for it."""

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import ORDERED_DELETION_FINALIZER
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.judging import NO_VERDICT, UNDECIDED, Judging
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import ACCOUNT_REQUIRED
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


class AccountProof:
    def __init__(self, instances: Cache[BundleInstance], identities: Identities, judging: Judging) -> None:
        self._instances = instances
        self._identities = identities
        self._judging = judging

    async def unproven(self, deployment: BundleDeployment, state: DeploymentState) -> Progress:
        """Say why nothing may be done with the rights of its account. NO_PROGRESS: it may."""
        state.verdict = NO_VERDICT
        uid, is_free = deployment.metadata.uid, not self._identities.need_proof(deployment)
        self._judging.noticed(uid, is_free=is_free)
        if is_free and not self._judging.is_asked(uid):
            return NO_PROGRESS
        if deployment.metadata.is_deleted and not is_held_by_us(deployment):
            return NO_PROGRESS
        state.verdict = UNDECIDED
        has_account = self._identities.account_of(deployment) is not None
        state.verdict = await self._judging.judge(
            BUNDLE_DEPLOYMENTS,
            deployment,
            deployment.status.judged,
            has_account=has_account,
            mirrored=self._mirrored(deployment),
        )
        return Progress(facts=(state.verdict.fact,)) if state.verdict.fact is not None else NO_PROGRESS

    def _mirrored(self, deployment: BundleDeployment) -> ObjectMeta | None:
        """Metadata of the BundleInstance whose mirror it is, where it has the same spec."""
        controller = deployment.metadata.controller
        instance = self._instances.get(deployment.metadata.name) if controller is not None else None
        if instance is None or controller is None or instance.metadata.uid != controller.uid:
            return None
        return instance.metadata if instance.spec == deployment.spec else None


def is_held_by_us(deployment: BundleDeployment) -> bool:
    """Whether a deployment of another class is being deleted with our finalizer, which no other client removes."""
    return deployment.metadata.is_deleted and ORDERED_DELETION_FINALIZER in deployment.metadata.finalizers


def without_account(deployment: BundleDeployment) -> list[Fact]:
    """Report that nothing is done; of a deletion only where it waits for our finalizer."""
    if deployment.metadata.is_deleted and not is_held_by_us(deployment):
        return []
    return [Fact(cause=Cause.ACCOUNT_REQUIRED, detail=ACCOUNT_REQUIRED)]

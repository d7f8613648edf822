"""`rukpakctl approve`: lets the upgrade of a BundleDeployment that waits begin, or takes that back.

An approval names the digest of one plan. It is written only while that plan is the one that waits; if another takes
its place right after that, the approval counts for nothing.
"""

from rukpak_py.api.names import APPROVED_ANNOTATION
from rukpak_py.api.upgrades import NOW_SUFFIX, WITHDRAWN, PendingUpgrade
from rukpak_py.cli.cluster.deployments import TRIES, DeploymentCommandError, EditedDeployment, read_deployment
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import StaleError


async def find_pending(client: Client, name: str, digest: str = "") -> tuple[EditedDeployment, PendingUpgrade]:
    """The upgrade that waits. DeploymentCommandError: none does, or its plan is another than that of `digest`."""
    found = await read_deployment(client, name)
    pending, begun = found.deployment.status.pending_upgrade, found.deployment.status.upgrade
    if pending is None:
        why = f": the upgrade to Bundle {begun.bundle} has begun" if begun is not None else ""
        raise DeploymentCommandError(f"no upgrade of BundleDeployment {name} waits{why}")
    if digest and pending.digest != digest:
        raise DeploymentCommandError(
            f"the plan of BundleDeployment {name} that waits is {pending.digest}, not {digest}: nothing is approved"
        )
    return found, pending


async def approve(client: Client, name: str, digest: str, *, now: bool) -> EditedDeployment:
    """`now`: it does not wait for a window."""
    return await _annotate(client, name, digest, f"{digest}{NOW_SUFFIX}" if now else digest)


async def withdraw(client: Client, name: str, digest: str) -> EditedDeployment:
    return await _annotate(client, name, digest, WITHDRAWN)


async def _annotate(client: Client, name: str, digest: str, value: str) -> EditedDeployment:
    for _ in range(TRIES):
        found, _ = await find_pending(client, name, digest)
        if found.edited.metadata.annotations.get(APPROVED_ANNOTATION) == value:
            return found
        try:
            await found.patch(client, {"metadata": {"annotations": {APPROVED_ANNOTATION: value}}})
        except StaleError:
            continue  # another client changed it: the plan may be another
        return found
    raise DeploymentCommandError(f"{found.title} keeps changing; run the command again")

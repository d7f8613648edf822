"""Service accounts: those that permissions name, and (parity aside) those that only deployments name.

The account `default` is every namespace's own. One that the bundle ships as a manifest is merged with ours later.
"""

from collections.abc import Iterator

from rukpak_py.formats.registry_v1.bundle import Bundle, Json
from rukpak_py.formats.registry_v1.render.installation import Installation
from rukpak_py.formats.registry_v1.render.names import DEFAULT_ACCOUNT


def service_accounts(installation: Installation) -> Iterator[Json]:
    """By name: upstream's order is random."""
    bundle = installation.bundle
    names = set(_of_permissions(bundle))
    if not bundle.parity:
        names.update(_of_deployments(bundle))
    for name in sorted(names - {"", DEFAULT_ACCOUNT}):
        yield installation.object("v1", "ServiceAccount", name)


def _of_permissions(bundle: Bundle) -> Iterator[str]:
    for permission in (*bundle.csv.permissions, *bundle.csv.cluster_permissions):
        yield permission.service_account


def _of_deployments(bundle: Bundle) -> Iterator[str]:
    for deployment in bundle.csv.deployments:
        pod = (deployment.spec.get("template") or {}).get("spec") or {}
        yield pod.get("serviceAccountName") or pod.get("serviceAccount") or ""

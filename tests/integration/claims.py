"""Claims on the cluster of tests that start operators with system namespaces of their own, one after the other.

They are killed, and a claim would stand for a minute.
"""

from contextlib import suppress

from rukpak_py.api.names import OPERATOR_NAMESPACE_ANNOTATION
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CRDS
from rukpak_py.runtime.cluster_claim import CRD


async def claim(client: Client, namespace: str | None) -> None:
    """As the operator with this system namespace does; None: the cluster is unclaimed."""
    body = canonical_json({"metadata": {"annotations": {OPERATOR_NAMESPACE_ANNOTATION: namespace}}})
    with suppress(NotFoundError):
        await client.patch(CRDS, "", CRD, body)


async def claimed_by(client: Client) -> str:
    return (await client.get_metadata(CRDS, "", CRD)).annotations.get(OPERATOR_NAMESPACE_ANNOTATION, "")

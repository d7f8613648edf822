"""The leader, as the Lease and the operators themselves name it."""

from contextlib import suppress

from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import LEASES
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant

LEASE = "core.rukpak.io"


async def holder(tenant: Tenant) -> str:
    """The holder of the Lease; empty when it has none, or never had one."""
    with suppress(NotFoundError):
        lease = await tenant.read(LEASES, tenant.system, LEASE)
        return str(lease["spec"].get("holderIdentity") or "")
    return ""


async def term(tenant: Tenant) -> tuple[str, int]:
    """The holder, and how often the Lease has changed hands: the same as long as it was not lost."""
    spec = (await tenant.read(LEASES, tenant.system, LEASE))["spec"]
    return spec["holderIdentity"], spec.get("leaseTransitions", 0)


async def leads(operator: Operator) -> bool:
    return await operator.metric("rukpak_leader") == 1

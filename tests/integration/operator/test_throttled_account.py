"""An account that the API server tells to wait: neither other accounts nor the operator itself become slower."""

import orjson
import pytest

from rukpak_py.core.objects import RBAC_GROUP
from rukpak_py.kube.resources import SERVICE_ACCOUNTS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.granting import RESOURCES
from tests.integration.operator.tenant import Tenant, is_ready
from tests.integration.proxy import Fail, Proxy
from tests.manifests import config_map, manifest, service_account
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("policies")

BUSY, CALM = "busy", "calm"
DEPLOYMENTS = 12  # more than there are workers
RETRY_AFTER = 9  # of a wait this long, repeated three times, each worker would be held for half a minute
SECONDS = 25.0


async def with_account(tenant: Tenant, name: str) -> str:
    """Make an account with the rights of an admin in the namespace; its user name."""
    place = tenant.namespace
    await tenant.admin.create(SERVICE_ACCOUNTS, place, orjson.dumps(service_account(name, place)))
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "admin"}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": place}]
    binding = manifest(f"{RBAC_GROUP}/v1", "RoleBinding", name, place, roleRef=role, subjects=subjects)
    await tenant.admin.create(RESOURCES["RoleBinding"], place, orjson.dumps(binding))
    return f"system:serviceaccount:{place}:{name}"


async def deploy(tenant: Tenant, name: str, account: str = "") -> None:
    """A deployment of one ConfigMap with its own name."""
    await tenant.publish(name, [config_map(name, tenant.namespace, v="1")])
    spec = {"installNamespace": tenant.namespace, "serviceAccountName": account} if account else {}
    await tenant.deploy(name, name=name, **spec)


async def test_account_that_is_told_to_wait_slows_neither_other_accounts_nor_the_operator(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    await operators(kubeconfig=proxy.kubeconfig).start()
    user = await with_account(tenant, BUSY)
    await with_account(tenant, CALM)
    throttle = Fail(match=lambda one: one.user == user, status=429, headers={"Retry-After": str(RETRY_AFTER)})
    proxy.rules.append(throttle)
    names = [f"{tenant.name}-busy-{number}" for number in range(DEPLOYMENTS)]
    for name in names:
        await deploy(tenant, name, BUSY)

    async def is_refused() -> bool:
        return bool(throttle.failed)

    await eventually(is_refused, what="the account is told to wait")
    await deploy(tenant, f"{tenant.name}-calm", CALM)
    await deploy(tenant, f"{tenant.name}-own")
    for name in ("calm", "own"):
        await tenant.ready(name=f"{tenant.name}-{name}", seconds=SECONDS)
    assert not [name for name in names if is_ready(await tenant.deployment(name))]
    assert len(throttle.failed) <= 2 * DEPLOYMENTS, "one request tells that it is still to wait"
    proxy.rules.remove(throttle)
    for name in names:
        await tenant.ready(name=name, seconds=90.0)

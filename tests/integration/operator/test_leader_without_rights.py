"""A process that may not list what it has to watch does not lead, and one that leads gives the lease back.

Everything else works for it, the lease included: it would lead for ever and do nothing.
"""

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import Resource
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.leases import holder, leads
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Fail, Proxy
from tests.waiting import eventually

RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(gvk=GroupVersionKind(RBAC, "v1", "ClusterRole"), plural="clusterroles", namespaced=False)
BINDINGS = Resource(
    gvk=GroupVersionKind(RBAC, "v1", "ClusterRoleBinding"), plural="clusterrolebindings", namespaced=False
)
ELECT = ["--leader-elect"]
IMPATIENT = "tests.integration.operator.impatient"
ALL = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
NEEDED = ("namespaces", "customresourcedefinitions", "bundles", "bundledeployments")
OTHERS = ["leases", "secrets", "configmaps", "events", "validatingwebhookconfigurations"]


class User:
    """A user with the permissions that a ClusterRole of the same name grants."""

    def __init__(self, admin: Client, name: str) -> None:
        self._admin = admin
        self.name = name

    async def may(self, rules: list[dict[str, list[str]]]) -> None:
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": self.name}, "rules": rules}
        await self._admin.apply(ROLES, "", self.name, orjson.dumps(role), field_manager="tests", force=True)
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": self.name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": self.name},
            "subjects": [{"kind": "User", "name": self.name, "apiGroup": RBAC}],
        }
        await self._admin.apply(BINDINGS, "", self.name, orjson.dumps(binding), field_manager="tests", force=True)


async def is_not_ready_because(operator: Operator, words: str) -> bool:
    status, text = await operator.ask("health-probe", "/readyz")
    return status == 503 and words in text


async def is_ready(operator: Operator) -> bool:
    return (await operator.ask("health-probe", "/readyz"))[0] == 200


@pytest.mark.parametrize("missing", NEEDED)
async def test_a_replica_that_may_not_list_what_it_needs_leaves_the_lease_to_others(
    admin: Client, tenant: Tenant, operators: StartOperator, plane: ControlPlane, missing: str
) -> None:
    user = User(admin, f"narrow-{tenant.name}")
    granted = [plural for plural in NEEDED if plural != missing]
    await user.may([{"apiGroups": ["*"], "resources": [*granted, *OTHERS], "verbs": ["*"]}])
    narrow = operators(kubeconfig=plane.user_kubeconfig(user.name), arguments=ELECT)
    narrow.launch()
    words = f'cannot list resource "{missing}"'
    await eventually(lambda: is_not_ready_because(narrow, words), what="it is not ready, and says why")
    assert await narrow.ask("health-probe", "/healthz") == (200, "ok\n")

    able = operators(arguments=ELECT)
    await able.start()
    await eventually(lambda: leads(able), what="another replica leads")
    assert "leading as" not in narrow.log
    await able.stop()
    assert not await holder(tenant)

    await user.may(ALL)
    await eventually(lambda: leads(narrow), what="it leads with the rights", seconds=15)
    await eventually(lambda: is_ready(narrow), what="it is ready")
    assert f"not ready: api: cannot list and watch {missing}" in narrow.log
    assert "may lead: nothing is missing any more" in narrow.log
    assert narrow.log.rindex("server.web: ready") > narrow.log.rindex("server.web: not ready: ")
    assert narrow.is_running
    assert narrow.starts == 1, "it waited, and never ended"


@pytest.mark.parametrize("plural", NEEDED)
async def test_a_leader_that_may_not_list_any_more_gives_the_lease_back_and_ends_once(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, plural: str
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=ELECT, module=IMPATIENT)
    await operator.start()
    await eventually(lambda: leads(operator), what="it leads")

    refuse = Fail(match=lambda exchange: _lists(exchange, plural), status=403)
    proxy.rules.append(refuse)
    proxy.cut(plural)

    await eventually(lambda: _has_ended(operator), what="it ends", seconds=45)
    assert operator.exit_code == 1
    assert f"cannot watch {plural}" in operator.log
    assert "although the API server answers" in operator.log
    assert not await holder(tenant), "the lease was given back"

    operator.launch()
    await eventually(lambda: is_not_ready_because(operator, plural), what="the next process waits")
    assert not await holder(tenant)
    proxy.rules.remove(refuse)
    await eventually(lambda: leads(operator), what="it leads again", seconds=15)
    assert operator.starts == 2, "it ended once"


def _lists(exchange: Exchange, plural: str) -> bool:
    return exchange.method == "GET" and exchange.resource == plural and not exchange.name


async def _has_ended(operator: Operator) -> bool:
    return not operator.is_running

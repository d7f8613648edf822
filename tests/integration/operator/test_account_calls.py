"""Exact numbers of requests for 300 objects of twelve kinds, with the operator's own rights and with an account."""

from collections import Counter
from collections.abc import Awaitable, Callable
from copy import deepcopy

import pytest

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.integration.operator.counting import Calls, calls_during, has_seen, now, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import SERVICES, Tenant
from tests.integration.tenancy.accounts import EVERYTHING, ROLES, create_account
from tests.manifests import Document, config_map, ingress, manifest, service, service_account, workload
from tests.waiting import eventually

EACH = 25
SELECTOR = {"matchLabels": {"app": "x"}}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
RBAC = "rbac.authorization.k8s.io"
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
KINDS = (
    "configmaps",
    "secrets",
    "services",
    "serviceaccounts",
    "roles",
    "rolebindings",
    "deployments",
    "statefulsets",
    "networkpolicies",
    "poddisruptionbudgets",
    "ingresses",
    "replicasets",
)
DIGEST_KEY = Counter({("get", "secrets", "404"): 1, ("create", "secrets", "201"): 1})  # made for the first record
LEFT_OUT = {
    ("patch", "bundledeployments/status", "200"),
    ("get", "serviceaccounts", "200"),
    ("get", "/version", "200"),
    ("get", "validatingadmissionpolicies", "200"),
    ("get", "validatingadmissionpolicybindings", "200"),
    ("watch", "validatingadmissionpolicies", "200"),
    ("watch", "validatingadmissionpolicybindings", "200"),
    ("dry_run", "bundles", "403"),
    ("dry_run", "bundledeployments", "403"),
}


def made(number: int, space: str) -> list[Document]:
    """One object of each kind."""
    name = f"x-{number}"
    sets = {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}
    role = {"apiGroup": RBAC, "kind": "Role", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": space}]
    return [
        config_map(name, space, v="1"),
        manifest("v1", "Secret", name, space, stringData={"v": "1"}),
        service(name, space),
        service_account(name, space),
        manifest(f"{RBAC}/v1", "Role", name, space, rules=deepcopy(RULES)),
        manifest(f"{RBAC}/v1", "RoleBinding", name, space, roleRef=role, subjects=subjects),
        workload(name, space),
        manifest("apps/v1", "StatefulSet", name, space, spec=sets),
        manifest("networking.k8s.io/v1", "NetworkPolicy", name, space, spec={"podSelector": SELECTOR}),
        manifest("policy/v1", "PodDisruptionBudget", name, space, spec={"minAvailable": 1, "selector": SELECTOR}),
        ingress(name, space),
        manifest("apps/v1", "ReplicaSet", name, space, spec=sets),
    ]


def objects(tenant: Tenant) -> list[Document]:
    return [one for number in range(EACH) for one in made(number, tenant.namespace)]


def upgraded(tenant: Tenant) -> list[Document]:
    """Seven objects are changed, three are gone."""
    kept = [
        one
        for one in objects(tenant)
        if (one["kind"], one["metadata"]["name"])
        not in {("ConfigMap", "x-24"), ("Service", "x-24"), ("Ingress", "x-24")}
    ]
    for one in kept:
        if one["kind"] == "ConfigMap" and one["metadata"]["name"] in {f"x-{number}" for number in range(5)}:
            one["data"]["v"] = "2"
        if one["kind"] == "Role" and one["metadata"]["name"] in {"x-0", "x-1"}:
            one["rules"][0]["verbs"] = ["get", "list"]
    return kept


@pytest.fixture(params=["own rights", "account"])
async def spec(request: pytest.FixtureRequest, tenant: Tenant) -> Document:
    """The account may do everything in the namespace of the tenant."""
    if request.param == "own rights":
        return {"installNamespace": tenant.namespace}
    account = await create_account(tenant.admin, tenant.namespace, rules=(EVERYTHING,))
    return {"installNamespace": tenant.namespace, "serviceAccountName": account.name}


async def test_three_hundred_objects_of_twelve_kinds_cost_the_same_with_an_account(
    tenant: Tenant, operator: Operator, spec: Document
) -> None:
    has_account = "serviceAccountName" in spec
    content = objects(tenant)
    assert len(content) == 300
    await tenant.publish("v1", content)
    await tenant.publish("v2", upgraded(tenant))

    async def install() -> None:
        await tenant.deploy("v1", **spec)
        await tenant.ready(seconds=60)

    async def upgrade() -> None:
        await tenant.deploy("v2", **spec)
        await tenant.ready(seconds=60)

    async def resync() -> None:
        since = now()
        label = b'{"metadata":{"labels":{"seen":"yes"}}}'
        await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, label, field_manager="another")
        await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "x-9", label, field_manager="another")
        await has_seen(operator, ("configmaps",), since)

    installed = await during(operator, install)
    assert installed == (DIGEST_KEY if has_account else Counter()) + Counter(
        {
            ("get", "configmaps", "200"): 1,  # the source
            **bookkeeping(("create", "bundles", "201")),
            **{("get", plural, "404"): EACH for plural in KINDS},
            **{("apply", plural, "201"): EACH for plural in KINDS},
            **{("watch", plural, "200"): 1 for plural in KINDS},
            # Its roles, but not what binds a role that is not there yet
            **({("dry_run", "roles", "201"): EACH} if has_account else {}),
        }
    )
    assert await during(operator, upgrade) == {
        ("get", "configmaps", "200"): 1,
        **bookkeeping(("create", "bundles", "201"), ("delete", "bundles", "200")),
        ("dry_run", "configmaps", "200"): 5,
        ("dry_run", "roles", "200"): 2,
        ("apply", "configmaps", "200"): 5,
        ("apply", "roles", "200"): 2,
        **{("delete", plural, "200"): 1 for plural in ("configmaps", "services", "ingresses")},
    }
    assert await during(operator, resync) == {}
    drifted = await during(operator, lambda: drift(tenant))
    assert 1 <= drifted.pop(("get", "bundledeployments", "200")) <= 2, "what is missing may have gone with it"
    assert drifted == {
        ("apply", "configmaps", "200"): 2,
        ("apply", "roles", "200"): 1,
        ("apply", "services", "201"): 1,
        ("apply", "configmaps", "201"): 1,
    }
    await operator.stop()
    await operator.start()
    await has_seen(operator, KINDS, 0)
    restarted = await settled(operator)
    assert not {call for call in restarted if call[0] not in {"get", "watch"} and call[1] in KINDS}
    assert all(restarted["watch", plural, "200"] >= 1 for plural in KINDS)

    async def remove() -> None:
        await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
        await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)

    removed = {call: count for call, count in (await during(operator, remove)).items() if call[0] != "watch"}
    if has_account:
        assert removed == {}, "the collector alone removes what an account has installed"
    else:
        assert all(count <= EACH for (verb, _, code), count in removed.items() if (verb, code) == ("delete", "200"))


def bookkeeping(*calls: tuple[str, str, str]) -> dict[tuple[str, str, str], int]:
    return {**dict.fromkeys(calls, 1), ("patch", "bundles/status", "200"): 1}


async def during(operator: Operator, work: Callable[[], Awaitable[object]]) -> Calls:
    """Without writes of the status, because health that comes late is one more, and without what the identity costs.

    The account is looked at once for each plan that writes, and a slow server gets its work in several. The policies
    are looked at for each new state of a deployment, and once a minute.
    """
    found = await calls_during(operator, work)
    return Counter({call: count for call, count in found.items() if count and call not in LEFT_OUT})


async def drift(tenant: Tenant) -> None:
    """Five objects: two edited, one with other rules, two deleted."""
    admin, space = tenant.admin, tenant.namespace
    for name in ("x-10", "x-11"):
        await admin.patch(CONFIG_MAPS, space, name, b'{"data":{"v":"edited"}}', field_manager="another")
    await admin.patch(ROLES, space, "x-3", b'{"rules":[]}', field_manager="another")
    await admin.delete(SERVICES, space, "x-3")
    await admin.delete(CONFIG_MAPS, space, "x-12")

    async def is_corrected() -> bool:
        maps, services = await tenant.owned(CONFIG_MAPS), await tenant.owned(SERVICES)
        role = await tenant.read(ROLES, space, "x-3")
        return (
            len(maps) == len(services) == EACH - 1
            and maps["ConfigMap", "x-10"]["data"] == maps["ConfigMap", "x-11"]["data"] == {"v": "1"}
            and role["rules"] == RULES
        )

    await eventually(is_corrected, what="all five are as the content has them")

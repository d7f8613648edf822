"""Objects of an upgrade that the API server can judge only after a phase of it: they are tried out before the next one.

Nothing of later phases is written while it refuses any of them.
"""

import orjson
import pytest

from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import calls_during
from tests.integration.operator.kinds import instance, things
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import WORKLOADS, Tenant, condition
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document, config_map, crd, manifest, service, service_account, workload
from tests.waiting import eventually

REFUSED_POD = "violates PodSecurity"
SHORT = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}


def limited(most: int) -> Document:
    """A schema in which `spec.a` is at most so long."""
    schema: Document = orjson.loads(orjson.dumps(SHORT))
    schema["properties"]["spec"]["properties"]["a"]["maxLength"] = most
    return schema


def restricted(name: str) -> Document:
    """A namespace in which admission refuses Pods with privileges."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def privileged(name: str, namespace: str) -> Document:
    spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "none"}]}
    return manifest("v1", "Pod", name, namespace, spec=spec)


def impossible_service(place: str) -> Document:
    document = service("impossible", place)
    document["spec"]["ports"][0]["port"] = 99999
    return document


async def installed(tenant: Tenant, *documents: Document) -> None:
    """`settings` with the value 1, beside what is given; `published` makes a successor of it with the value 2."""
    await tenant.publish("v1", [config_map("settings", tenant.namespace, v="1"), *documents])
    await tenant.deploy("v1")
    await tenant.ready()


async def published(tenant: Tenant, *documents: Document, name: str = "v2") -> None:
    await tenant.publish(name, [config_map("settings", tenant.namespace, v="2"), *documents])


async def value(tenant: Tenant) -> str:
    found: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["v"]
    return found


async def refused(tenant: Tenant, *words: str) -> None:
    """The upgrade is refused for all these reasons, and `settings` is as it was."""

    def names_all(deployment: Document) -> bool:
        told = condition(deployment, "Installed")
        return told.get("status") == "False" and all(one in told["message"] for one in words)

    found = await tenant.until(names_all, what=f"refused for {words}")
    assert condition(found, "Installed")["reason"] == "UpgradeFailed"
    assert await value(tenant) == "1"


def applied(proxy: Proxy) -> set[str]:
    return {exchange.resource for exchange in proxy.seen if exchange.is_apply}


async def test_objects_that_admission_refuses_in_a_new_namespace_are_all_named_and_nothing_else_is_written(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    await operators(kubeconfig=proxy.kubeconfig).start()
    await installed(tenant)
    new = f"{tenant.namespace}-new"
    await published(tenant, restricted(new), privileged("agent", new), impossible_service(new))
    proxy.seen.clear()
    await tenant.deploy("v2")
    await refused(tenant, REFUSED_POD, f"Service {new}/impossible", "99999")
    assert applied(proxy) == {"namespaces"}
    await published(tenant, restricted(new), service("web", new), name="v3")
    await tenant.deploy("v3")
    await tenant.ready()
    assert await value(tenant) == "2"


async def test_upgrade_with_a_new_namespace_tries_out_and_applies_each_object_once(
    tenant: Tenant, operator: Operator
) -> None:
    await installed(tenant)
    new = f"{tenant.namespace}-new"
    await published(tenant, restricted(new), config_map("a", new), config_map("b", new), service("web", new))

    async def upgrade() -> None:
        await tenant.deploy("v2")
        await tenant.ready()

    calls = await calls_during(operator, upgrade)
    told = {call: count for call, count in calls.items() if call[0] in {"dry_run", "apply"} or call[2] == "404"}
    assert told == {
        ("get", "namespaces", "404"): 1,
        ("get", "configmaps", "404"): 2,
        ("get", "services", "404"): 1,
        ("dry_run", "namespaces", "201"): 1,
        ("dry_run", "configmaps", "200"): 1,
        ("dry_run", "configmaps", "201"): 2,
        ("dry_run", "services", "201"): 1,
        ("apply", "namespaces", "201"): 1,
        ("apply", "configmaps", "200"): 1,
        ("apply", "configmaps", "201"): 2,
        ("apply", "services", "201"): 1,
    }


async def test_invalid_custom_resource_of_a_new_crd_refuses_the_upgrade_before_the_workload_changes(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    await operators(kubeconfig=proxy.kubeconfig).start()
    await installed(tenant, workload("web", tenant.namespace))
    group = f"{tenant.name}.rukpak.test"
    changed = workload("web", tenant.namespace, imagePullPolicy="Never")
    wrong = [instance(group, "v1", name, tenant.namespace, a="too long") for name in ("one", "two")]
    await published(tenant, changed, crd(group, schema=limited(3)), *wrong)
    proxy.seen.clear()
    await tenant.deploy("v2")
    await refused(tenant, f"Thing.{group}/{tenant.namespace}/one", f"Thing.{group}/{tenant.namespace}/two")
    assert applied(proxy) == {"customresourcedefinitions"}
    right = instance(group, "v1", "one", tenant.namespace, a="ok")
    await published(tenant, changed, crd(group, schema=limited(3)), right, name="v3")
    await tenant.deploy("v3")
    await tenant.ready()
    live = await tenant.read(WORKLOADS, tenant.namespace, "web")
    assert live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] == "Never"
    assert (await tenant.read(things(group), tenant.namespace, "one"))["spec"] == {"a": "ok"}


async def test_instance_that_a_changed_crd_refuses_stops_the_upgrade_after_the_crd(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    await operators(kubeconfig=proxy.kubeconfig).start()
    group = f"{tenant.name}.rukpak.test"
    await installed(tenant, crd(group, schema=SHORT), instance(group, "v1", "one", tenant.namespace, a="something"))
    new = instance(group, "v1", "one", tenant.namespace, a="something else")
    await published(tenant, crd(group, schema=limited(3)), new)
    proxy.seen.clear()
    await tenant.deploy("v2")
    await refused(tenant, f"Thing.{group}/{tenant.namespace}/one")
    assert applied(proxy) == {"customresourcedefinitions"}
    right = instance(group, "v1", "one", tenant.namespace, a="ok")
    await published(tenant, crd(group, schema=limited(3)), right, name="v3")
    await tenant.deploy("v3")
    await tenant.ready()
    assert (await tenant.read(things(group), tenant.namespace, "one"))["spec"] == {"a": "ok"}


async def test_pod_with_a_new_account_is_tried_out_after_the_account(tenant: Tenant, operator: Operator) -> None:
    """Before, admission would refuse it: `serviceaccount "robot" not found`."""
    await installed(tenant)
    account = service_account("robot", tenant.namespace)
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "none"}]}
    await published(tenant, account, manifest("v1", "Pod", "agent", tenant.namespace, spec=spec))
    await tenant.deploy("v2")

    async def is_applied() -> bool:
        return await value(tenant) == "2"

    await eventually(is_applied, what="the upgrade is applied")


def is_apply_of(resource: str) -> Point:
    def match(exchange: Exchange) -> bool:
        return exchange.is_apply and exchange.resource == resource

    return Point(name=f"the apply of {resource}", when=When.AFTER, match=match)


@pytest.mark.parametrize("resource", ["namespaces", "customresourcedefinitions"])
async def test_operator_killed_after_the_phase_refuses_after_its_restart_and_writes_no_more(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, resource: str
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await installed(tenant)
    new, group = f"{tenant.namespace}-new", f"{tenant.name}.rukpak.test"
    wrong: list[Document] = [restricted(new), impossible_service(new)]
    words, made = f"Service {new}/impossible", (NAMESPACES, new)
    if resource == "customresourcedefinitions":
        wrong = [crd(group, schema=limited(3)), instance(group, "v1", "one", tenant.namespace, a="too long")]
        words, made = f"Thing.{group}/{tenant.namespace}/one", (CRDS, f"things.{group}")
    await published(tenant, *wrong)
    strike = Strike(is_apply_of(resource), operator.kill)
    proxy.rules.append(strike)
    await tenant.deploy("v2")
    await strike.fired.wait()
    assert (await tenant.admin.get_metadata(made[0], "", made[1])).uid
    proxy.seen.clear()
    await operator.start()
    await refused(tenant, words)
    assert applied(proxy) <= {resource}, "what was not known to be written may be written again"

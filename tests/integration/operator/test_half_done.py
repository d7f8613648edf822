"""Installations and upgrades that get stuck half way: what was there stays, what was half done can be undone."""

import asyncio

import orjson

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests import manifests
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import SERVICES, Tenant, condition
from tests.manifests import Document
from tests.waiting import eventually

QUOTAS = Resource(gvk=GroupVersionKind("", "v1", "ResourceQuota"), plural="resourcequotas", namespaced=True)


def namespace(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def rival_services(tenant: Tenant, place: str) -> list[Document]:
    """Two that want one address, which is free: a dry run takes each of them, and the server one."""
    await tenant.admin.create(SERVICES, tenant.namespace, orjson.dumps(manifests.service("tried", tenant.namespace)))
    found = (await tenant.read(SERVICES, tenant.namespace, "tried"))["spec"]["clusterIP"]
    await tenant.admin.delete(SERVICES, tenant.namespace, "tried")
    return [manifests.service(name, place, clusterIP=found) for name in ("first", "second")]


async def values(tenant: Tenant) -> dict[str, str]:
    return {name: one["data"]["v"] for (_, name), one in (await tenant.owned(CONFIG_MAPS)).items()}


async def test_putting_the_template_back_undoes_half_an_upgrade(tenant: Tenant, operator: Operator) -> None:
    """One of two Services is refused only when it is applied; the namespace of both is kept by now."""
    new = f"{tenant.namespace}-new"
    await tenant.publish("v1", [manifests.config_map(name, tenant.namespace, v="1") for name in ("one", "two")])
    second = [manifests.config_map(name, tenant.namespace, v="2") for name in ("one", "two")]
    await tenant.publish("v2", [*second, namespace(new), *await rival_services(tenant, new)])
    await tenant.deploy("v1")
    await tenant.ready()
    await tenant.deploy("v2")
    await tenant.until(lambda one: condition(one, "Installed").get("status") == "False", what="refused")
    assert await values(tenant) == {"one": "2", "two": "2"}, "half of it was applied"
    await tenant.deploy("v1")
    found = await tenant.ready()
    assert await values(tenant) == {"one": "1", "two": "1"}
    assert [(one["kind"], one["name"]) for one in found["status"]["kept"]] == [("Namespace", new)]
    assert not (await tenant.admin.get_metadata(NAMESPACES, "", new)).is_deleted


async def test_definitions_of_a_half_install_and_what_users_made_of_them_stay(
    tenant: Tenant, operator: Operator
) -> None:
    """A name that another client takes while the install is stuck ends in a refusal, and takes nothing with it."""
    group = f"{tenant.name}.example.com"
    things = Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=True)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"services": "0"}},
    }
    await tenant.admin.create(QUOTAS, tenant.namespace, orjson.dumps(quota))
    await eventually(lambda: quota_counts(tenant), what="the quota is in force")
    await tenant.publish("v1", [manifests.crd(group), manifests.service("web", tenant.namespace)])
    await tenant.deploy("v1")
    await tenant.until(lambda one: condition(one, "Installed").get("status") == "False", what="stuck")
    mine = await tenant.admin.create(
        things, tenant.namespace, orjson.dumps(manifests.thing(group, "mine", tenant.namespace))
    )
    await tenant.admin.delete(QUOTAS, tenant.namespace, "none")
    await eventually(lambda: taken(tenant), what="the name is taken, or the install was faster")
    final = await tenant.until(
        lambda one: condition(one, "Ready").get("reason") in {"Conflict", "Succeeded"}, what="refused or done"
    )
    assert not (await tenant.admin.get_metadata(CRDS, "", f"things.{group}")).is_deleted, final
    kept = await tenant.admin.get_metadata(things, tenant.namespace, "mine")
    assert (kept.uid, kept.is_deleted) == (mine.metadata.uid, False)


async def quota_counts(tenant: Tenant) -> bool:
    return bool((await tenant.read(QUOTAS, tenant.namespace, "none")).get("status", {}).get("used"))


async def taken(tenant: Tenant) -> bool:
    try:
        await tenant.admin.apply(
            SERVICES,
            tenant.namespace,
            "web",
            orjson.dumps(manifests.service("web", tenant.namespace)),
            field_manager="somebody",
            force=False,
        )
    except ForbiddenError:
        return False
    return True


async def test_a_namespace_with_its_default_account_is_made_once(tenant: Tenant, operator: Operator) -> None:
    """Kubernetes makes the account by itself, usually before we do."""
    new = f"{tenant.namespace}-new"
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": new},
        "imagePullSecrets": [{"name": "registry"}],
    }
    await tenant.publish("v1", [namespace(new), account])
    await tenant.deploy("v1")
    await tenant.until(
        lambda one: condition(one, "Ready").get("reason") in {"Conflict", "Succeeded"}, what="refused or done"
    )
    made = await tenant.admin.get_metadata(NAMESPACES, "", new)
    await tenant.deploy("v1", adopt="IfUnowned")  # what the message says
    await tenant.ready()
    assert (await tenant.admin.get_metadata(NAMESPACES, "", new)).uid == made.uid


async def test_a_kind_that_no_cluster_keeps_is_refused_by_name(tenant: Tenant, operator: Operator) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {"name": "review"},
        "spec": {"user": "somebody", "nonResourceAttributes": {"path": "/", "verb": "get"}},
    }
    await tenant.publish("v1", [manifests.config_map("one", tenant.namespace, v="1"), review])
    await tenant.deploy("v1")
    refused = await tenant.until(lambda one: condition(one, "Stalled").get("status") == "True", what="Stalled")
    assert 'objects of the kind "SubjectAccessReview"' in condition(refused, "Installed")["message"]
    assert await tenant.owned() == {}


async def test_a_fight_is_told_and_fought_slowly(tenant: Tenant, operator: Operator) -> None:
    await tenant.publish("v1", [manifests.config_map("one", tenant.namespace, v="1")])
    await tenant.deploy("v1")
    await tenant.ready()
    reverts = 0

    async def fought() -> bool:
        nonlocal reverts
        live = await tenant.read(CONFIG_MAPS, tenant.namespace, "one")
        if live["data"]["v"] == "1":
            reverts += 1
            await tenant.admin.patch(
                CONFIG_MAPS, tenant.namespace, "one", b'{"data":{"v":"theirs"}}', field_manager="stubborn"
            )
        return condition(await tenant.deployment(), "Ready").get("reason") == "FieldsContested"

    await eventually(fought, what="the fight is told")
    message = condition(await tenant.deployment(), "Ready")["message"]
    assert f'"stubborn" keeps changing ConfigMap {tenant.namespace}/one; reverting at most once a minute' in message
    told_at = reverts
    for _ in range(20):  # a full-speed fight would do hundreds meanwhile
        await fought()
        await asyncio.sleep(0.05)
    assert reverts <= told_at + 1

"""A deployment that is served as an account while the admission policies are in force, and changes to it."""

from typing import Any

import orjson

from rukpak_py.api.names import BUNDLE_INSTANCE_KIND, RECONCILE_AT_ANNOTATION
from rukpak_py.api.policies.document import Document
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, CONFIG_MAPS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.tenancy.accounts import create_account, rule
from tests.manifests import config_map
from tests.waiting import eventually

MISSING, UNJUDGED = "PolicyMissing", "NotJudged"


async def serve(tenant: Tenant, operator: Operator) -> None:
    """Start the operator, and deploy what it serves as the tenant's account."""
    await create_account(tenant.admin, tenant.namespace, rules=(rule("configmaps"),))
    for version in ("v1", "v2"):
        await tenant.publish(version, [config_map("settings", tenant.namespace, v=version)])
    await operator.start()
    await deploy(tenant, "v1")
    await tenant.ready()


async def deploy(tenant: Tenant, version: str, **spec: Any) -> None:
    await tenant.deploy(version, installNamespace=tenant.namespace, serviceAccountName="installer", **spec)


async def write_again(tenant: Tenant, value: str) -> None:
    body = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: value}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)


async def version_of(tenant: Tenant) -> str:
    return str((await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["v"])


async def becomes(tenant: Tenant, reason: str, *words: str) -> Document:
    def is_so(deployment: Document) -> bool:
        ready = condition(deployment, "Ready")
        return ready.get("reason") == reason and all(word in ready["message"] for word in words)

    return await tenant.until(is_so, what=f"Ready has the reason {reason}", seconds=90.0)


async def drifts(tenant: Tenant, value: str) -> None:
    body = orjson.dumps({"data": {"v": value}})
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "settings", body, field_manager="another")


async def is_corrected(tenant: Tenant, version: str) -> None:
    async def look() -> bool:
        return await version_of(tenant) == version

    await eventually(look, what="drift is corrected")


async def make_instance(tenant: Tenant) -> str:
    """Make a BundleInstance with the account of the deployment, and content `v4`; its name, once it is installed."""
    name = f"{tenant.name}-i"
    tenant.sees_to(name)
    live = await tenant.deployment()
    await tenant.publish("v4", [config_map("of-instance", tenant.namespace, v="4")])
    spec = {**live["spec"], "template": await template(tenant, "v4")}
    body = {**live, "kind": BUNDLE_INSTANCE_KIND, "metadata": {"name": name}, "spec": spec}
    body.pop("status")
    await tenant.admin.create(BUNDLE_INSTANCES, "", orjson.dumps(body))
    await tenant.ready(name=name)
    return name


async def template(tenant: Tenant, version: str) -> Document:
    await tenant.deploy(version, name=f"{tenant.name}-t", suspend=True)
    found: Document = (await tenant.deployment(f"{tenant.name}-t"))["spec"]["template"]
    return found

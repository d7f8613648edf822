"""A package that OLM itself manages is left alone, and said so."""

from typing import Any

import orjson
import pytest

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import Resource
from tests.integration.definitions import install, remove
from tests.integration.operator.olm import published
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.unit.bundles import crd

GROUP = "operators.coreos.com"
SUBSCRIPTIONS = Resource(
    gvk=GroupVersionKind(GROUP, "v1alpha1", "Subscription"), plural="subscriptions", namespaced=True
)
CSVS = Resource(
    gvk=GroupVersionKind(GROUP, "v1alpha1", "ClusterServiceVersion"), plural="clusterserviceversions", namespaced=True
)


def served(resource: Resource) -> dict[str, Any]:
    version = {"name": "v1alpha1", "served": True, "storage": True}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return crd(resource.plural, group=GROUP, kind=resource.gvk.kind, versions=[{**version, "schema": schema}])


def head(resource: Resource) -> dict[str, Any]:
    return {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind}


@pytest.mark.parametrize("by", ["subscription", "csv", "label"])
async def test_a_package_that_olm_manages(tenant: Tenant, operator: Operator, by: str) -> None:
    package = f"demo-{tenant.namespace}"
    spec = await published(tenant, package)
    await install(tenant.admin, [served(resource) for resource in (SUBSCRIPTIONS, CSVS)])
    try:
        await managed(tenant, package, spec, by)
    finally:
        for resource in (SUBSCRIPTIONS, CSVS):
            await remove(tenant.admin, resource.plural, GROUP)


async def managed(tenant: Tenant, package: str, spec: dict[str, Any], by: str) -> None:
    resource, name, labels = {
        "subscription": (SUBSCRIPTIONS, "mine", {}),
        "csv": (CSVS, f"{package}.v1.0.0", {}),
        "label": (CSVS, f"{package}.v0.9.0", {f"{GROUP}/{package}.{tenant.namespace}": ""}),
    }[by]
    copied = {**head(CSVS), "metadata": {"name": f"{package}.v1.0.0", "labels": {"olm.copiedFrom": "x"}}}
    await tenant.admin.create(CSVS, tenant.system, orjson.dumps(copied))
    other = {**head(SUBSCRIPTIONS), "metadata": {"name": "other"}, "spec": {"name": "another-package"}}
    await tenant.admin.create(SUBSCRIPTIONS, tenant.namespace, orjson.dumps(other))
    theirs = {**head(resource), "metadata": {"name": name, "labels": labels}, "spec": {"name": package}}
    await tenant.admin.create(resource, tenant.namespace, orjson.dumps(theirs))

    await tenant.deploy(**spec)
    told = f'OLM manages the package "{package}" in this cluster ({resource.gvk.group_kind}/{tenant.namespace}/{name})'
    await tenant.until(
        lambda one: told in condition(one, "Installed").get("message", ""), what="it says who manages it"
    )
    await tenant.admin.delete(resource, tenant.namespace, name)
    await tenant.deploy(**spec, suspend=False)  # a change: it is looked at again at once
    await tenant.ready()

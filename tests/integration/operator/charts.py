"""Charts with one template in ConfigMaps, and BundleDeployments of them."""

import orjson

from rukpak_py.api.names import API_VERSION, HELM_CLASS
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document
from tests.unit.charts import METADATA, config_map


async def publish(tenant: Tenant, text: str, name: str = "chart", *, crds: str = "") -> list[Document]:
    """A chart with one template, and one file in crds/ where there is any; the items of its source."""
    files = {"web": {"Chart.yaml": METADATA}, "web/templates": {"a.yaml": text}}
    files |= {"web/crds": {"crds.yaml": crds}} if crds else {}
    items = []
    for number, (path, data) in enumerate(files.items()):
        body = {"metadata": {"name": f"{name}-{number}"}, "immutable": True, "data": data}
        await tenant.admin.create(CONFIG_MAPS, tenant.system, orjson.dumps(body))
        items.append({"path": path, "configMap": {"name": f"{name}-{number}"}})
    return items


async def deploy(tenant: Tenant, items: list[Document], *, name: str = "", **spec: object) -> None:
    name = name or tenant.name
    tenant.sees_to(name)
    if "serviceAccountName" in spec:
        await tenant.settled()
    inner = {"provisionerClassName": HELM_CLASS, "source": {"type": "configMaps", "configMaps": items}}
    given = {"provisionerClassName": HELM_CLASS, "installNamespace": tenant.namespace, "template": {"spec": inner}}
    body = {"apiVersion": API_VERSION, "kind": "BundleDeployment", "metadata": {"name": name}}
    await tenant.admin.apply(
        BUNDLE_DEPLOYMENTS,
        "",
        name,
        orjson.dumps({**body, "spec": {**given, **spec}}),
        field_manager="user",
        force=True,
    )


async def barrier(tenant: Tenant, name: str) -> None:
    """A chart that is installed after all that was to be rendered before it: charts are rendered one by one."""
    items = await publish(tenant, config_map(name), name=name)
    await deploy(tenant, items, name=f"{tenant.name}-{name}")
    await tenant.ready(name=f"{tenant.name}-{name}")

"""OLM bundles of a tenant: one operator with a CRD of the package's own group, scaled to nothing, so healthy."""

from collections.abc import Sequence
from typing import Any

import orjson

from rukpak_py.api.names import REGISTRY_CLASS
from rukpak_py.content.tree import Tree
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.operator.tenant import Tenant
from tests.unit.bundles import bundle, crd, csv_document, deployment, owned_crd

PATHS = ("manifests", "metadata")


def files_of(
    package: str,
    *,
    webhooks: Sequence[dict[str, Any]] = (),
    version: str = "1.0.0",
    more_versions: Sequence[str] = (),
) -> Tree:
    """`more_versions`: of the CRD, served and not stored."""
    group = f"{package}.example.com"
    idle = deployment()
    idle["spec"]["replicas"] = 0
    csv = csv_document(
        f"{package}.v{version}",
        owned=[owned_crd(f"demos.{group}")],
        deployments=[idle],
        webhooks=webhooks or None,
        version=version,
    )
    definition = crd(group=group)
    schema = definition["spec"]["versions"][0]["schema"]
    definition["spec"]["versions"] += [
        {"name": one, "served": True, "storage": False, "schema": schema} for one in more_versions
    ]
    return bundle(csv=csv, crds=[definition], package=package)


async def published(tenant: Tenant, package: str, *, version: str = "1.0.0", **content: Any) -> dict[str, Any]:
    """The spec of a BundleDeployment whose content is there, in one ConfigMap for each path."""
    tree, items = files_of(package, version=version, **content), []
    for path in PATHS:
        name = f"{package}-{version}-{path}"
        data = {file.partition("/")[2]: tree[file].decode() for file in tree if file.startswith(f"{path}/")}
        head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        await tenant.admin.create(CONFIG_MAPS, tenant.system, orjson.dumps({**head, "immutable": True, "data": data}))
        items.append({"path": path, "configMap": {"name": name}})
    source = {"type": "configMaps", "configMaps": items}
    template = {"spec": {"provisionerClassName": REGISTRY_CLASS, "source": source}}
    return {
        "provisionerClassName": REGISTRY_CLASS,
        "installNamespace": tenant.namespace,
        "template": template,
    }

"""Bundles that wait for an upload, and who uploads to an operator of the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import orjson
import yaml

from e2e.cluster.control_plane import ControlPlane
from e2e.kubectl import Kubectl
from rukpak_py.api.names import API_VERSION, PLAIN_CLASS
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLES
from tests.integration.content_clients import Accounts, Caller
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import config_map
from tests.unit.sources.websites import tgz
from tests.waiting import eventually


def archive(tenant: Tenant, value: str = "1") -> bytes:
    return tgz({"manifests/map.yaml": yaml.safe_dump(config_map("one", tenant.namespace, v=value)).encode()})


def accounts(plane: ControlPlane, tenant: Tenant, operator: Operator) -> Accounts:
    url = operator.url("http", "")
    return Accounts(kubectl=Kubectl.on(plane.kubeconfig), namespace=tenant.namespace, url=url, system=tenant.system)


async def admin_of(plane: ControlPlane, tenant: Tenant, operator: Operator) -> Caller:
    return await accounts(plane, tenant, operator).admin()


@asynccontextmanager
async def upload_bundle(tenant: Tenant) -> AsyncIterator[str]:
    """A Bundle, under the tenant's name, until the end of the block."""
    spec = {"provisionerClassName": PLAIN_CLASS, "source": {"type": "upload", "upload": {}}}
    body = {"apiVersion": API_VERSION, "kind": "Bundle", "metadata": {"name": tenant.name}, "spec": spec}
    await tenant.admin.create(BUNDLES, "", orjson.dumps(body))
    try:
        yield tenant.name
    finally:
        with suppress(NotFoundError):
            await tenant.admin.delete(BUNDLES, "", tenant.name)


async def in_phase(tenant: Tenant, phase: str) -> None:
    async def look() -> bool:
        bundle = await tenant.read(BUNDLES, "", tenant.name)
        return bool(bundle.get("status", {}).get("phase") == phase)

    await eventually(look, what=f"the Bundle is {phase}")

"""An installation of the chart on the worker's control plane, and what its operator leaves there: no operator runs.

Pods, which no node runs, are said to be ready; certificates, Lease and endpoints are written as the operator and its
controllers write them. Names of the chart are fixed, and its policies count for the whole control plane: it is removed
at the end, but for the CRDs, which the plane has anyway.
"""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import (
    OPERATOR_DEPLOYMENT,
    OPERATOR_LEASE,
    WEBHOOK_CONFIGURATION,
    WEBHOOK_SERVICE,
    SecretName,
)
from rukpak_py.api.policies.installation import Installation
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.certificates.own_webhooks import own_certificate
from rukpak_py.cli.checks.check import check
from rukpak_py.cli.checks.results import CheckResult, Level
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.core.x509 import issue_ca, issue_serving
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import (
    CRDS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    LEASES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    Resource,
)
from tests.integration.definitions import definitions, install
from tests.integration.operator.narrow import rendered
from tests.integration.policies import install_policies, until_none_refuses
from tests.manifests import Document, service_account
from tests.waiting import eventually

MANAGER = "tests"


@dataclass(frozen=True, kw_only=True)
class Installed:
    admin: Client
    installation: Installation
    objects: tuple[tuple[Resource, Document], ...]

    @property
    def namespace(self) -> str:
        return self.installation.system_namespace

    async def results(self, client: Client | None = None) -> list[CheckResult]:
        return await check(client or self.admin, system_namespace=self.namespace, mode=Mode.CLASSIC, before=False)

    async def wrong(self, client: Client | None = None) -> list[CheckResult]:
        return [one for one in await self.results(client) if one.level is not Level.OK]

    async def change(self, resource: Resource, namespace: str, name: str, *changes: Document) -> None:
        """Send a JSON patch."""
        await self.admin.patch(resource, namespace, name, orjson.dumps(changes), content_type=JSON_PATCH)

    async def write(self, resource: Resource, namespace: str, body: Document) -> None:
        whole = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, **body}
        name = body["metadata"]["name"]
        await self.admin.apply(resource, namespace, name, orjson.dumps(whole), field_manager=MANAGER, force=True)

    async def write_all(self, is_meant: Callable[[Resource], bool]) -> None:
        for resource, one in self.objects:
            if is_meant(resource):
                await self.write(resource, one["metadata"].get("namespace", ""), one)

    async def serve(self, *, issued: datetime | None = None, life: timedelta = timedelta(days=90)) -> None:
        """Certificates, as the leader keeps them."""
        issued = issued or datetime.now(UTC)
        authority = issue_ca(issued)
        serving = issue_serving(authority, own_certificate(self.namespace).hosts, issued, life=life)
        await self._secret(SecretName.CA, {"ca.crt": authority.certificate})
        await self._secret(SecretName.SERVING, {"tls.crt": serving.certificate, "tls.key": serving.key})
        bundle = base64.b64encode(authority.certificate).decode()
        await self.change(
            WEBHOOK_CONFIGURATIONS,
            "",
            WEBHOOK_CONFIGURATION,
            *({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle} for index in range(3)),
        )

    async def lead(self, *, renewed: datetime | None = None) -> None:
        spec = {
            "holderIdentity": "core-0_10.0.0.1",
            "leaseDurationSeconds": 15,
            "renewTime": f"{renewed or datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        }
        await self.write(LEASES, self.namespace, {"metadata": {"name": OPERATOR_LEASE}, "spec": spec})

    async def be_ready(self) -> None:
        """The pod of the Deployment, and the endpoint of the webhook's Service."""
        await eventually(self._pod_is_ready, what="the Deployment is available")
        labels = {"kubernetes.io/service-name": WEBHOOK_SERVICE}
        await self.write(
            ENDPOINT_SLICES,
            self.namespace,
            {
                "metadata": {"name": "webhook", "labels": labels},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
                "ports": [{"name": "webhook", "port": 9443}],
            },
        )

    async def _pod_is_ready(self) -> bool:
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for pod in (await self.admin.list_metadata(PODS, self.namespace)).items:
            with suppress(NotFoundError):
                await self.admin.patch_status(PODS, self.namespace, pod.key.name, orjson.dumps({"status": status}))
        found = orjson.loads(await self.admin.get(DEPLOYMENTS, self.namespace, OPERATOR_DEPLOYMENT))
        conditions = {one["type"]: one["status"] for one in found["status"].get("conditions") or ()}
        return conditions.get("Available") == "True" and found["status"].get("readyReplicas") == 1

    async def _secret(self, name: str, data: dict[str, bytes]) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        await self.write(SECRETS, self.namespace, {"metadata": {"name": str(name)}, "data": encoded})


@asynccontextmanager
async def installed(admin: Client, helm: HelmProgram, namespace: str, **values: object) -> AsyncIterator[Installed]:
    """`values`: of the chart."""
    installation = Installation(
        system_namespace=namespace,
        mode=Mode(str(values.get("mode", Mode.CLASSIC))),
        default_account=str(values.get("defaultServiceAccount", "")),
    )
    discovery = Discovery(admin)
    await discovery.refresh()
    objects: list[tuple[Resource, Document]] = []
    for one in await rendered(helm, namespace, **values):
        resource = discovery.find(GroupVersionKind.parse(one["apiVersion"], one["kind"]))
        assert resource is not None, one["kind"]
        objects.append((resource, one))
    found = Installed(admin=admin, installation=installation, objects=tuple(objects))
    try:
        await found.write_all(lambda resource: resource.gvk != WEBHOOK_CONFIGURATIONS.gvk)
        await install_policies(admin, installation)  # whose probes the webhook, which no server answers, would refuse
        await found.write_all(lambda resource: resource.gvk == WEBHOOK_CONFIGURATIONS.gvk)
        await found.write(SERVICE_ACCOUNTS, namespace, service_account("default", namespace))
        await found.serve()
        await found.lead()
        await found.be_ready()
        yield found
    finally:
        await _remove(found)


async def _remove(found: Installed) -> None:
    for resource, one in reversed(found.objects):
        if resource.gvk != CRDS.gvk:
            with suppress(NotFoundError):
                await found.admin.delete(resource, one["metadata"].get("namespace", ""), one["metadata"]["name"])
    await install(found.admin, definitions())
    await until_none_refuses(found.admin)

"""Exact numbers of requests for an OLM bundle with webhooks: what plain content costs, and its certificates."""

import base64

import orjson
import pytest

from e2e.cluster.pki import Authority
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.resources import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, SECRETS, Resource
from tests.integration.definitions import install, remove
from tests.integration.operator.counting import Calls, calls, calls_during, settled
from tests.integration.operator.olm import published
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.unit.bundles import crd, webhook
from tests.waiting import eventually

VALIDATING = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
CERT_MANAGER = "cert-manager.io"
CA = base64.b64encode(Authority.create("of cert-manager").pair.certificate).decode()
SECRET = "demo-controller-service-cert"
NAMESPACED = ("deployments", "serviceaccounts", "services")
CLUSTER_SCOPED = ("clusterrolebindings", "clusterroles", "customresourcedefinitions", "validatingwebhookconfigurations")
OBJECTS = (*NAMESPACED, *CLUSTER_SCOPED)
FIRST_INSTALL = {
    ("get", "configmaps", "200"): 2,  # the source
    ("create", "bundles", "201"): 1,
    ("patch", "bundles/status", "200"): 1,
    ("patch", "bundledeployments", "200"): 1,  # the finalizer for ordered deletion
    ("patch", "bundledeployments/status", "200"): 2,  # the kinds; applied and healthy
    **{("get", plural, "404"): 1 for plural in OBJECTS},
    **{("apply", plural, "201"): 1 for plural in OBJECTS},
    ("create", "secrets", "201"): 1,  # the serving certificate
    ("apply", "validatingwebhookconfigurations", "200"): 1,  # its CA
}


@pytest.fixture
def package(tenant: Tenant) -> str:
    return f"demo-{tenant.namespace}"


def hook(package: str) -> dict[str, object]:
    rule = {"apiGroups": [f"{package}.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"]}
    return webhook(f"validate.{package}.example.com", rules=[{**rule, "resources": ["demos"]}])


async def installed(tenant: Tenant, package: str, *, is_ready: bool = True, **spec: object) -> None:
    """`is_ready` False: it is only waited for what is installed, which no controller makes healthy."""
    published_spec = await published(tenant, package, webhooks=[hook(package)])
    await tenant.deploy(name=package, **published_spec | spec)
    if is_ready:
        await tenant.ready(name=package)
        return
    await tenant.until(
        lambda seen: condition(seen, "Installed").get("status") == "True", what="it is installed", name=package
    )


def without_watches(found: Calls) -> dict[tuple[str, str, str], int]:
    return {call: count for call, count in found.items() if call[0] != "watch"}


async def test_first_install_makes_the_calls_of_the_table(tenant: Tenant, operator: Operator, package: str) -> None:
    await installed(tenant, f"{package}-first", installNamespace=tenant.system)
    sent = await calls_during(operator, lambda: installed(tenant, package))
    assert without_watches(sent) == FIRST_INSTALL


async def test_a_look_at_what_is_as_it_was_applied(tenant: Tenant, operator: Operator, package: str) -> None:
    await installed(tenant, package)

    async def ask() -> None:
        spec = await tenant.deployment(package)
        await tenant.deploy(name=package, **spec["spec"])

    assert without_watches(await calls_during(operator, ask)) == {}


async def test_removed_ca_costs_one_read_and_one_apply(tenant: Tenant, operator: Operator, package: str) -> None:
    await installed(tenant, package)
    name = f"validate.{package}.example.com"

    async def change() -> None:
        patch = orjson.dumps([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}])
        await tenant.admin.patch(VALIDATING, "", name, patch, content_type=JSON_PATCH)

    repaired = {("get", VALIDATING.plural, "200"): 1, ("apply", VALIDATING.plural, "200"): 1}
    assert without_watches(await calls_during(operator, change)) == repaired


async def test_deleted_secret_costs_one_create_and_one_apply(tenant: Tenant, operator: Operator, package: str) -> None:
    await installed(tenant, package)

    async def delete() -> None:
        await tenant.admin.delete(SECRETS, tenant.namespace, SECRET)

    remade = {("create", "secrets", "201"): 1, ("apply", VALIDATING.plural, "200"): 1}
    assert without_watches(await calls_during(operator, delete)) == remade


async def test_a_restart_reads_the_secret_and_its_caller_and_writes_nothing(
    tenant: Tenant, operator: Operator, package: str
) -> None:
    await installed(tenant, package)
    await operator.stop()
    await operator.start()
    await tenant.ready(name=package)
    caller = ("get", VALIDATING.plural, "200")

    async def has_read_it() -> bool:
        return (await calls(operator))[caller] > 0

    await eventually(has_read_it, what="the content was rendered, and the caller read")
    sent = without_watches(await settled(operator))
    assert {call for call in sent if call[0] not in {"get", "list"}} == set()
    assert sent[caller] == 1
    claim = "customresourcedefinitions"  # does another operator lead in this cluster?
    age = {ADMISSION_POLICIES.plural, ADMISSION_POLICY_BINDINGS.plural, "/version"}  # of the policies
    assert {call[1] for call in sent} <= {VALIDATING.plural, "secrets", "endpointslices", claim, *age}


async def test_the_ca_that_cert_manager_injects_is_left_alone(tenant: Tenant, operator: Operator, package: str) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    kinds = {"certificates": "Certificate", "issuers": "Issuer"}
    crds = [crd(plural, group=CERT_MANAGER, kind=kind, versions=versions) for plural, kind in kinds.items()]
    await install(tenant.admin, crds)
    try:
        await installed(tenant, package, is_ready=False, config={"certificates": "cert-manager"})
        name = f"validate.{package}.example.com"
        body = {"metadata": {"name": name}, "webhooks": [{"name": name, "clientConfig": {"caBundle": CA}}]}
        head = {"apiVersion": VALIDATING.gvk.api_version, "kind": VALIDATING.gvk.kind}

        async def inject() -> None:
            manifest = orjson.dumps({**head, **body})
            await tenant.admin.apply(
                VALIDATING, "", name, manifest, field_manager="cert-manager-cainjector", force=True
            )

        assert without_watches(await calls_during(operator, inject)) == {}
        found = orjson.loads(await tenant.admin.get(VALIDATING, "", name))
        assert found["webhooks"][0]["clientConfig"]["caBundle"] == CA
    finally:
        await tenant.end()  # before its kinds go
        for plural in kinds:
            await remove(tenant.admin, plural, CERT_MANAGER)

"""SIGKILL between the steps of an OLM bundle with webhooks: its namespace, its certificate, the CA of its callers."""

import asyncio
import base64

import orjson
import pytest

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import NAMESPACES, SECRETS, Resource
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.olm import published
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.unit.bundles import webhook
from tests.waiting import until_gone

VALIDATING = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
PATIENCE = 60.0


def is_namespace(exchange: Exchange) -> bool:
    return exchange.is_write and exchange.what == "namespaces"


def is_secret(exchange: Exchange) -> bool:
    return exchange.method == "POST" and exchange.what == "secrets" and exchange.namespace.startswith("demo-")


def is_caller(exchange: Exchange) -> bool:
    return exchange.is_apply and exchange.what == VALIDATING.plural


POINTS = (
    Point(name="the namespace", when=When.AFTER, match=is_namespace),
    Point(name="the Secret", when=When.BEFORE, match=is_secret),
    Point(name="the Secret", when=When.AFTER, match=is_secret),
    Point(name="the CA", when=When.BEFORE, match=is_caller, nth=2),
    Point(name="the CA", when=When.AFTER, match=is_caller, nth=2),
)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.when.value} {point.name}")
async def test_killed(tenant: Tenant, operators: StartOperator, proxy: Proxy, point: Point) -> None:
    package = f"demo-{tenant.namespace}"
    namespace, group = f"{package}-system", f"{package}.example.com"
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["demos"]}
    spec = await published(tenant, package, webhooks=[webhook(f"validate.{group}", rules=[rule])])
    del spec["installNamespace"]
    operator = operators(kubeconfig=proxy.kubeconfig)
    kill = Strike(point, operator.kill)
    proxy.rules = [kill]
    await operator.start()
    await tenant.deploy(name=package, **spec)
    async with asyncio.timeout(PATIENCE):
        await kill.fired.wait()
    proxy.rules = []
    operator.launch()
    await tenant.ready(name=package, seconds=PATIENCE)
    secret = orjson.loads(await tenant.admin.get(SECRETS, namespace, "demo-controller-service-cert"))
    trust = base64.b64decode(secret["data"]["ca.crt"])
    assert trust.count(b"BEGIN CERTIFICATE") == 1  # it was issued once
    configuration = orjson.loads(await tenant.admin.get(VALIDATING, "", f"validate.{group}"))
    assert base64.b64decode(configuration["webhooks"][0]["clientConfig"]["caBundle"]) == trust
    assert (await tenant.deployment(package))["status"]["installNamespace"] == namespace
    await tenant.end()
    await until_gone(tenant.admin, VALIDATING, "", f"validate.{group}")  # by the collector
    await tenant.admin.delete(NAMESPACES, "", namespace)

"""An operator with nothing but the rights that the chart gives it in mode narrow, and accounts that do the rest."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS, NAMESPACES, SECRETS, Resource
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.narrow import WRITE, Rights, Rule, rule
from tests.integration.operator.olm import published
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import WORKLOADS, Tenant, condition
from tests.integration.proxy import Proxy, proxy_before
from tests.manifests import Document, config_map, crd, manifest, thing, workload
from tests.unit.bundles import webhook
from tests.waiting import eventually

INSTALLER = "installer"
NARROW = ["--mode=narrow", "--leader-elect"]
RULES = [
    rule("", "configmaps", "secrets", verbs=WRITE),
    rule("", "pods", verbs=["list"]),
    rule("apps", "deployments", verbs=WRITE),
]
KINDS = (rule("", "configmaps"), rule("apps", "deployments"))
CERTIFICATE = "demo-controller-service-cert"  # the Secret
VALIDATING = Resource(
    gvk=GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
RETRY = 75.0  # seconds; what is refused is tried again once a minute


def secret(name: str, namespace: str, value: str) -> Document:
    return manifest("v1", "Secret", name, namespace, stringData={"password": value})


def settings(tenant: Tenant, value: str) -> Document:
    return config_map("settings", tenant.namespace, v=value)


class Refusals:
    """Requests that the server has refused to the operator, in its own name or in that of an account."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    @property
    def all(self) -> set[str]:
        """But for probes: objects of our own kinds, in a dry run, which the policies refuse to every user."""
        probes = {"bundles", "bundledeployments"}
        return {
            f"{one.method} {one.path}"
            for one in self.proxy.seen
            if one.status == 403 and not (one.is_dry_run and one.resource in probes)
        }


@pytest.fixture
async def other(admin: Client) -> str:
    """Another namespace of the tenant, which stays."""
    name = f"other-{uuid.uuid4().hex[:8]}"
    await admin.create(NAMESPACES, "", orjson.dumps(manifest("v1", "Namespace", name)))
    return name


@pytest.fixture
async def rights(admin: Client, tenant: Tenant, helm: HelmProgram, other: str) -> AsyncIterator[Rights]:
    rights = Rights(admin, tenant, helm)
    await rights.of_chart({tenant.namespace: [INSTALLER], other: [INSTALLER]})
    yield rights
    await rights.end()


@pytest.fixture
async def refusals(plane: ControlPlane, rights: Rights, tmp_path: Path) -> AsyncIterator[Refusals]:
    """Requests of an operator that has its own rights only."""
    async with proxy_before(plane, tmp_path, user=rights.operator) as proxy:
        yield Refusals(proxy)


@pytest.fixture
async def narrow(refusals: Refusals, operators: StartOperator) -> Operator:
    operator = operators(kubeconfig=refusals.proxy.kubeconfig, arguments=NARROW)
    await operator.start()
    return operator


async def deploy(tenant: Tenant, *sources: str, namespace: str = "", **spec: Any) -> None:
    await tenant.deploy(*sources, installNamespace=namespace or tenant.namespace, serviceAccountName=INSTALLER, **spec)


async def drifts(tenant: Tenant, resource: Resource, namespace: str, name: str, data: Document) -> None:
    body = orjson.dumps({"data": data})
    await tenant.admin.patch(resource, namespace, name, body, field_manager="another")


async def until_data(tenant: Tenant, resource: Resource, namespace: str, name: str, data: Document) -> None:
    async def look() -> bool:
        return bool((await tenant.read(resource, namespace, name))["data"] == data)

    await eventually(look, what=f"{resource.gvk.kind} {namespace}/{name} has {data}")


async def removed(tenant: Tenant, *owned: Resource) -> None:
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing(*owned)


def recorded(document: Document) -> dict[str, list[str]]:
    """Namespaces of the kinds in the status."""
    return {kind["kind"]: kind.get("namespaces", []) for kind in document["status"]["kinds"]}


def ready_says(*words: str) -> Callable[[Document], bool]:
    def says(document: Document) -> bool:
        found = condition(document, "Ready").get("message", "") + condition(document, "Installed").get("message", "")
        return all(word in found for word in words)

    return says


async def test_deployment_is_installed_corrected_upgraded_and_removed_without_one_refusal(
    tenant: Tenant, rights: Rights, refusals: Refusals, other: str, narrow: Operator
) -> None:
    group = f"{tenant.name}.rukpak.test"
    mine = [*RULES, rule(group, "things", verbs=WRITE)]
    definitions: list[Rule] = [rule("apiextensions.k8s.io", "customresourcedefinitions", verbs=WRITE)]
    await rights.account(tenant.namespace, INSTALLER, mine, cluster=[*definitions, rule(group, "things")])
    await rights.allowed(other, (tenant.namespace, INSTALLER), mine)
    await rights.watched("kinds", *KINDS, rule(group, "things"))
    for namespace in (tenant.namespace, other):
        await rights.watched("secrets", rule("", "secrets"), namespace=namespace)

    definition, web = crd(group), workload("web", tenant.namespace)
    lasting = [definition, thing(group, "one", tenant.namespace), web, secret("login", tenant.namespace, "a")]
    await tenant.publish("v1", [*lasting, settings(tenant, "1"), secret("old", other, "b")])
    await deploy(tenant, "v1")
    installed = await tenant.ready()
    assert recorded(installed)["Secret"] == sorted([tenant.namespace, other])
    assert recorded(installed)["ConfigMap"] == []

    await drifts(tenant, CONFIG_MAPS, tenant.namespace, "settings", {"v": "2"})
    await drifts(tenant, SECRETS, other, "old", {"password": "eA=="})
    await until_data(tenant, CONFIG_MAPS, tenant.namespace, "settings", {"v": "1"})
    await until_data(tenant, SECRETS, other, "old", {"password": "Yg=="})

    await narrow.stop()
    await drifts(tenant, SECRETS, other, "old", {"password": "eA=="})
    await narrow.start()
    await until_data(tenant, SECRETS, other, "old", {"password": "Yg=="})

    await tenant.publish("v2", [*lasting, settings(tenant, "3")])
    await deploy(tenant, "v2")
    await tenant.ready()
    await tenant.gone(SECRETS, "old", other)
    await tenant.until(lambda one: recorded(one)["Secret"] == [tenant.namespace], what="it is recorded")
    await removed(tenant, CONFIG_MAPS, WORKLOADS, SECRETS, CRDS)
    assert refusals.all == set()


@pytest.mark.usefixtures("narrow")
async def test_deployment_without_an_account_is_refused_and_goes_on_when_it_names_one(
    tenant: Tenant, rights: Rights, refusals: Refusals
) -> None:
    await rights.account(tenant.namespace, INSTALLER, RULES)
    await rights.watched("kinds", *KINDS)
    await tenant.publish("v1", [settings(tenant, "1")])
    await tenant.settled()
    await tenant.deploy("v1")
    told = await tenant.until(lambda one: condition(one, "Ready").get("reason") == "AccountRequired", what="refused")
    assert condition(told, "Stalled")["status"] == "True"
    assert not any(one.resource == "bundles" and one.is_write for one in refusals.proxy.seen)
    await deploy(tenant, "v1")
    await tenant.ready()
    assert refusals.all == set()


@pytest.mark.usefixtures("narrow")
async def test_namespace_whose_secrets_may_not_be_watched_is_named_and_holds_back_its_secrets_only(
    tenant: Tenant, rights: Rights, other: str
) -> None:
    await rights.account(tenant.namespace, INSTALLER, RULES)
    await rights.allowed(other, (tenant.namespace, INSTALLER), RULES)
    await rights.watched("kinds", *KINDS)
    await rights.watched("secrets", rule("", "secrets"), namespace=tenant.namespace)
    content = [settings(tenant, "1"), secret("login", tenant.namespace, "a"), secret("login", other, "b")]
    await tenant.publish("v1", content)
    await deploy(tenant, "v1")
    role = f"bind a Role of the namespace {other} with the rule"
    await tenant.until(ready_says(role, f"Secret in namespace {other}"), what="the pair is named")
    await until_data(tenant, CONFIG_MAPS, tenant.namespace, "settings", {"v": "1"})
    await until_data(tenant, SECRETS, tenant.namespace, "login", {"password": "YQ=="})

    await rights.watched("secrets", rule("", "secrets"), namespace=other)
    await tenant.ready(seconds=RETRY)
    await until_data(tenant, SECRETS, other, "login", {"password": "Yg=="})


async def test_right_to_watch_that_is_gone_after_a_restart_takes_nothing_for_gone(
    tenant: Tenant, rights: Rights, other: str, narrow: Operator
) -> None:
    await rights.account(tenant.namespace, INSTALLER, RULES)
    await rights.allowed(other, (tenant.namespace, INSTALLER), RULES)
    await rights.watched("kinds", *KINDS)
    for namespace in (tenant.namespace, other):
        await rights.watched("secrets", rule("", "secrets"), namespace=namespace)
    content = [settings(tenant, "1"), secret("login", tenant.namespace, "a"), secret("login", other, "b")]
    await tenant.publish("v1", content)
    await deploy(tenant, "v1")
    await tenant.ready()
    before = await tenant.read(SECRETS, other, "login")

    await narrow.stop()
    await rights.unwatched("secrets", namespace=other)
    await narrow.start()
    role = f"watch Secret {other}: Forbidden", f"bind a Role of the namespace {other} with the rule"
    told = await tenant.until(ready_says(*role), what="the pair is named")
    assert condition(told, "Installed")["status"] == "True"
    assert recorded(told)["Secret"] == sorted([tenant.namespace, other])
    await drifts(tenant, SECRETS, tenant.namespace, "login", {"password": "eA=="})
    await until_data(tenant, SECRETS, tenant.namespace, "login", {"password": "YQ=="})

    await tenant.publish("v2", [settings(tenant, "2"), secret("login", tenant.namespace, "a")])
    await deploy(tenant, "v2")
    await until_data(tenant, CONFIG_MAPS, tenant.namespace, "settings", {"v": "2"})
    assert await tenant.read(SECRETS, other, "login") == before, "nothing is pruned where nothing is seen"
    await rights.watched("secrets", rule("", "secrets"), namespace=other)
    await tenant.gone(SECRETS, "login", other)
    await tenant.ready(seconds=RETRY)


@pytest.mark.usefixtures("narrow")
async def test_kind_that_may_not_be_watched_names_the_label_of_the_role_and_goes_on_with_it(
    tenant: Tenant, rights: Rights
) -> None:
    await rights.account(tenant.namespace, INSTALLER, RULES)
    await rights.watched("kinds", rule("", "configmaps"))
    await tenant.publish("v1", [settings(tenant, "1"), workload("web", tenant.namespace)])
    await deploy(tenant, "v1")
    label = 'create a ClusterRole with the label rbac.core.rukpak.io/aggregate-to-watch: "true"'
    await tenant.until(ready_says(label, "resources: [deployments]"), what="the kind is named")
    await until_data(tenant, CONFIG_MAPS, tenant.namespace, "settings", {"v": "1"})
    await rights.watched("more", rule("apps", "deployments"))
    await tenant.ready(seconds=RETRY)


@pytest.mark.usefixtures("narrow")
async def test_two_tenants_install_into_their_own_namespaces_and_not_into_the_other(
    tenant: Tenant, rights: Rights, other: str
) -> None:
    await rights.account(tenant.namespace, INSTALLER, RULES)
    await rights.account(other, INSTALLER, RULES)
    await rights.watched("kinds", *KINDS)
    second = f"{tenant.name}-second"
    await tenant.publish("v1", [settings(tenant, "1")])
    await tenant.publish("v2", [config_map("settings", other, v="2")])
    await tenant.publish("foreign", [config_map("foreign", other, v="3")])
    await deploy(tenant, "v1")
    await deploy(tenant, "v2", name=second, namespace=other)
    await tenant.ready()
    await tenant.ready(name=second)
    third = f"{tenant.name}-third"
    await deploy(tenant, "foreign", name=third)
    lacks = f"ServiceAccount {tenant.namespace}/{INSTALLER} lacks", other
    await tenant.until(ready_says(*lacks), name=third, what="the account may not")
    with pytest.raises(NotFoundError):
        await tenant.read(CONFIG_MAPS, other, "foreign")


async def test_certificates_of_webhooks_wait_for_the_right_to_watch_their_secrets_and_are_kept_with_it(
    tenant: Tenant, rights: Rights, narrow: Operator
) -> None:
    await rights.account(tenant.namespace, INSTALLER, [], cluster=[rule("*", "*", verbs=["*"])])
    await rights.watched(
        "kinds",
        rule("", "services", "serviceaccounts"),
        rule("apps", "deployments"),
        rule("rbac.authorization.k8s.io", "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
        rule("admissionregistration.k8s.io", VALIDATING.plural),
    )
    package = f"demo-{tenant.namespace}"
    group = f"{package}.example.com"
    serving = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["demos"]}
    spec = await published(tenant, package, webhooks=[webhook(f"validate.{group}", rules=[serving])])
    await tenant.deploy(name=package, **{**spec, "installNamespace": tenant.namespace}, serviceAccountName=INSTALLER)
    role = f"bind a Role of the namespace {tenant.namespace} with the rule"
    await tenant.until(ready_says(role), name=package, what="the right is named")

    await rights.watched("secrets", rule("", "secrets"), namespace=tenant.namespace)
    await tenant.ready(name=package, seconds=RETRY)
    first = await tenant.read(SECRETS, tenant.namespace, CERTIFICATE)
    configuration = await tenant.read(VALIDATING, "", f"validate.{group}")
    assert configuration["webhooks"][0]["clientConfig"]["caBundle"] == first["data"]["ca.crt"]

    await narrow.stop()
    await tenant.admin.delete(SECRETS, tenant.namespace, CERTIFICATE)
    await narrow.start()

    async def is_issued_again() -> bool:
        with suppress(NotFoundError):
            again = await tenant.read(SECRETS, tenant.namespace, CERTIFICATE)
            return bool(again["metadata"]["uid"] != first["metadata"]["uid"])
        return False

    await eventually(is_issued_again, what="the certificate is issued again")
    await tenant.ready(name=package)

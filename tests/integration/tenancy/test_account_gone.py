"""Deployments whose account, or a right of it, goes before they do: what is told, and the ways out."""

from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS, SERVICE_ACCOUNTS
from tests.integration.command_line import rukpakctl
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.tenancy.accounts import ALL_VERBS, create_account, grant, grant_everywhere, rule
from tests.manifests import Document, config_map, crd
from tests.waiting import eventually

CRD_GROUP = "apiextensions.k8s.io"
INSTALLS = rule("configmaps")
DEFINES = rule("customresourcedefinitions", group=CRD_GROUP)
DEFINES_WITHOUT_DELETE = rule(
    "customresourcedefinitions", group=CRD_GROUP, verbs=tuple(verb for verb in ALL_VERBS if verb != "delete")
)


@pytest.fixture
async def account(tenant: Tenant) -> Account:
    account = await create_account(tenant.admin, tenant.namespace, rules=(INSTALLS,))
    await grant_everywhere(tenant.admin, account, (DEFINES, counts_instances(tenant)))
    return account


def counts_instances(tenant: Tenant) -> Document:
    """A CRD is not deleted while it is not known whether it has instances."""
    return rule("things", group=f"{tenant.name}.example.org", verbs=("get", "list"))


@pytest.fixture
async def definition(tenant: Tenant) -> AsyncIterator[Document]:
    """A CRD of the tenant, which is gone at the end."""
    found = crd(f"{tenant.name}.example.org")
    yield found
    with suppress(NotFoundError):
        await tenant.admin.delete(CRDS, "", found["metadata"]["name"])


async def install(tenant: Tenant, *documents: Document) -> None:
    await tenant.publish("content", [*documents, config_map("settings", tenant.namespace, v="1")])
    await tenant.deploy("content", installNamespace=tenant.namespace, serviceAccountName="installer")
    await tenant.ready()


async def until_told(tenant: Tenant, kind: str, *texts: str, reason: str = "") -> Document:
    def is_told(seen: Document) -> bool:
        found = condition(seen, kind)
        is_reason = not reason or found.get("reason") == reason
        return is_reason and all(text in found.get("message", "") for text in texts)

    return await tenant.until(is_told, what=f"{kind} says {texts}", seconds=60.0)


async def value_of(tenant: Tenant) -> str:
    found: str = (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"]["v"]
    return found


async def test_deletion_whose_account_went_first_is_told_and_can_be_released(
    plane: ControlPlane, tenant: Tenant, operator: Operator, account: Account, definition: Document
) -> None:
    await install(tenant, definition)
    early = await rukpakctl(plane, "release", tenant.name, "--yes")
    assert (early.returncode, "is not being deleted. Delete it first" in early.stderr) == (3, True)

    await tenant.admin.delete(SERVICE_ACCOUNTS, account.namespace, account.name)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    way_out = f"give them back, or run kubectl rukpak release {tenant.name}"
    await until_told(tenant, "Ready", f"service account {account}", way_out, "it does not exist", reason="Deleting")
    name = definition["metadata"]["name"]
    assert not (await tenant.read(CRDS, "", name))["metadata"].get("deletionTimestamp")

    asked = await rukpakctl(plane, "release", tenant.name)
    assert asked.returncode == 130, "nothing was answered"
    released = await rukpakctl(plane, "release", tenant.name, "--yes")
    assert released.returncode == 0, released.stderr
    assert f"  ConfigMap {tenant.namespace}/settings\n" in released.stdout
    assert f"  kubectl delete customresourcedefinitions.{CRD_GROUP} {name}\n" in released.stdout
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.gone(CONFIG_MAPS, "settings", tenant.namespace)
    assert not (await tenant.read(CRDS, "", name))["metadata"].get("deletionTimestamp"), "it holds things of others"
    assert operator.is_running


async def test_release_deletes_on_request_what_is_not_being_deleted_yet(
    plane: ControlPlane, tenant: Tenant, operator: Operator, account: Account, definition: Document
) -> None:
    await install(tenant, definition)
    await tenant.admin.delete(SERVICE_ACCOUNTS, account.namespace, account.name)
    released = await rukpakctl(plane, "release", tenant.name, "--delete", "--yes")
    assert released.returncode == 0, released.stderr
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.gone(CONFIG_MAPS, "settings", tenant.namespace)
    assert await tenant.read(CRDS, "", definition["metadata"]["name"])
    assert operator.is_running


async def test_deletion_whose_account_lost_a_right_goes_on_when_it_is_given_back(
    tenant: Tenant, operator: Operator, account: Account, definition: Document
) -> None:
    await install(tenant, definition)
    await grant_everywhere(tenant.admin, account, (DEFINES_WITHOUT_DELETE, counts_instances(tenant)))
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    way_out = f"give them back, or run kubectl rukpak release {tenant.name}"
    await until_told(tenant, "Ready", f"waiting for rights of service account {account}", way_out, reason="Deleting")

    await grant_everywhere(tenant.admin, account, (DEFINES, counts_instances(tenant)))
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.gone(CRDS, definition["metadata"]["name"])
    assert operator.is_running


async def test_drift_is_not_corrected_without_the_account_and_is_when_it_is_back(
    tenant: Tenant, operator: Operator, account: Account
) -> None:
    await install(tenant)
    await tenant.admin.delete(SERVICE_ACCOUNTS, account.namespace, account.name)
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "settings", b'{"data":{"v":"changed"}}')
    await until_told(tenant, "Ready", f"ServiceAccount {account} does not exist", reason="AccountMissing")
    assert await value_of(tenant) == "changed", "the RBAC of the account is still there"

    body = b'{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"installer"}}'
    await tenant.admin.create(SERVICE_ACCOUNTS, account.namespace, body)

    async def is_corrected() -> bool:
        return await value_of(tenant) == "1"

    await eventually(is_corrected, what="drift is corrected")
    await tenant.ready(seconds=60.0)
    assert operator.is_running


async def test_right_that_goes_during_an_upgrade_is_named_and_the_upgrade_ends_when_it_is_back(
    tenant: Tenant, operator: Operator, account: Account
) -> None:
    await install(tenant)
    await grant(tenant.admin, account, (rule("configmaps", verbs=("get", "list", "watch")),))
    await tenant.publish("next", [config_map("settings", tenant.namespace, v="2")])
    await tenant.deploy("next", installNamespace=tenant.namespace, serviceAccountName="installer")
    await until_told(tenant, "Installed", f"ServiceAccount {account} lacks", '"patch"', reason="UpgradeFailed")
    assert await value_of(tenant) == "1"

    await grant(tenant.admin, account, (INSTALLS,))
    await tenant.ready(seconds=90.0)
    assert await value_of(tenant) == "2"
    assert operator.is_running

"""An admission policy denies the account a kind half-way: it is named, nothing is lost, and it ends installed."""

import pytest

from e2e.cluster.audit import audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS, Resource
from tests.integration.operator.forbidding import WORDS, allow, forbid
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import SERVICES, WORKLOADS, Tenant, condition
from tests.integration.tenancy.accounts import EVERYTHING, create_account
from tests.manifests import Document, config_map, service, workload


@pytest.fixture
async def account(tenant: Tenant, operator: Operator) -> Account:
    """Ready to be served by an operator."""
    return await create_account(tenant.admin, tenant.namespace, rules=(EVERYTHING,))


def content(tenant: Tenant, version: str) -> list[Document]:
    space = tenant.namespace
    port = [{"name": "http", "port": 80 if version == "1" else 81}]
    found = service("front", space)
    found["spec"]["ports"] = port
    return [config_map("settings", space, v=version), found, workload("shop", space)]


async def deploy(tenant: Tenant, account: Account, version: str) -> None:
    await tenant.publish(f"v{version}", content(tenant, version))
    await tenant.deploy(f"v{version}", installNamespace=tenant.namespace, serviceAccountName=account.name)


async def refused(tenant: Tenant, place: str, reason: str) -> None:
    """The condition names the object and has the words of the policy."""

    def is_told(one: Document) -> bool:
        found = condition(one, "Installed")
        words = (WORDS, place)
        return found.get("reason") == reason and all(word in found["message"] for word in words)

    await tenant.until(is_told, what=f"the refusal of {place}", seconds=60.0)


def deletions(plane: ControlPlane, account: Account, skip: int) -> list[str]:
    return [
        str(one)
        for one in audited(plane.state, skip=skip)
        if one.verb.startswith("delete") and one.account == account.user and not one.is_dry_run
    ]


async def test_install_whose_account_is_denied_a_kind_half_way_ends_when_the_policy_goes(
    plane: ControlPlane, tenant: Tenant, account: Account
) -> None:
    skip = len(audited(plane.state))
    probe = workload("probe", tenant.namespace)
    await forbid(tenant, "CREATE", WORKLOADS, user=account.user, probe=probe)
    try:
        await deploy(tenant, account, "1")
        await refused(tenant, f"Deployment.apps/{tenant.namespace}/shop", "InstallFailed")
        before = await uids(tenant, CONFIG_MAPS, SERVICES)
        assert {name for _, name in before} == {"settings", "front"}, "earlier phases are installed, and stay"
    finally:
        await allow(tenant)
    await tenant.ready(seconds=90.0)
    assert await uids(tenant, CONFIG_MAPS, SERVICES) == before
    assert {name for _, name in await uids(tenant, WORKLOADS)} == {"shop"}
    assert deletions(plane, account, skip) == []


async def test_upgrade_whose_account_is_denied_a_kind_changes_nothing_until_the_policy_goes(
    plane: ControlPlane, tenant: Tenant, account: Account
) -> None:
    await deploy(tenant, account, "1")
    await tenant.ready()
    before = await uids(tenant, CONFIG_MAPS, SERVICES, WORKLOADS)
    skip = len(audited(plane.state))
    await forbid(tenant, "UPDATE", SERVICES, user=account.user)
    try:
        await deploy(tenant, account, "2")
        await refused(tenant, f"Service {tenant.namespace}/front", "UpgradeFailed")
        assert (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"] == {"v": "1"}
        assert len(await tenant.owned(BUNDLES)) == 2, "the content that is installed is kept"
    finally:
        await allow(tenant)
    await tenant.ready(seconds=90.0)
    assert (await tenant.read(CONFIG_MAPS, tenant.namespace, "settings"))["data"] == {"v": "2"}
    assert await uids(tenant, CONFIG_MAPS, SERVICES, WORKLOADS) == before
    assert deletions(plane, account, skip) == []


async def uids(tenant: Tenant, *resources: Resource) -> dict[tuple[str, str], str]:
    return {key: one["metadata"]["uid"] for key, one in (await tenant.owned(*resources)).items()}

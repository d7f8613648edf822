"""Content that comes to a deployment without an edit of it: the branch has moved, and its Bundle is made again."""

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
import yaml

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import OPERATOR_ACCOUNT, PLAIN_CLASS
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS, NAMESPACES
from tests.git_fetching import NAME, git_repository, git_web
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import proxy_before
from tests.integration.tenancy.accounts import EVERYTHING, create_account, grant_everywhere, rule
from tests.integration.tenancy.auditing import Watcher
from tests.manifests import config_map, manifest
from tests.waiting import eventually

__all__ = ["git_repository", "git_web"]  # fixtures


@pytest.fixture
async def fetch(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


@pytest.fixture
async def other(admin: Client, tenant: Tenant) -> AsyncIterator[str]:
    """A namespace of another tenant."""
    name = f"other-{tenant.name}"
    await admin.create(NAMESPACES, "", orjson.dumps(manifest("v1", "Namespace", name)))
    yield name
    await admin.delete(NAMESPACES, "", name)


async def test_bundle_that_is_made_again_under_a_moved_branch_is_that_of_the_installed_commit(  # noqa: PLR0917 - fixtures
    plane: ControlPlane,
    admin: Client,
    tenant: Tenant,
    operators: StartOperator,
    fetch: Fetching,
    git_repository: Repository,
    git_web: GitWebServer,
    other: str,
    tmp_path: Path,
) -> None:
    """The branch has come to hold an object of another namespace, and a tenant deletes the Bundle of the former commit.

    While the Bundle stands, it stays that of its commit. Made again, it is, too: the history of the deployment pins it.
    """
    commit = git_repository.commit(fetch.content("first"))
    account = await create_account(admin, tenant.namespace, rules=(rule("configmaps"),))
    operator_account = Account(tenant.system, OPERATOR_ACCOUNT)
    await grant_everywhere(admin, operator_account, (EVERYTHING,))
    await tenant.settled()
    watcher = Watcher(plane=plane, system=tenant.system, account=account)
    async with proxy_before(plane, tmp_path, user=operator_account.user) as proxy:
        operator = operators(kubeconfig=proxy.kubeconfig, arguments=[LOOPBACK])
        await operator.start()
        watcher.requests()  # those of its start are about no deployment
        source = {"repository": git_web.url(NAME), "ref": {"branch": "main"}, "caBundle": git_web.ca_bundle}
        inner = {"provisionerClassName": PLAIN_CLASS, "source": {"type": "git", "git": source}}
        identity = {"installNamespace": tenant.namespace, "serviceAccountName": account.name}
        await tenant.deploy(template={"spec": inner}, **identity)
        await tenant.ready()
        stolen = yaml.safe_dump(config_map("stolen", other)).encode()
        git_repository.commit({**fetch.content("second"), "manifests/two.yaml": stolen})
        await drifts(tenant, "edited")
        await eventually(lambda: has_value(tenant, "first"), what="the drift is corrected to the former commit")
        ((_, name),) = before = await tenant.owned(BUNDLES)
        assert before["Bundle", name]["status"]["resolvedSource"]["git"]["ref"] == {"commit": commit}

        await admin.delete(BUNDLES, "", name)

        async def is_made_again() -> bool:
            found = (await tenant.owned(BUNDLES)).get(("Bundle", name))
            if found is None or found["metadata"]["uid"] == before["Bundle", name]["metadata"]["uid"]:
                return False
            return bool(found["status"].get("phase") == "Unpacked")

        await eventually(is_made_again, what="the Bundle is made again", seconds=60)
        again = (await tenant.owned(BUNDLES))["Bundle", name]
        assert again["status"]["resolvedSource"]["git"]["ref"] == {"commit": commit}
        await drifts(tenant, "edited again")
        await eventually(lambda: has_value(tenant, "first"), what="the drift is corrected to the installed commit")
        await tenant.ready()
        assert "stolen" not in {one.key.name for one in (await admin.list_metadata(CONFIG_MAPS, other)).items}
        assert watcher.written_outside(tenant.namespace) == []
        await operator.stop()


async def drifts(tenant: Tenant, value: str) -> None:
    body = orjson.dumps({"data": {"v": value}})
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "one", body, field_manager="another")


async def has_value(tenant: Tenant, value: str) -> bool:
    return bool((await tenant.read(CONFIG_MAPS, tenant.namespace, "one"))["data"]["v"] == value)

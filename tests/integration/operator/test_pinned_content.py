"""Content that was unpacked once stays that of its Bundle: it is fetched again by digest or commit, when needed."""

import asyncio
import shutil
from collections.abc import AsyncIterator

import pytest

from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import settled
from tests.integration.operator.fetching import LOOPBACK, Fetching, asked_of, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document
from tests.waiting import eventually

MANY = 20
EDIT = b'{"data":{"v":"edited"}}'
WRITES = {"create", "apply", "patch", "replace", "update", "delete"}


@pytest.fixture
async def fetch(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


@pytest.fixture
async def operator(operators: StartOperator) -> Operator:
    operator = operators(arguments=[LOOPBACK])
    await operator.start()
    return operator


async def lose_the_store(operator: Operator) -> None:
    await operator.stop()
    await asyncio.to_thread(shutil.rmtree, operator.store)


async def until_value(tenant: Tenant, value: str) -> None:
    async def look() -> bool:
        (found,) = (await tenant.owned(CONFIG_MAPS)).values()
        return bool(found["data"]["v"] == value)

    await eventually(look, what=f"the drift is corrected to {value}")


async def comes_back(tenant: Tenant, operator: Operator, value: str) -> Document:
    """The status of its Bundle, which did not change when lost content was needed."""
    (before,) = (await tenant.owned(BUNDLES)).values()
    await lose_the_store(operator)
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "one", EDIT, field_manager="somebody")
    await operator.start()
    await until_value(tenant, value)
    (after,) = (await tenant.owned(BUNDLES)).values()
    assert (after["metadata"]["uid"], after["status"]) == (before["metadata"]["uid"], before["status"])
    return dict(after["status"])


async def test_lost_content_of_a_moved_tag_is_fetched_by_digest(
    tenant: Tenant, operator: Operator, fetch: Fetching
) -> None:
    await fetch.deploy(fetch.image("v1", "first"))
    await tenant.ready()
    fetch.image("v1", "second")
    fetch.registry.asked.clear()
    status = await comes_back(tenant, operator, "first")
    digest = status["resolvedSource"]["image"]["ref"].partition("@")[2]
    assert {asked.path.rpartition("/")[2] for asked in asked_of(fetch.registry) if "manifests" in asked.path} == {
        digest
    }


async def test_lost_content_of_a_moved_branch_is_fetched_by_commit(
    tenant: Tenant, operator: Operator, fetch: Fetching, git_repository: Repository, git_web: GitWebServer
) -> None:
    commit = git_repository.commit(fetch.content("first"))
    source = {"repository": git_web.url(NAME), "ref": {"branch": "main"}, "caBundle": git_web.ca_bundle}
    await fetch.deploy({"type": "git", "git": source})
    await tenant.ready()
    git_repository.commit(fetch.content("second"))
    status = await comes_back(tenant, operator, "first")
    assert status["resolvedSource"]["git"]["ref"] == {"commit": commit}


async def test_many_bundles_and_an_empty_store_storm_no_registry(operator: Operator, fetch: Fetching) -> None:
    """A restart asks no server for content, and writes nothing."""
    names = [await fetch.bundle(f"b{number}", fetch.image(f"v{number}")) for number in range(MANY)]
    await fetch.until_unpacked(*names)
    statuses = [await fetch.status(name) for name in names]
    await lose_the_store(operator)
    fetch.registry.asked.clear()
    await operator.start()
    assert [call for call in await settled(operator) if call[0] in WRITES] == []
    assert asked_of(fetch.registry) == []
    assert [await fetch.status(name) for name in names] == statuses

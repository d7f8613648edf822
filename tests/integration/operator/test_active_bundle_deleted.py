"""The Bundle of what is installed is deleted while its branch or tag has moved on: what is installed stays installed.

Other content comes with another template, or with `core.rukpak.io/refresh-at`.
"""

import json
from collections.abc import AsyncIterator

import pytest

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS
from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.listing import listed
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.scenarios.stage import EVENTS
from tests.manifests import Document
from tests.waiting import eventually

REFRESH_AT = "core.rukpak.io/refresh-at"


@pytest.fixture
async def fetch(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


@pytest.fixture
async def operator(operators: StartOperator) -> Operator:
    operator = operators(arguments=[LOOPBACK])
    await operator.start()
    return operator


def branch(web: GitWebServer) -> Document:
    source = {"repository": web.url(NAME), "ref": {"branch": "main"}, "caBundle": web.ca_bundle}
    return {"type": "git", "git": source}


async def only_bundle(tenant: Tenant) -> Document:
    (found,) = (await tenant.owned(BUNDLES)).values()
    return found


async def active_bundle(tenant: Tenant) -> str:
    return str((await tenant.deployment())["status"]["activeBundle"])


async def made_again(tenant: Tenant, former: Document) -> Document:
    """The Bundle of the same name, once it is decided what it has."""

    async def look() -> Document | None:
        found = (await tenant.owned(BUNDLES)).get(("Bundle", former["metadata"]["name"]))
        if found is None or found["metadata"]["uid"] == former["metadata"]["uid"]:
            return None
        return found if found.get("status", {}).get("phase") in {"Unpacked", "Failing"} else None

    return await eventually(look, what="the Bundle is there again, and says what it has")


async def value(tenant: Tenant) -> str:
    (found,) = (await tenant.owned(CONFIG_MAPS)).values()
    return str(found["data"]["v"])


async def notes(tenant: Tenant, reason: str) -> list[str]:
    found = await listed(tenant.admin, EVENTS, field_selector=f"regarding.name={tenant.name}")
    return [one["note"] for one in found if one["reason"] == reason]


async def refresh(tenant: Tenant, at: str) -> None:
    body = json.dumps({"metadata": {"annotations": {REFRESH_AT: at}}}).encode()
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)

    async def is_handled() -> bool:
        found = await tenant.deployment()
        return bool(found["status"].get("lastHandledRefreshAt") == at)

    await eventually(is_handled, what="the refresh is recorded")


async def refreshed(tenant: Tenant, former: str) -> Document:
    """The deployment, with another Bundle and nothing of the former one."""

    async def look() -> Document | None:
        found = await tenant.deployment()
        bundles = {name for _, name in await tenant.owned(BUNDLES)}
        active = found["status"]["activeBundle"]
        return found if active != former and bundles == {active} else None

    return await eventually(look, what="another Bundle is active")


class TestABranchThatMoved:
    @pytest.mark.parametrize("is_killed", [False, True], ids=["running", "killed"])
    async def test_the_same_commit_is_installed_again(
        self,
        tenant: Tenant,
        operator: Operator,
        fetch: Fetching,
        git_repository: Repository,
        git_web: GitWebServer,
        *,
        is_killed: bool,
    ) -> None:
        commit = git_repository.commit(fetch.content("first"))
        await fetch.deploy(branch(git_web))
        await tenant.ready()
        former = await only_bundle(tenant)
        git_repository.commit(fetch.content("second"))
        if is_killed:
            operator.kill()
        await tenant.admin.delete(BUNDLES, "", former["metadata"]["name"])
        if is_killed:
            await operator.start()

        again = await made_again(tenant, former)
        assert again["spec"] == former["spec"]
        assert again["status"]["resolvedSource"]["git"]["ref"] == {"commit": commit}
        assert again["status"]["digest"] == former["status"]["digest"]
        await tenant.ready()
        assert await value(tenant) == "first"
        assert await notes(tenant, "Upgraded") == []

    async def test_a_commit_that_is_gone_is_told(
        self,
        tenant: Tenant,
        operator: Operator,
        fetch: Fetching,
        git_repository: Repository,
        git_web: GitWebServer,
    ) -> None:
        """The branch was rewritten: nothing else is fetched in its place."""
        commit = git_repository.commit(fetch.content("first"))
        await fetch.deploy(branch(git_web))
        await tenant.ready()
        former = await only_bundle(tenant)
        git_repository.git("update-ref", "-d", "refs/heads/main")
        git_repository.commit(fetch.content("second"))
        git_repository.git("gc", "--quiet", "--prune=now")
        await tenant.admin.delete(BUNDLES, "", former["metadata"]["name"])

        unpacked = condition(await made_again(tenant, former), "Unpacked")
        assert (unpacked["status"], unpacked["reason"]) == ("False", "UnpackFailed")
        assert f"commit {commit}" in unpacked["message"]
        assert REFRESH_AT in unpacked["message"]
        assert await value(tenant) == "first"

        active = await active_bundle(tenant)
        await refresh(tenant, "1")
        await refreshed(tenant, active)
        await tenant.ready()
        assert await value(tenant) == "second"


class TestATagThatMoved:
    async def test_the_same_image_is_installed_again(self, tenant: Tenant, operator: Operator, fetch: Fetching) -> None:
        await fetch.deploy(fetch.image("v1", "first"))
        await tenant.ready()
        former = await only_bundle(tenant)
        fetch.image("v1", "second")
        await tenant.admin.delete(BUNDLES, "", former["metadata"]["name"])

        again = await made_again(tenant, former)
        assert again["status"]["digest"] == former["status"]["digest"]
        assert again["status"]["resolvedSource"] == former["status"]["resolvedSource"]
        await tenant.ready()
        assert await value(tenant) == "first"


class TestARefresh:
    async def test_a_tag_that_moved_is_installed(self, tenant: Tenant, operator: Operator, fetch: Fetching) -> None:
        await fetch.deploy(fetch.image("v1", "first"))
        await tenant.ready()
        former = await only_bundle(tenant)
        fetch.image("v1", "second")
        await refresh(tenant, "2026-11-26T02:00:00Z")
        found = await refreshed(tenant, former["metadata"]["name"])
        await tenant.ready()
        assert await value(tenant) == "second"
        (note,) = await notes(tenant, "Upgraded")
        assert former["status"]["resolvedSource"]["image"]["ref"] in note
        assert (await only_bundle(tenant))["status"]["resolvedSource"]["image"]["ref"] in note
        assert [one["revision"] for one in found["status"]["history"]] == [2, 1]

    async def test_the_same_content_is_told_and_nothing_is_written(
        self, tenant: Tenant, operator: Operator, fetch: Fetching
    ) -> None:
        await fetch.deploy(fetch.image("v1", "first"))
        await tenant.ready()
        former = await active_bundle(tenant)
        (before,) = (await tenant.owned(CONFIG_MAPS)).values()
        await refresh(tenant, "1")
        await refreshed(tenant, former)

        async def is_told() -> bool:
            return any("the content is the same" in note for note in await notes(tenant, "Refreshed"))

        await eventually(is_told, what="the Event says that nothing has changed")
        (after,) = (await tenant.owned(CONFIG_MAPS)).values()
        assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]

    async def test_refresh_is_done_once(self, tenant: Tenant, operator: Operator, fetch: Fetching) -> None:
        """Neither a restart nor the end of the annotation makes another Bundle."""
        await fetch.deploy(fetch.image("v1", "first"))
        await tenant.ready()
        former = await active_bundle(tenant)
        await refresh(tenant, "1")
        await refreshed(tenant, former)
        bundle = await only_bundle(tenant)
        await operator.stop()
        body = json.dumps({"metadata": {"annotations": {REFRESH_AT: None}}}).encode()
        await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)
        await operator.start()
        await tenant.deploy(name=f"{tenant.name}-other", template=(await tenant.deployment())["spec"]["template"])

        async def is_refused() -> bool:
            """The other deployment has the same objects: the operator has come this far."""
            other = await tenant.deployment(f"{tenant.name}-other")
            return bool(condition(other, "Installed"))

        await eventually(is_refused, what="the operator has seen another deployment")
        assert (await only_bundle(tenant))["metadata"]["uid"] == bundle["metadata"]["uid"]
        assert (await tenant.deployment())["status"]["lastHandledRefreshAt"] == "1"

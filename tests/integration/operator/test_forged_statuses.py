"""A user who may patch the status of Bundles reaches no content of others, and no content of their own choice."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, SECRETS
from tests.integration.content_clients import Caller
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, asked_of, fetching, is_unpacked
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.integration.operator.uploading import admin_of
from tests.manifests import Document
from tests.unit.sources.image.image_registry import REPOSITORY
from tests.unit.web_servers import Answer, Asked
from tests.waiting import eventually

LOGIN = f"Basic {base64.b64encode(b'me:pass').decode()}"
EDIT = b'{"data":{"v":"edited"}}'


@dataclass(kw_only=True)
class Stage:
    tenant: Tenant
    operator: Operator
    fetch: Fetching
    client: Caller

    def pinned(self, value: str, **more: str) -> Document:
        """The source of an image by digest."""
        digest = self.fetch.contents.image(self.fetch.content(value))["digest"]
        return {"type": "image", "image": {"ref": f"{self.fetch.registry.address}/{REPOSITORY}@{digest}", **more}}

    async def unpacked(self, suffix: str, source: Document) -> Document:
        """The status of a new Bundle."""
        name = await self.fetch.bundle(suffix, source)
        await self.fetch.until_unpacked(name)
        return await self.fetch.status(name)

    async def forge(self, name: str, **status: Any) -> None:
        await self.tenant.admin.patch_status(BUNDLES, "", name, orjson.dumps({"status": status}))

    def name(self, suffix: str) -> str:
        return f"{self.tenant.name}-{suffix}"

    def private(self, asked: Asked) -> Answer:
        """The registry takes one login."""
        if asked.login != LOGIN:
            return Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
        return self.fetch.contents.answer(asked) or Answer(404)

    async def login(self, name: str) -> None:
        auths = {"auths": {self.fetch.registry.address: {"username": "me", "password": "pass"}}}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": self.tenant.system},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": base64.b64encode(orjson.dumps(auths)).decode()},
        }
        await self.tenant.admin.create(SECRETS, self.tenant.system, orjson.dumps(body))

    async def only_bundle(self) -> str:
        """The name of the one Bundle of the deployment, when its former ones are gone."""

        async def look() -> str | None:
            names = [name for _, name in await self.tenant.owned(BUNDLES)]
            return names[0] if len(names) == 1 else None

        return await eventually(look, what="one Bundle is left")

    async def value(self) -> str:
        """The value in the installed ConfigMap."""
        (found,) = (await self.tenant.owned(CONFIG_MAPS)).values()
        return str(found["data"]["v"])


@pytest.fixture
async def stage(plane: ControlPlane, tenant: Tenant, operators: StartOperator) -> AsyncIterator[Stage]:
    async with fetching(tenant) as fetch:
        operator = operators(arguments=[LOOPBACK, "--image-unpack=direct"])
        await operator.start()
        yield Stage(tenant=tenant, operator=operator, fetch=fetch, client=await admin_of(plane, tenant, operator))


def has_reason(reason: str) -> Any:
    return lambda bundle: condition(bundle, "Unpacked").get("reason") == reason


async def test_hostile_content_does_not_become_that_of_a_pinned_image_of_others(stage: Stage) -> None:
    """The status of a Bundle with hostile content says that it came from the image that others will name."""
    hostile = await stage.unpacked("hostile", stage.pinned("hostile"))
    good = stage.pinned("good")
    await stage.forge(stage.name("hostile"), resolvedSource=good)
    await stage.tenant.deploy(template={"spec": {"provisionerClassName": "core-rukpak-io-plain", "source": good}})
    await stage.tenant.ready()
    assert await stage.value() == "good"
    (bundle,) = (await stage.tenant.owned(BUNDLES)).values()
    assert bundle["status"]["digest"] != hostile["digest"]


async def test_forged_digest_is_neither_served_nor_installed(stage: Stage) -> None:
    hostile = await stage.unpacked("hostile", stage.pinned("hostile"))
    good = stage.pinned("good")
    await stage.tenant.deploy(template={"spec": {"provisionerClassName": "core-rukpak-io-plain", "source": good}})
    await stage.tenant.ready()
    ((_, name),) = await stage.tenant.owned(BUNDLES)
    whole = await stage.client.get(name)
    assert whole.status == 200
    before = await stage.fetch.status(name)
    stage.fetch.registry.asked.clear()

    await stage.forge(name, digest=hostile["digest"])
    await stage.fetch.until(name, has_reason("ContentChanged"), what="says that its status was changed")
    refused = await stage.client.get(name)
    assert (refused.status, hostile["digest"] in refused.headers.get("ETag", "")) == (404, False)
    assert f"set it back to {before['digest']}" in refused.text
    told = await stage.tenant.until(
        lambda one: condition(one, "HasValidBundle").get("status") == "False", what="the deployment says so"
    )
    assert "status.digest was changed" in condition(told, "HasValidBundle")["message"]

    forged = orjson.dumps({"status": {"digest": hostile["digest"]}})  # of the deployment, too
    await stage.tenant.admin.patch_status(BUNDLE_DEPLOYMENTS, "", stage.tenant.name, forged)
    await stage.tenant.admin.patch(CONFIG_MAPS, stage.tenant.namespace, "one", EDIT, field_manager="somebody")
    await stage.operator.stop()
    await stage.operator.start()
    await stage.tenant.until(lambda one: not is_ready(one), what="the deployment is not Ready after a restart")
    assert await stage.value() == "edited", "what is installed is not made of hostile content"

    restored = orjson.dumps({"status": {"digest": before["digest"]}})
    await stage.tenant.admin.patch_status(BUNDLE_DEPLOYMENTS, "", stage.tenant.name, restored)
    await stage.forge(name, digest=before["digest"])
    await stage.tenant.ready()
    assert await stage.value() == "good"
    assert (await stage.client.get(name)).body == whole.body
    assert asked_of(stage.fetch.registry) == [], "no server was asked for anything"


async def test_forged_resolved_source_is_not_asked(stage: Stage) -> None:
    """It would get the login that the spec names, for content that no spec wants."""
    good = stage.fetch.image("good")
    status = await stage.unpacked("good", good)
    hostile = stage.pinned("hostile")
    await stage.forge(stage.name("good"), resolvedSource=hostile)

    async def is_corrected() -> bool:
        return bool((await stage.fetch.status(stage.name("good")))["resolvedSource"] == status["resolvedSource"])

    await eventually(is_corrected, what="the source is ours again")


async def test_emptied_status_does_not_move_with_a_tag(stage: Stage) -> None:
    status = await stage.unpacked("good", stage.fetch.image("v1", "good"))
    stage.fetch.image("v1", "moved")
    await stage.forge(stage.name("good"), digest=None, resolvedSource=None, phase=None, conditions=None)
    await stage.fetch.until_unpacked(stage.name("good"))
    after = await stage.fetch.status(stage.name("good"))
    assert (after["digest"], after["resolvedSource"]) == (status["digest"], status["resolvedSource"])


async def test_a_private_image_is_not_handed_out_without_a_login(stage: Stage) -> None:
    stage.fetch.registry.answer = stage.private
    await stage.login("login")
    private = stage.pinned("private", pullSecret="login")
    await stage.unpacked("owner", private)
    without = {"type": "image", "image": {"ref": private["image"]["ref"]}}
    thief = await stage.fetch.bundle("thief", without)
    await stage.fetch.until(thief, has_reason("UnpackFailed"), what="is refused")
    assert "it wants a login" in condition(await stage.tenant.read(BUNDLES, "", thief), "Unpacked")["message"]
    assert (await stage.client.get(thief)).status == 404

    stage.fetch.registry.asked.clear()
    await stage.unpacked("friend", private)
    assert {asked.path.rpartition("/")[2] for asked in asked_of(stage.fetch.registry) if asked.login == LOGIN} == {
        private["image"]["ref"].partition("@")[2]
    }, "the manifest, and nothing that it leads to"

    stage.fetch.registry.answer = lambda _: Answer(503)
    late = await stage.fetch.bundle("late", private)
    await stage.fetch.until(late, has_reason("UnpackFailed"), what="is not unpacked while nobody can be asked")
    assert not is_unpacked(await stage.tenant.read(BUNDLES, "", late))


async def test_the_pivot_to_another_bundle_with_the_same_image_needs_no_registry(stage: Stage) -> None:
    stage.fetch.registry.answer = stage.private
    await stage.login("login")
    spec = {"provisionerClassName": "core-rukpak-io-plain", "source": stage.pinned("1", pullSecret="login")}
    await stage.tenant.deploy(template={"spec": spec})
    await stage.tenant.ready()
    before = await stage.only_bundle()
    stage.fetch.registry.answer = lambda _: Answer(503)
    stage.fetch.registry.asked.clear()
    for restart in (False, True):
        if restart:
            await stage.operator.stop()
            await stage.operator.start()
        labels = {"metadata": {"labels": {"round": str(restart)}}}
        await stage.tenant.deploy(template={**labels, "spec": spec})
        await stage.tenant.ready()
        after = await stage.only_bundle()
        assert after != before
        before = after
    assert asked_of(stage.fetch.registry) == []


async def test_records_of_an_older_store_are_made_without_moving_anything(stage: Stage) -> None:
    """The store has none after an upgrade from a release that kept none, and in a restored volume."""
    status = await stage.unpacked("good", stage.fetch.image("v1", "good"))
    whole = await stage.client.get(stage.name("good"))
    stage.fetch.image("v1", "moved")
    await stage.operator.stop()
    for folder in ("records", "checksums"):
        for path in (stage.operator.store / folder).iterdir():
            path.unlink()
    await stage.operator.start()
    assert (await stage.client.get(stage.name("good"))).body == whole.body
    assert (await stage.fetch.status(stage.name("good"))) == status
    assert len(list((stage.operator.store / "records").glob("bundle-*.json"))) == 1

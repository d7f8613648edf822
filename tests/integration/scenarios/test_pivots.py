"""A template changes. What cannot be unpacked never touches what is installed."""

import json
from typing import Any

import pytest

from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.api.template_hash import template_hash
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS
from tests.integration.scenarios.stage import A_WHILE, BOTH_IDENTITIES, Document, Stage, says, settings, widget
from tests.manifests import source
from tests.waiting import during, eventually

HASH = "core.rukpak.io/bundle-template-hash"
UNUSABLE = {"type": "git", "git": {"repository": "https://unusable.invalid/x", "ref": {"tag": "non-existent-tag"}}}
cannot_be_unpacked = pytest.mark.parametrize("bad", [UNUSABLE, source("non-existent")], ids=["git", "configMaps"])


async def hash_of_template(stage: Stage) -> str:
    read = read_bundle_deployment(await stage.client.get(BUNDLE_DEPLOYMENTS, "", stage.name))
    return template_hash(read.spec.template)


async def after_a_bad_edit(stage: Stage, bad: Document) -> Document:
    await stage.installed(await stage.content(settings(stage.namespace)))
    await stage.edit_template(stage.name, bad)
    return await stage.until_deployment(stage.name, says("HasValidBundle", "False", "UnpackFailed", "Failed to unpack"))


async def label_the_template(stage: Stage) -> tuple[str, Document]:
    """The former Bundle, and the deployment after the pivot."""
    await stage.installed(await stage.content(settings(stage.namespace)))
    former = (await stage.deployment())["status"]["activeBundle"]
    await stage.edit(stage.name, template={"metadata": {"labels": {"foo": "bar"}}})
    await stage.until_ready(stage.name)
    return former, await stage.deployment()


@BOTH_IDENTITIES
@cannot_be_unpacked
async def test_scenario_38_a_bad_edit_makes_a_second_bundle(stage: Stage, bad: dict[str, Any]) -> None:
    active = (await after_a_bad_edit(stage, bad))["status"]["activeBundle"]
    bundles = await stage.bundles_of(stage.name)
    assert len(bundles) == 2
    (younger,) = [one for one in bundles if one["metadata"]["name"] != active]
    assert younger["metadata"]["labels"][HASH] == await hash_of_template(stage)
    assert younger["spec"]["source"] == bad


@BOTH_IDENTITIES
@cannot_be_unpacked
async def test_scenario_39_a_bad_edit_leaves_what_is_installed(stage: Stage, bad: dict[str, Any]) -> None:
    found = await after_a_bad_edit(stage, bad)
    active = found["status"]["activeBundle"]

    async for _ in during(A_WHILE):
        found = await stage.deployment()
        assert found["status"]["activeBundle"] == active
        assert says("Installed", "True", "InstallationSucceeded")(found)
        assert says("HasValidBundle", "False", "UnpackFailed", "Failed to unpack")(found)
        assert says("Ready", "False")(found)
        assert await stage.exists(BUNDLES, "", active)
    await stage.barrier()
    assert await stage.exists(BUNDLES, "", active)


@cannot_be_unpacked
async def test_after_a_bad_edit_drift_is_still_corrected(stage: Stage, bad: dict[str, Any]) -> None:
    await after_a_bad_edit(stage, bad)
    where = (CONFIG_MAPS, stage.namespace, "settings")
    before = await stage.get(*where)

    await stage.client.patch(*where, json.dumps({"data": {"key": "touched"}}).encode())
    await stage.until(*where, lambda found: found["data"] == {"key": "value"})
    await stage.client.delete(*where)
    await stage.until(*where, lambda found: found["metadata"]["uid"] != before["metadata"]["uid"])


async def test_an_upgrade_that_is_blocked_leaves_what_is_installed(stage: Stage) -> None:
    """Unpacked all right, and of a kind that is not there; or of no use at all."""
    await stage.installed(await stage.content(settings(stage.namespace), settings(stage.namespace, "other")))
    active = (await stage.deployment())["status"]["activeBundle"]
    where = (CONFIG_MAPS, stage.namespace, "settings")
    blocked = await stage.content(settings(stage.namespace, key="new"), widget(stage.group), name="blocked")
    nameless = await stage.content({"apiVersion": "v1", "kind": "ConfigMap"}, name="nameless")
    for bad, text in ((blocked, "the cluster has no kind Widget"), (nameless, "no metadata.name")):
        await stage.edit_template(stage.name, bad)
        found = await stage.until_deployment(stage.name, says("Ready", "False", "", text))
        assert found["status"]["activeBundle"] == active
        await stage.client.patch(*where, json.dumps({"data": {"key": "touched"}}).encode())
        await stage.until(*where, lambda found: found["data"] == {"key": "value"})
        assert await stage.has_settings("other")


async def until_bundles(stage: Stage, count: int) -> list[Document]:
    """Former ones go after the status has named the new one."""
    found: list[Document] = []

    async def are_left() -> bool:
        found[:] = await stage.bundles_of(stage.name)
        return len(found) == count

    await eventually(are_left, what=f"{count} Bundles of {stage.name} are left")
    return found


async def test_good_edit_after_bad_ones_is_installed(stage: Stage) -> None:
    """Any number of failed edits; none of their Bundles stays."""
    await after_a_bad_edit(stage, UNUSABLE)
    for number in range(5):
        await stage.edit_template(stage.name, source(f"non-existent-{number}"))
        await stage.until_deployment(stage.name, says("HasValidBundle", "False", "", f"non-existent-{number}"))
    await until_bundles(stage, 2)

    good = await stage.content(settings(stage.namespace, key="new"), name="good")
    await stage.edit_template(stage.name, good)
    await stage.until_ready(stage.name)
    assert (await stage.settings())["data"] == {"key": "new"}
    (left,) = await until_bundles(stage, 1)
    assert left["metadata"]["name"] == (await stage.deployment())["status"]["activeBundle"]


@BOTH_IDENTITIES
async def test_scenario_40_a_label_of_the_template_is_a_pivot(stage: Stage) -> None:
    former, found = await label_the_template(stage)
    active = found["status"]["activeBundle"]
    assert active != former
    labels = (await stage.get(BUNDLES, "", active))["metadata"]["labels"]
    assert labels[HASH] == await hash_of_template(stage)
    assert labels["foo"] == "bar"


@BOTH_IDENTITIES
async def test_scenario_41_after_a_pivot_the_former_bundle_goes(stage: Stage) -> None:
    former, found = await label_the_template(stage)
    assert says("Installed", "True", "InstallationSucceeded", "Instantiated bundle")(found)
    await stage.until_gone(BUNDLES, "", former)

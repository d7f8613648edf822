"""Bundles of plain manifests."""

import re
from typing import Any

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.scenarios.stage import A_WHILE, Stage, definition, phase, says, settings
from tests.manifests import source
from tests.waiting import during


def failed(*texts: str) -> Any:
    return says("Unpacked", "False", "UnpackFailed", *texts)


async def test_scenario_13_bundle_of_an_unserved_class_gets_no_status(stage: Stage) -> None:
    content = await stage.content(settings(stage.namespace))
    name = await stage.bundle(content, provisioner="non-existent-class-name")
    await stage.barrier()
    async for _ in during(A_WHILE):
        assert (await stage.get(BUNDLES, "", name))["status"] == {"observedGeneration": -1}


async def test_scenario_28_manifests_in_a_config_map(stage: Stage) -> None:
    content = await stage.content(definition(stage.group, "Widget"), definition(stage.group, "Gadget"))
    name = await stage.bundle(content)
    found = await stage.until_bundle(
        name, says("Unpacked", "True", "UnpackSuccessful", "Successfully unpacked the configMaps Bundle")
    )
    status = found["status"]
    assert status["phase"] == "Unpacked"
    assert status["resolvedSource"] == content
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", status["digest"])
    assert says("Ready", "True")(found)


async def test_scenario_29_the_config_map_does_not_exist(stage: Stage) -> None:
    name = await stage.bundle(source("non-exist"))
    text = 'source bundle content: get configmap rukpak-system/non-exist: ConfigMap "non-exist" not found'
    found = await stage.until_bundle(name, failed(text))
    assert found["status"]["phase"] == "Failing"
    assert says("Ready", "False", "Unavailable", text)(found)
    assert says("Reconciling", "True")(found)


async def test_scenario_30_a_file_that_is_no_manifest(stage: Stage) -> None:
    files = {
        ".gitignore": "!.gitignore\n",
        "00_namespace.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {stage.name}}}\n",
    }
    name = await stage.bundle(source(await stage.files(files)))
    found = await stage.until_bundle(name, failed("json: cannot unmarshal string into Go value"))
    assert says("Stalled", "True", "ContentError")(found)


async def test_a_config_map_that_comes_later_is_noticed(stage: Stage) -> None:
    name = await stage.bundle(source(f"{stage.name}-content"))
    await stage.until_bundle(name, failed("not found"))
    await stage.content(settings(stage.namespace))
    await stage.until_bundle(name, phase("Unpacked"), says("Unpacked", "True"))


async def test_two_config_maps_that_give_the_same_file(stage: Stage) -> None:
    one = await stage.files({"a.yaml": "a: 1\n"}, name="one")
    two = await stage.files({"a.yaml": "a: 2\n"}, name="two")
    name = await stage.bundle(source(two, one))
    text = f'source bundle content: duplicate path "manifests/a.yaml" found in configmaps [{one} {two}]'
    await stage.until_bundle(name, failed(text))


async def test_a_config_map_must_be_immutable(stage: Stage) -> None:
    """Refused whichever comes second, with the original's texts."""
    name = f"{stage.name}-mutable"
    loose = {"metadata": {"name": name}, "data": {"a": "b"}}
    await stage.create(CONFIG_MAPS, DEFAULT_SYSTEM_NAMESPACE, loose)
    refused = await stage.refusal(stage.bundle(source(name)))
    field = "bundle.spec.source.configmaps[0].configmap.name"
    assert f'{field} is invalid: configmap "{name}" is not immutable; set immutable: true on it' in refused

    deployment = await stage.deploy(source(name), name=f"{stage.name}-with-a-name-that-is-long-enough"[:52])
    advice = says("Ready", "False", "", f'configmap "{name}" is not immutable; set immutable: true on it')
    await stage.until_deployment(deployment, advice)

    await stage.bundle(source(f"{name}-2"), name=f"{stage.name}-b")
    later = {"metadata": {"name": f"{name}-2"}, "data": {"a": "b"}}
    await stage.until_bundle(f"{stage.name}-b", failed("not found"))
    refused = await stage.refusal(stage.create(CONFIG_MAPS, DEFAULT_SYSTEM_NAMESPACE, later))
    assert (
        f"by bundles [{stage.name}-b]; referenced configmaps must have .immutable == true; set immutable: true on it"
        in refused
    )

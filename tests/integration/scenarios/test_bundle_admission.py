"""Bundles that are admitted, and the immutability of their spec."""

import json
from typing import Any

import pytest

from e2e.kubectl import KubectlError
from rukpak_py.kube.errors import ForbiddenError, InvalidError
from rukpak_py.kube.resources import BUNDLES
from tests.integration.scenarios.stage import A_WHILE, Stage, phase, settings
from tests.waiting import during

IMAGE = {"ref": "localhost/testdata/bundles/plain-v0:valid"}
GIT = {"repository": "https://example.com/combo-bundle", "ref": {"tag": "v0.0.1"}}
DENIED = 'admission webhook "vbundles.core.rukpak.io" denied the request: bundle.spec is immutable'


async def refusal(stage: Stage, source: dict[str, Any]) -> str:
    with pytest.raises(InvalidError) as refused:
        await stage.bundle(source)
    assert not await stage.exists(BUNDLES, "", stage.name)
    return refused.value.message


async def unpacked(stage: Stage) -> str:
    name = await stage.bundle(await stage.content(settings(stage.namespace)))
    await stage.until_bundle(name, phase("Unpacked"))
    return name


async def always_refused(stage: Stage, name: str, spec: dict[str, Any]) -> None:
    """Patch the spec for a while: each request is refused, and the spec stays as it is."""
    patch = json.dumps({"spec": spec}).encode()
    before = await stage.get(BUNDLES, "", name)
    async for _ in during(A_WHILE):
        with pytest.raises(ForbiddenError) as refused:
            await stage.client.patch(BUNDLES, "", name, patch)
        assert refused.value.message == DENIED
    assert (await stage.get(BUNDLES, "", name))["spec"] == before["spec"]


async def test_scenario_10_a_valid_image_bundle_is_accepted(stage: Stage) -> None:
    await stage.bundle({"type": "image", "image": IMAGE})
    assert await stage.exists(BUNDLES, "", stage.name)


async def test_scenario_11_type_git_with_an_image(stage: Stage) -> None:
    text = 'bundle.spec.source.git must be set for source type "git"'
    assert text in await refusal(stage, {"type": "git", "image": IMAGE})


async def test_scenario_12_type_image_with_a_repository(stage: Stage) -> None:
    text = 'bundle.spec.source.image must be set for source type "image"'
    assert text in await refusal(stage, {"type": "image", "git": GIT})


async def test_scenario_16_the_source_of_a_bundle_never_changes(stage: Stage) -> None:
    name = await unpacked(stage)
    other = [{"path": "elsewhere", "configMap": {"name": "other"}}]
    await always_refused(stage, name, {"source": {"configMaps": other}})


async def test_scenario_17_the_class_of_a_bundle_never_changes(stage: Stage) -> None:
    name = await unpacked(stage)
    await always_refused(stage, name, {"provisionerClassName": "non-existent-class-name"})


async def test_changed_bundle_is_refused_with_one_line_of_kubectl(stage: Stage) -> None:
    name = await unpacked(stage)
    patch = '{"spec":{"source":{"configMaps":[{"configMap":{"name":"other"}}]}}}'
    with pytest.raises(KubectlError) as refused:
        await stage.run_kubectl("patch", "bundle", name, "--type=merge", f"--patch={patch}")
    assert str(refused.value) == f"Error from server (bundle.spec is immutable): {DENIED}"

"""Texts that kubectl prints about refused requests. They stand in docs/troubleshooting.md."""

import json

import pytest

from e2e.kubectl import KubectlError
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS
from tests.integration.scenarios.stage import Document, Stage, settings
from tests.manifests import bundle, deployment, source
from tests.waiting import eventually


async def printed(stage: Stage, *arguments: str, stdin: Document | None = None) -> str:
    with pytest.raises(KubectlError) as refused:
        await stage.run_kubectl(*arguments, stdin=json.dumps(stdin) if stdin is not None else None)
    return str(refused.value)


def two_members() -> Document:
    return source("any") | {"type": "configMaps", "upload": {}}


async def test_template_with_two_sources_is_refused(stage: Stage) -> None:
    text = await printed(stage, "apply", "--filename=-", stdin=deployment(stage.name, two_members()))
    assert text == (
        f'The BundleDeployment "{stage.name}" is invalid: spec.template.spec.source: Invalid value: '
        "bundle.spec.source must have exactly one of image, git, configMaps, upload, http"
    )
    assert not await stage.exists(BUNDLE_DEPLOYMENTS, "", stage.name)


async def test_bundle_with_two_sources_is_refused(stage: Stage) -> None:
    text = await printed(stage, "apply", "--filename=-", stdin=bundle(stage.name, two_members()))
    assert text == (
        f'The Bundle "{stage.name}" is invalid: <nil>: Invalid value: "": "spec.source" must validate one and only '
        "one schema (oneOf). Found 2 valid alternatives"
    )
    assert not await stage.exists(BUNDLES, "", stage.name)


async def test_a_config_map_in_use_cannot_be_deleted(stage: Stage) -> None:
    """It can as soon as no Bundle uses it any more."""
    content = await stage.content(settings(stage.namespace))
    config_map = content["configMaps"][0]["configMap"]["name"]
    name = await stage.installed(content)
    active = (await stage.deployment())["status"]["activeBundle"]
    where = ["configmap", config_map, f"--namespace={DEFAULT_SYSTEM_NAMESPACE}"]

    text = f'configmap "{config_map}" is in-use by bundle "{active}"'
    denied = f'admission webhook "vconfigmaps.core.rukpak.io" denied the request: {text}'
    assert await printed(stage, "delete", *where) == f"Error from server ({text}): {denied}"
    assert await stage.exists(CONFIG_MAPS, DEFAULT_SYSTEM_NAMESPACE, config_map)

    await stage.edit_template(name, await stage.content(settings(stage.namespace, key="v2"), name="v2"))
    await stage.until_ready(name)
    await stage.until_gone(BUNDLES, "", active)

    async def is_deleted() -> bool:
        try:
            await stage.run_kubectl("delete", *where)
        except KubectlError:  # the webhook's own watch may be a moment behind
            return False
        return True

    await eventually(is_deleted, what="a ConfigMap that nobody uses is deleted")


async def test_get_shows_type_and_phase_of_a_bundle(stage: Stage) -> None:
    await stage.installed(await stage.content(settings(stage.namespace)))
    active = (await stage.deployment())["status"]["activeBundle"]
    head, row = (await stage.run_kubectl("get", "bundle", active)).splitlines()
    assert head.split() == ["NAME", "TYPE", "PHASE", "AGE", "READY"]
    assert row.split()[:3] == [active, "configMaps", "Unpacked"]

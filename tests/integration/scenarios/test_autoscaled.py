"""Replicas that an autoscaler sets, and fields that an override ignores, are no drift."""

from typing import Any

import pytest

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import Resource
from tests.integration.scenarios.events import events_of, until_told
from tests.integration.scenarios.stage import Document, Stage, is_observed, says
from tests.manifests import manifest, workload

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)


def web(stage: Stage, *, replicas: int) -> Document:
    document = workload("web", stage.namespace)
    document["spec"]["replicas"] = replicas
    return document


def autoscaler(stage: Stage) -> Document:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9}
    return manifest("autoscaling/v2", "HorizontalPodAutoscaler", "web", stage.namespace, spec=spec)


async def replicas_after(stage: Stage, number: int) -> int:
    """The replicas after another client has scaled it, and the operator had work behind that."""
    await stage.run_kubectl("scale", "--namespace", stage.namespace, "deployment/web", f"--replicas={number}")
    await stage.barrier()
    return int((await stage.get(DEPLOYMENTS, stage.namespace, "web"))["spec"]["replicas"])


async def test_an_autoscaler_of_the_bundle_has_the_replicas(stage: Stage) -> None:
    """Replicas that were applied before it came stay as they are; one Event says that they are left out."""
    name = await stage.deploy(await stage.content(web(stage, replicas=2)))
    await stage.until_deployment(name, says("Installed", "True"))
    assert (await stage.get(DEPLOYMENTS, stage.namespace, "web"))["spec"]["replicas"] == 2

    content = await stage.content(web(stage, replicas=0), autoscaler(stage), name="v2")
    await stage.edit_template(name, content)
    key = f"{stage.namespace}/web"
    text = f"Deployment.apps/{key}: spec.replicas is left out: HorizontalPodAutoscaler.autoscaling/{key} sets it"
    await until_told(stage, name, "FieldsLeftOut", f"Warning: {text}")
    await stage.until_deployment(name, is_observed, says("Installed", "True"))
    assert (await stage.get(DEPLOYMENTS, stage.namespace, "web"))["spec"]["replicas"] == 2
    assert await replicas_after(stage, 3) == 3
    assert "DriftCorrected" not in await events_of(stage, name)


async def test_an_ignored_field_is_left_to_others_and_comes_back_when_it_no_longer_is(stage: Stage) -> None:
    override: dict[str, Any] = {"group": "apps", "kind": "Deployment", "name": "web", "namespace": stage.namespace}
    ignored = override | {"ignore": ["/spec/replicas"]}
    name = await stage.deploy(await stage.content(web(stage, replicas=0)), overrides=[ignored])
    await stage.until_deployment(name, says("Installed", "True"))
    assert await replicas_after(stage, 3) == 3
    await stage.edit(name, overrides=[])
    await stage.until(DEPLOYMENTS, stage.namespace, "web", lambda one: one["spec"]["replicas"] == 0)
    await stage.until_ready(name)
    await stage.edit(name, overrides=[ignored])
    await stage.until_deployment(name, is_observed, says("Ready", "True"))
    assert await replicas_after(stage, 2) == 2


async def test_an_override_that_ignores_what_says_whose_the_object_is_is_refused(stage: Stage) -> None:
    override = {"group": "apps", "kind": "Deployment", "name": "web", "namespace": stage.namespace}
    name = await stage.deploy(
        await stage.content(web(stage, replicas=0)), overrides=[override | {"ignore": ["/metadata/name"]}]
    )
    text = f"Deployment.apps/{stage.namespace}/web: spec.overrides[].ignore: /metadata/name is not the content's"
    await stage.until_deployment(name, says("Ready", "False", "ContentError", text), says("Stalled", "True"))
    assert not await stage.exists(DEPLOYMENTS, stage.namespace, "web")


@pytest.mark.parametrize("ignore", [[], ["spec/replicas"], ["/a~2"], [""]])
async def test_ignored_field_that_is_no_pointer_is_refused_by_the_api_server(stage: Stage, ignore: list[str]) -> None:
    override = {"kind": "ConfigMap", "name": "a", "ignore": ignore}
    refusal = await stage.refusal(stage.deploy(await stage.content(), overrides=[override]))
    assert "spec.overrides[0]" in refusal

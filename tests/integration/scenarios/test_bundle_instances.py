"""The former kind BundleInstance: mirrored into a BundleDeployment of its name, whose status it shows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES
from tests.integration.images.registry import Registry, running_registry
from tests.integration.scenarios import instances
from tests.integration.scenarios.events import events_of, until_told
from tests.integration.scenarios.stage import Stage, condition, is_observed, says, settings
from tests.manifests import deployment
from tests.unit.sources.image.image_registry import Contents
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "manifests/samples/bundle-instance.yaml"
PAGE = ROOT / "docs/bundle-instances.md"
TAKEN = "exists and does not belong to this BundleInstance"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with running_registry(tmp_path_factory.mktemp("open-registry")) as registry:
        yield registry


async def patch_mirror(stage: Stage, **body: Any) -> None:
    await stage.client.patch(BUNDLE_DEPLOYMENTS, "", stage.name, json.dumps(body).encode(), field_manager="somebody")


async def test_the_sample_of_the_old_document_works(stage: Stage, registry: Registry) -> None:
    """The name and the address of the image alone are not as printed."""
    comment, _, printed = SAMPLE.read_text().partition("\n")
    assert comment.startswith("#")
    assert f"```yaml\n{printed}```" in PAGE.read_text()
    contents = Contents()
    contents.image({"manifests/one.yaml": yaml.safe_dump(settings(stage.namespace)).encode()}, tag="example")
    registry.push(contents, "operator-framework/rukpak")
    sample = yaml.safe_load(SAMPLE.read_text().replace("quay.io", registry.address))
    sample["metadata"]["name"] = stage.name
    await stage.create(BUNDLE_INSTANCES, "", sample)
    found = await instances.until_ready(stage)

    mirror = await instances.mirror(stage)
    assert mirror["spec"] == found["spec"] == sample["spec"]
    assert mirror["metadata"]["ownerReferences"] == [instances.owner(found)]
    [bundle] = await stage.bundles_of(stage.name)
    assert bundle["metadata"]["labels"]["app"] == "my-bundle"
    assert await stage.has_settings()


async def test_the_status_is_that_of_the_deployment(stage: Stage) -> None:
    content = await stage.content(settings(stage.namespace))
    await instances.create(stage, content, suspend=True)
    await instances.until(stage, is_observed, says("Ready", "Unknown", "Suspended"))
    await instances.edit(stage, suspend=False)
    found = await instances.until_ready(stage)

    shown, mirrored = found["status"], (await instances.mirror(stage))["status"]
    assert shown["observedGeneration"] == found["metadata"]["generation"] == 2
    assert {one["observedGeneration"] for one in shown["conditions"]} == {2}
    told = [{**one, "observedGeneration": 2} for one in mirrored["conditions"]]
    assert shown["conditions"] == told
    assert shown["activeBundle"] == shown["installedBundleName"] == mirrored["activeBundle"]
    line = (await stage.run_kubectl("get", "bi", stage.name, "--no-headers")).split()
    assert line[:3] == [stage.name, "True", "Succeeded"]


async def test_content_error_is_told_in_instance_and_deployment(stage: Stage) -> None:
    await instances.create(stage, await stage.content({"kind": "Nothing"}))
    found = await instances.until(stage, says("HasValidBundle", "False", "BundleLoadFailed", "has no apiVersion"))
    assert condition(found, "Stalled")["status"] == "True"


async def test_foreign_deployment_is_never_taken_over(stage: Stage) -> None:
    theirs = await stage.content(settings(stage.namespace, key="theirs"), name="theirs")
    ours = await stage.content(settings(stage.namespace, key="ours"), name="ours")
    await stage.installed(theirs)
    before = await stage.deployment()
    await instances.create(stage, ours)
    found = await instances.until(
        stage, says("Ready", "False", "Conflict", stage.name, TAKEN), says("Reconciling", "True")
    )
    assert {one["type"] for one in found["status"]["conditions"]} >= {"HasValidBundle", "Installed", "Healthy"}
    await until_told(stage, stage.name, "Conflict", "Warning", TAKEN)
    await stage.barrier()
    assert await stage.deployment() == before

    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", stage.name)
    found = await instances.until_ready(stage)
    assert (await instances.mirror(stage))["metadata"]["ownerReferences"] == [instances.owner(found)]


async def test_foreign_deployment_of_an_unserved_class_is_a_conflict(stage: Stage) -> None:
    foreign = deployment(stage.name, await stage.content(settings(stage.namespace)), provisionerClassName="elsewhere")
    await stage.create(BUNDLE_DEPLOYMENTS, "", foreign)
    await instances.create(stage, foreign["spec"]["template"]["spec"]["source"])
    await instances.until(stage, says("Ready", "False", "Conflict", TAKEN))


async def test_an_edited_deployment_is_put_back(stage: Stage) -> None:
    """Added fields of the spec go too, and metadata that is not ours stays."""
    await instances.create(stage, await stage.content(settings(stage.namespace)))
    found = await instances.until_ready(stage)
    await patch_mirror(stage, spec={"suspend": True}, metadata={"labels": {"team": "a"}, "annotations": {"note": "b"}})

    async def is_put_back() -> bool:
        return bool((await instances.mirror(stage))["spec"] == found["spec"])

    await eventually(is_put_back, what="the spec is that of the instance")
    metadata = (await instances.mirror(stage))["metadata"]
    assert metadata["labels"] == {"team": "a", "core.rukpak.io/owner-name": stage.name, **instances.LABELS}
    assert metadata["annotations"] == {"note": "b"}
    await until_told(
        stage, stage.name, "DriftCorrected", "Normal", f"reverted the spec of BundleDeployment {stage.name}"
    )
    await instances.until_ready(stage)


async def test_a_deleted_deployment_comes_back(stage: Stage) -> None:
    await instances.create(stage, await stage.content(settings(stage.namespace)))
    await instances.until_ready(stage)
    former = (await instances.mirror(stage))["metadata"]["uid"]
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", stage.name)
    await stage.until_deployment(stage.name, lambda one: one["metadata"]["uid"] != former, says("Ready", "True"))
    await instances.until_ready(stage)


async def test_upgrade_by_the_instance_is_no_drift(stage: Stage) -> None:
    """No Event says that drift was reverted."""
    await instances.create(stage, await stage.content(settings(stage.namespace, key="1"), name="v1"))
    await instances.until_ready(stage)
    v2 = await stage.content(settings(stage.namespace, key="2"), name="v2")
    inner = {"provisionerClassName": PLAIN_CLASS, "source": v2}
    await instances.edit(stage, template={"spec": inner})
    await instances.until(
        stage, is_observed, says("Ready", "True"), lambda one: one["status"]["observedGeneration"] == 2
    )
    assert (await stage.settings())["data"] == {"key": "2"}
    assert "DriftCorrected" not in await events_of(stage, stage.name)


async def test_a_forced_reconcile_reaches_the_deployment(stage: Stage) -> None:
    await instances.create(stage, await stage.content(settings(stage.namespace)))
    await instances.until_ready(stage)
    await stage.run_kubectl("annotate", "bundleinstance", stage.name, "core.rukpak.io/reconcile-at=now")
    found = await instances.until(stage, lambda one: one["status"].get("lastHandledReconcileAt") == "now")
    assert (await instances.mirror(stage))["status"]["lastHandledReconcileAt"] == "now"
    assert found["metadata"]["generation"] == 1


async def test_an_instance_of_another_class_is_left_alone(stage: Stage) -> None:
    created = await instances.create(
        stage, await stage.content(settings(stage.namespace)), provisionerClassName="elsewhere"
    )
    await stage.barrier()
    assert await instances.read(stage) == created
    assert not await instances.is_mirrored(stage)

    await instances.edit(stage, provisionerClassName="core.rukpak.io/plain")
    await instances.until_ready(stage)


async def test_a_class_that_changes_away_and_back(stage: Stage) -> None:
    await instances.create(stage, await stage.content(settings(stage.namespace)))
    await instances.until_ready(stage)
    await instances.edit(stage, provisionerClassName="elsewhere")
    await instances.until(stage, is_observed, says("Ready", "Unknown", "ClassNotServed"))
    await instances.edit(stage, provisionerClassName="core.rukpak.io/plain")
    await instances.until_ready(stage)


async def test_the_api_server_refuses_what_it_refuses_of_a_deployment(stage: Stage) -> None:
    long_name = instances.instance("x" * 46, await stage.content(settings(stage.namespace)))
    assert "metadata.name: Too long" in await stage.refusal(stage.create(BUNDLE_INSTANCES, "", long_name))
    wrong = instances.instance(stage.name, {"type": "image"})
    assert "bundle.spec.source" in await stage.refusal(stage.create(BUNDLE_INSTANCES, "", wrong))

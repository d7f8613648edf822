"""Policies of `spec.config.crds` for the CRDs in a chart's crds/."""

import json
from contextlib import suppress

import pytest

from rukpak_py.api.names import OWNER_NAME_LABEL, RELEASED_ANNOTATION
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.errors import KindNotServedError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.helm_charts import Files, chart_source, deploy, installed, settings
from tests.integration.scenarios.stage import Document, Stage, definition, is_observed, says, widget, widgets
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("helm")
CREATE = {"crds": "Create"}


def with_label(crd: Document, value: str) -> Document:
    """Another version of the same CRD."""
    return {**crd, "metadata": {**crd["metadata"], "labels": {"version": value}}}


def files(stage: Stage, crd: Document, a: str = "1", *, instance: str = "one") -> Files:
    instances = {"templates/instance.yaml": json.dumps(widget(stage.group, instance))} if instance else {}
    return {
        "crds/widgets.yaml": json.dumps(crd),
        "templates/a.yaml": settings(f"settings-{instance}", a=a),
        **instances,
    }


async def crd_of(stage: Stage) -> Document:
    return await stage.get(CRDS, "", f"widgets.{stage.group}")


async def upgraded(stage: Stage, name: str, chart: Files, *, version: str, instance: str = "one") -> None:
    await stage.edit_template(name, await chart_source(stage, chart, name=f"{name}-{version}"))
    await stage.until(
        CONFIG_MAPS, stage.namespace, f"settings-{instance}", lambda found: found["data"] == {"a": version}
    )
    await stage.until_ready(name)


async def test_created_where_it_is_missing_and_never_changed_or_deleted(stage: Stage) -> None:
    first = with_label(definition(stage.group), "1")
    name = await installed(stage, files(stage, first), config=CREATE)
    made = (await crd_of(stage))["metadata"]
    assert await stage.exists(widgets(stage.group), "", "one"), "its instance is applied after it"
    assert made["labels"] == {"version": "1"}
    assert "ownerReferences" not in made
    assert not [mark for mark in made.get("annotations", {}) if "rukpak" in mark]

    await upgraded(stage, name, files(stage, with_label(first, "2"), "2"), version="2")
    assert (await crd_of(stage))["metadata"]["labels"] == {"version": "1"}
    await upgraded(stage, name, {"templates/a.yaml": settings("settings-one", a="3")}, version="3")
    await stage.barrier()
    assert (await crd_of(stage))["metadata"]["uid"] == made["uid"]
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    assert "deletionTimestamp" not in (await crd_of(stage))["metadata"]
    await stage.client.delete(CRDS, "", f"widgets.{stage.group}")


async def test_existing_crd_is_no_conflict_and_stays_as_it_is(stage: Stage) -> None:
    theirs = with_label(definition(stage.group), "theirs")
    await stage.client.create(CRDS, "", canonical_json(theirs), field_manager="helm")
    before = await crd_of(stage)
    name = await installed(stage, files(stage, with_label(theirs, "ours")), config=CREATE)
    after = await crd_of(stage)
    entries = {one["manager"] for one in after["metadata"]["managedFields"]}
    assert (after["spec"], after["metadata"]["labels"]) == (before["spec"], {"version": "theirs"})
    assert f"rukpak/{name}" not in entries
    await stage.client.delete(CRDS, "", f"widgets.{stage.group}")


async def test_from_one_way_to_the_other_and_back(stage: Stage) -> None:
    crd = definition(stage.group)
    chart = files(stage, crd)
    override = {"group": "apiextensions.k8s.io", "kind": "CustomResourceDefinition", "name": crd["metadata"]["name"]}
    name = await installed(stage, chart, overrides=[{**override, "prune": True}])
    uid = (await crd_of(stage))["metadata"]["uid"]
    await stage.edit(name, config=CREATE)
    released = await stage.until(
        CRDS, "", crd["metadata"]["name"], lambda found: RELEASED_ANNOTATION in found["metadata"]["annotations"]
    )
    await stage.until_ready(name)
    assert OWNER_NAME_LABEL not in released["metadata"].get("labels", {})
    await stage.edit(name, config=None)
    await stage.until(
        CRDS, "", crd["metadata"]["name"], lambda found: OWNER_NAME_LABEL in found["metadata"].get("labels", {})
    )
    await stage.until_ready(name)
    assert (await crd_of(stage))["metadata"]["uid"] == uid
    assert await stage.exists(widgets(stage.group), "", "one")


async def test_skipped_crds_are_not_created(stage: Stage) -> None:
    """The chart waits for the kind, as with helm, until another brings it."""
    name = await deploy(
        stage, await chart_source(stage, files(stage, definition(stage.group))), config={"crds": "Skip"}
    )
    await stage.until_deployment(
        name, is_observed, says("Installed", "False", "InstallFailed", "required resource not found")
    )
    assert not await stage.exists(CRDS, "", f"widgets.{stage.group}")
    await stage.create(CRDS, "", definition(stage.group))
    await stage.until_deployment(name, is_observed, says("Ready", "True"), seconds=90)


def owner(crd: Document) -> str:
    found: str = crd["metadata"]["labels"].get(OWNER_NAME_LABEL, "")
    return found


def shares(stage: Stage, name: str) -> str:
    return f"CustomResourceDefinition.apiextensions.k8s.io/widgets.{stage.group} belongs to BundleDeployment {name}"


async def two_releases(stage: Stage, crd: Document) -> tuple[str, str]:
    first, second = f"{stage.name}-a", f"{stage.name}-b"
    await installed(stage, files(stage, crd, instance="a"), name=first)
    await installed(stage, files(stage, crd, instance="b"), name=second)
    return first, second


async def test_two_releases_share_what_is_the_same(stage: Stage) -> None:
    first, second = await two_releases(stage, definition(stage.group))
    made = await crd_of(stage)
    assert owner(made) == first
    assert f"rukpak/{second}" not in {one["manager"] for one in made["metadata"]["managedFields"]}
    assert await stage.exists(widgets(stage.group), "", "b")
    text = f"{shares(stage, first)}: in this bundle too, and the same; left as it is"
    await stage.until_deployment(second, says("Ready", "True"), says("Installed", "True", "", text))
    await until_told(stage, second, "Shared", f"Normal: {text}")

    await stage.client.delete(CRDS, "", f"widgets.{stage.group}")
    await stage.until(
        CRDS, "", f"widgets.{stage.group}", lambda found: found["metadata"]["uid"] != made["metadata"]["uid"]
    )

    async def is_back() -> bool:
        with suppress(KindNotServedError):
            return await stage.exists(widgets(stage.group), "", "b")
        return False

    await eventually(is_back, what="the instance of the second comes back with the kind", seconds=90)
    await stage.until_ready(second)


async def test_shared_crd_that_differs_is_refused_with_the_way_out(stage: Stage) -> None:
    crd = definition(stage.group)
    await installed(stage, files(stage, crd, instance="a"), name=f"{stage.name}-a")
    chart = await chart_source(stage, files(stage, with_label(crd, "2"), instance="b"), name="other")
    second = await deploy(stage, chart, name=f"{stage.name}-b")
    text = (
        "; leave it as it is with spec.config.crds: Create, where it is in crds/ of the chart, or remove it from this"
    )
    found = await stage.until_deployment(
        second, is_observed, says("Ready", "False", "Conflict", shares(stage, f"{stage.name}-a"), text)
    )
    assert "delete it" not in json.dumps(found["status"]["conditions"])
    await stage.edit(second, config=CREATE)
    await stage.until_ready(second)
    assert owner(await crd_of(stage)) == f"{stage.name}-a"


async def test_shared_crd_that_its_owner_changes_is_told_and_not_fought_over(stage: Stage) -> None:
    crd = definition(stage.group)
    first, second = await two_releases(stage, crd)
    await upgraded(stage, first, files(stage, with_label(crd, "2"), "2", instance="a"), version="2", instance="a")
    uid = (await crd_of(stage))["metadata"]["uid"]
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings-b")  # drift of the second is corrected
    await stage.until(CONFIG_MAPS, stage.namespace, "settings-b", lambda found: found["data"])
    text = f"{shares(stage, first)}, and not, or no longer, as this bundle has it; left as it is"
    await stage.until_deployment(second, says("Ready", "True"), says("Installed", "True", "", text))
    await until_told(stage, second, "SharedDiffers", f"Warning: {text}")
    found = await crd_of(stage)
    assert (found["metadata"]["uid"], found["metadata"]["labels"]["version"], owner(found)) == (uid, "2", first)

    await upgraded(stage, second, files(stage, with_label(crd, "2"), "2", instance="b"), version="2", instance="b")
    await stage.until_deployment(second, says("Installed", "True", "", "in this bundle too, and the same"))


async def test_shared_crd_whose_owner_is_gone_is_taken_where_adopt_says_so(stage: Stage) -> None:
    crd = definition(stage.group)
    first, second = await two_releases(stage, crd)
    uid = (await crd_of(stage))["metadata"]["uid"]
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", first)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", first)
    await upgraded(stage, second, files(stage, crd, "2", instance="b"), version="2", instance="b")
    assert owner(await crd_of(stage)) == first, "nothing is taken without a word"
    text = (
        "which does not exist: in this bundle too, and the same; left as it is. Where its owner does not exist, spec."
    )
    await stage.until_deployment(second, says("Installed", "True", "", text))
    await stage.edit(second, adopt="IfUnowned")
    await stage.client.patch(
        BUNDLE_DEPLOYMENTS, "", second, b'{"metadata":{"annotations":{"core.rukpak.io/reconcile-at":"now"}}}'
    )
    found = await stage.until(CRDS, "", crd["metadata"]["name"], lambda found: owner(found) == second)
    assert found["metadata"]["uid"] == uid
    await stage.until_deployment(
        second, says("Ready", "True"), lambda one: "in this bundle too" not in json.dumps(one["status"]["conditions"])
    )
    await stage.client.delete(CRDS, "", crd["metadata"]["name"])

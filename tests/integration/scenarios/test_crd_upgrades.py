"""Upgrades of CRDs with objects of users: nothing is lost or frozen without a yes, and refusals name the object."""

import json
from typing import Any

from rukpak_py.api.names import SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.kube.errors import KindNotServedError
from rukpak_py.kube.resources import CRDS
from tests.integration.scenarios.events import events_of, until_told
from tests.integration.scenarios.stage import Document, Stage, is_observed, says, settings, widget, widgets
from tests.manifests import crd
from tests.waiting import eventually

TEXT = {"type": "string"}


def of_spec(properties: Document, **more: Any) -> Document:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties, **more}}}


def definition(stage: Stage, schema: Document, *versions: str, **annotations: str) -> Document:
    made = crd(stage.group, *versions, kind="Widget", scope="Cluster", schema=schema)
    made["metadata"]["annotations"] = annotations
    return made


async def installed(stage: Stage, schema: Document, *versions: str) -> None:
    made = definition(stage, schema, *versions)
    await stage.installed(await stage.content(made, settings(stage.namespace, version="old"), name="old"))


async def upgrade(stage: Stage, schema: Document, *versions: str, **annotations: str) -> None:
    made = definition(stage, schema, *versions, **annotations)
    source = await stage.content(made, settings(stage.namespace, version="new"), name="new")
    await stage.edit_template(stage.name, source)


async def store(stage: Stage, name: str, **spec: Any) -> None:
    body = json.dumps(widget(stage.group, name, spec=spec)).encode()

    async def is_stored() -> bool:
        try:
            await stage.client.create(widgets(stage.group), "", body)
        except KindNotServedError:
            return False
        return True

    await eventually(is_stored, what="the kind is served")


def refused(*texts: str) -> Any:
    return says("Installed", "False", "UpgradeFailed", *texts)


async def assert_old_version_runs(stage: Stage) -> None:
    assert (await stage.settings())["data"] == {"version": "old"}
    body = b'{"data":{"version":"edited"}}'
    await stage.run_kubectl("patch", "configmap", "settings", "-n", stage.namespace, "-p", body.decode())

    async def is_corrected() -> bool:
        return bool((await stage.settings())["data"] == {"version": "old"})

    await eventually(is_corrected, what="the old version is kept as it is")


async def test_upgrade_that_drops_a_value_is_refused_with_object_and_field(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT, "size": TEXT}))
    await store(stage, "one", color="red", size="large")
    await upgrade(stage, of_spec({"size": TEXT}))
    text = "spec.color: a value that the schema does not have is dropped (version v1, 1 object: one)"
    await stage.until_deployment(stage.name, refused(text, SAFE_CRD_UPGRADE_ANNOTATION))
    assert (await stage.get(widgets(stage.group), "", "one"))["spec"] == {"color": "red", "size": "large"}
    await assert_old_version_runs(stage)

    # no setting of the deployment lets a loss pass
    await stage.edit(stage.name, crdSafety="Warn")
    await stage.until_deployment(stage.name, is_observed, refused(text))
    await stage.run_kubectl("annotate", "crd", f"widgets.{stage.group}", f"{SAFE_CRD_UPGRADE_ANNOTATION}=false")
    await stage.until_ready(stage.name)
    assert (await stage.settings())["data"] == {"version": "new"}


async def test_upgrade_goes_on_once_the_named_object_is_repaired(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT, "size": TEXT}))
    await store(stage, "one", size="large")
    await store(stage, "two", color="red")
    await upgrade(stage, of_spec({"color": TEXT, "size": TEXT}, required=["color"]))
    text = f'error validating existing CRs against new CRD\'s schema for "widgets.{stage.group}"'
    offender = "spec.color: Required value (version v1, 1 object: one)"
    await stage.until_deployment(stage.name, refused(text, offender, "spec.crdSafety: Warn"))
    await assert_old_version_runs(stage)
    await stage.client.patch(widgets(stage.group), "", "one", b'{"spec":{"color":"blue"}}')
    await stage.until_ready(stage.name)
    assert (await stage.settings())["data"] == {"version": "new"}


async def test_crd_safety_warn_lets_an_upgrade_pass_and_an_event_names_the_objects(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT}))
    await store(stage, "one", color="red")
    await stage.edit(stage.name, crdSafety="Warn")
    await upgrade(stage, of_spec({"color": {"type": "integer"}}))
    await stage.until_ready(stage.name)
    text = "spec.color: Invalid value: must be integer (version v1, 1 object: one)"
    await until_told(stage, stage.name, "CRDWarning", text, "Warning")
    assert (await stage.settings())["data"] == {"version": "new"}


async def test_upgrade_that_only_narrows_a_value_passes_with_a_warning(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT}))
    await store(stage, "one", color="red")
    await upgrade(stage, of_spec({"color": {**TEXT, "enum": ["blue"]}}))
    await stage.until_ready(stage.name)
    await until_told(stage, stage.name, "CRDWarning", 'spec.color: Unsupported value: supported values: "blue"')


async def test_upgrade_that_no_object_suffers_from_says_nothing(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT}))
    await store(stage, "one", color="blue")
    await upgrade(stage, of_spec({"color": {**TEXT, "enum": ["blue"]}, "size": TEXT}, required=["color"]))
    await stage.until_ready(stage.name)
    await until_told(stage, stage.name, "Upgraded")
    assert "CRDWarning" not in await events_of(stage, stage.name)


async def test_rules_of_cel_are_named_as_not_checked(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT}))
    await store(stage, "one", color="blue")
    rule = {"x-kubernetes-validations": [{"rule": "self != 'blue'"}]}
    await upgrade(stage, of_spec({"color": {**TEXT, "maxLength": 10, **rule}}))
    await stage.until_ready(stage.name)
    await until_told(stage, stage.name, "CRDWarning", "v1: spec.color: x-kubernetes-validations", "not checked")


async def test_a_bundle_switches_the_check_of_its_crd_off(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT}))
    await store(stage, "one", color="red")
    await upgrade(stage, of_spec({}), **{SAFE_CRD_UPGRADE_ANNOTATION: "false"})
    await stage.until_ready(stage.name)
    assert "CRDWarning" not in await events_of(stage, stage.name)


async def test_scenario_76_stored_version_is_not_removed(stage: Stage) -> None:
    await installed(stage, of_spec({"color": TEXT}), "v1", "v1alpha1")
    await store(stage, "one", color="red")
    await upgrade(stage, of_spec({"color": TEXT}), "v1alpha1")
    await stage.until_deployment(stage.name, refused("cannot remove stored versions [v1]"))
    live = await stage.get(CRDS, "", f"widgets.{stage.group}")
    assert live["status"]["storedVersions"] == ["v1"]
    await assert_old_version_runs(stage)

"""Updates of CRDs by users, not by the operator: no stored object is lost or frozen while our label is on the CRD."""

import json
from typing import Any

import pytest

from e2e.kubectl import KubectlError
from rukpak_py.api.names import CRD_WEBHOOK, OWNER_KIND_LABEL, SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.kube.errors import KindNotServedError
from rukpak_py.kube.resources import CRDS
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import BOTH_IDENTITIES, Document, Stage, settings, widget, widgets
from tests.manifests import crd
from tests.waiting import eventually

LABEL = {OWNER_KIND_LABEL: "BundleDeployment"}
OPTIONAL = {"type": "object", "properties": {"sampleProperty": {"type": "string"}}}
REQUIRED = OPTIONAL | {"required": ["sampleProperty"]}
NUMBER = {"type": "object", "properties": {"sampleProperty": {"type": "integer"}}}
OBJECTS_DO_NOT_FIT = "error validating existing CRs against new CRD's schema"


def schema(spec: Document) -> Document:
    return {"type": "object", "properties": {"spec": spec}}


def definition(stage: Stage, spec: Document = OPTIONAL, *versions: str) -> Document:
    return crd(stage.group, *versions, kind="Widget", scope="Cluster", schema=schema(spec))


async def created(stage: Stage, *, labels: Document = LABEL) -> str:
    """A CRD with an object that does not have the sample property."""
    made = definition(stage)
    made["metadata"]["labels"] = labels
    await stage.create(CRDS, "", made)
    await store(stage)
    return str(made["metadata"]["name"])


async def store(stage: Stage, **spec: Any) -> None:
    async def is_stored() -> bool:
        try:
            await stage.client.create(widgets(stage.group), "", json.dumps(widget(stage.group, spec=spec)).encode())
        except KindNotServedError:
            return False
        return True

    await eventually(is_stored, what="the kind is served")


async def update(stage: Stage, new: Document, **metadata: Document) -> None:
    """As a user does it."""
    patch = {"metadata": metadata, "spec": {"versions": new["spec"]["versions"]}}
    name = new["metadata"]["name"]
    await stage.run_kubectl("patch", "crd", name, "--type=merge", f"--patch={json.dumps(patch)}")


async def refusal(stage: Stage, new: Document) -> str:
    with pytest.raises(KubectlError) as refused:
        await update(stage, new)
    return str(refused.value)


async def stored_versions(stage: Stage, name: str) -> list[str]:
    found: list[str] = (await stage.get(CRDS, "", name))["status"]["storedVersions"]
    return found


async def test_scenario_71_version_is_added_to_a_crd_without_our_label(stage: Stage) -> None:
    name = await created(stage, labels={})
    await update(stage, definition(stage, OPTIONAL, "v2", "v1"))
    assert await stored_versions(stage, name) == ["v1", "v2"]


async def test_scenario_72_version_is_added_together_with_our_label(stage: Stage) -> None:
    name = await created(stage, labels={})
    await update(stage, definition(stage, OPTIONAL, "v2", "v1"), labels=LABEL)
    assert await stored_versions(stage, name) == ["v1", "v2"]


async def test_version_is_added_to_a_crd_with_our_label(stage: Stage) -> None:
    name = await created(stage)
    await update(stage, definition(stage, OPTIONAL, "v2", "v1"))
    assert await stored_versions(stage, name) == ["v1", "v2"]


async def test_scenario_73_property_of_stored_objects_becomes_required(stage: Stage) -> None:
    name = await created(stage)
    text = await refusal(stage, definition(stage, REQUIRED))
    about = f'failed to validate safety of UPDATE for CRD "{name}"'
    note = f'(NOTE: to disable this validation, set the "{SAFE_CRD_UPGRADE_ANNOTATION}" annotation to "false")'
    offender = "spec.sampleProperty: Required value (version v1, 1 object: one)"
    assert f'admission webhook "{CRD_WEBHOOK}" denied the request: {about} {note}' in text
    assert f'{OBJECTS_DO_NOT_FIT} for "{name}": {offender}' in text
    live = await stage.get(CRDS, "", name)
    assert live["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema(OPTIONAL)


async def test_scenario_74_label_is_removed_first(stage: Stage) -> None:
    name = await created(stage)
    await stage.run_kubectl("label", "crd", name, f"{OWNER_KIND_LABEL}-")
    await update(stage, definition(stage, REQUIRED))


async def test_removing_the_label_in_the_same_update_is_no_way_around(stage: Stage) -> None:
    await created(stage)
    with pytest.raises(KubectlError, match=OBJECTS_DO_NOT_FIT):
        await update(stage, definition(stage, REQUIRED), labels={OWNER_KIND_LABEL: None})


async def test_scenario_75_annotation_is_set_first(stage: Stage) -> None:
    name = await created(stage)
    await stage.run_kubectl("annotate", "crd", name, f"{SAFE_CRD_UPGRADE_ANNOTATION}=false")
    await update(stage, definition(stage, REQUIRED))


async def test_dry_run_gets_the_same_answer(stage: Stage) -> None:
    name = await created(stage)
    patch = json.dumps({"spec": {"versions": definition(stage, REQUIRED)["spec"]["versions"]}})
    with pytest.raises(KubectlError, match=OBJECTS_DO_NOT_FIT):
        await stage.run_kubectl("patch", "crd", name, "--type=merge", f"--patch={patch}", "--dry-run=server")


@BOTH_IDENTITIES
async def test_scenario_73_crd_of_a_deployment(stage: Stage) -> None:
    await stage.installed(await stage.content(definition(stage), settings(stage.namespace)))
    await store(stage)
    offender = "spec.sampleProperty: Required value (version v1, 1 object: one)"
    assert offender in await refusal(stage, definition(stage, REQUIRED))


@BOTH_IDENTITIES
async def test_scenario_75_crd_of_a_deployment_is_put_back_after_an_update_that_passes(stage: Stage) -> None:
    await stage.installed(await stage.content(definition(stage), settings(stage.namespace)))
    await store(stage)
    name = f"widgets.{stage.group}"
    await stage.run_kubectl("annotate", "crd", name, f"{SAFE_CRD_UPGRADE_ANNOTATION}=false")
    await update(stage, definition(stage, REQUIRED))

    async def is_corrected() -> bool:
        live = await stage.get(CRDS, "", name)
        return bool(live["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema(OPTIONAL))

    await eventually(is_corrected, what="the schema of the deployment is back")


@BOTH_IDENTITIES
async def test_upgrade_that_the_gate_lets_pass_is_not_refused_by_the_webhook(stage: Stage) -> None:
    await stage.installed(await stage.content(definition(stage), settings(stage.namespace)), crdSafety="Warn")
    await store(stage, sampleProperty="text")
    assert "must be integer" in await refusal(stage, definition(stage, NUMBER)), "by a user"
    await stage.edit_template(stage.name, await stage.content(definition(stage, NUMBER), name="new"))
    await stage.until_ready(stage.name)
    await until_told(stage, stage.name, "CRDWarning", "spec.sampleProperty: Invalid value: must be integer")
    live = await stage.get(CRDS, "", f"widgets.{stage.group}")
    assert live["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema(NUMBER)

"""A BundleDeployment brings its content into the cluster."""

from rukpak_py.api.names import API_VERSION
from rukpak_py.kube.resources import BUNDLES, CRDS, NAMESPACES
from tests.integration.scenarios.stage import (
    BOTH_IDENTITIES,
    Document,
    Stage,
    condition,
    definition,
    says,
    settings,
    widget,
    widgets,
)


def succeeded(document: Document) -> bool:
    return bool(says("Installed", "True", "InstallationSucceeded", "Instantiated bundle")(document))


async def definitions_installed(stage: Stage, template: Document | None = None) -> Document:
    content = await stage.content(definition(stage.group, "Widget"), definition(stage.group, "Gadget"))
    await stage.installed(content, template=template)
    return await stage.deployment()


@BOTH_IDENTITIES
async def test_scenario_35_plain_manifests_are_installed(stage: Stage) -> None:
    found = await definitions_installed(stage)
    active = found["status"]["activeBundle"]
    assert active == await stage.wanted_bundle(stage.name)
    assert succeeded(found)
    assert condition(found, "Installed")["message"] == f"Instantiated bundle {active} successfully"
    assert says("HasValidBundle", "True", "UnpackSuccessful", f"Successfully unpacked the {active} Bundle")(found)
    assert says("Healthy", "True", "Healthy", "BundleDeployment is healthy")(found)
    for plural in ("widgets", "gadgets"):
        assert await stage.exists(CRDS, "", f"{plural}.{stage.group}")


@BOTH_IDENTITIES
async def test_scenario_36_the_deployment_controls_its_bundle(stage: Stage) -> None:
    found = await definitions_installed(stage)
    active = await stage.get(BUNDLES, "", found["status"]["activeBundle"])
    reference = {
        "apiVersion": API_VERSION,
        "kind": "BundleDeployment",
        "name": stage.name,
        "uid": found["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert active["metadata"]["ownerReferences"] == [reference]


@BOTH_IDENTITIES
async def test_scenario_37_the_bundle_names_its_owner(stage: Stage) -> None:
    found = await definitions_installed(stage)
    labels = (await stage.get(BUNDLES, "", found["status"]["activeBundle"]))["metadata"]["labels"]
    assert labels["core.rukpak.io/owner-kind"] == "BundleDeployment"
    assert labels["core.rukpak.io/owner-name"] == stage.name


@BOTH_IDENTITIES
async def test_scenario_42_a_template_with_a_label(stage: Stage) -> None:
    found = await definitions_installed(stage, template={"labels": {"foo": "bar"}})
    assert succeeded(found)
    active = await stage.get(BUNDLES, "", found["status"]["activeBundle"])
    assert active["metadata"]["labels"]["foo"] == "bar"
    assert found["spec"]["template"]["metadata"]["labels"] == {"foo": "bar"}


@BOTH_IDENTITIES
async def test_scenarios_45_and_46_a_kind_that_another_deployment_brings(stage: Stage) -> None:
    """It continues by itself, and until then nothing of it is there."""
    dependent = await stage.content(settings(stage.namespace), widget(stage.group), name="dependent")
    await stage.deploy(dependent)
    missing = f'no matches for kind "Widget" in version "{stage.group}/v1"'
    found = await stage.until_deployment(
        stage.name, says("Installed", "False", "InstallFailed", "required resource not found: ", missing)
    )
    assert condition(found, "Ready")["message"] == (
        f"Widget.{stage.group}/one: the cluster has no kind Widget ({stage.group}/v1); "
        "install its CRD or add it to the bundle"
    )
    assert says("Healthy", "False", "InstallationStatusFalse", "Installed condition is false")(found)
    assert says("Reconciling", "True")(found)
    assert not condition(found, "Stalled")
    assert "activeBundle" not in found["status"]
    assert not await stage.has_settings()

    provider = await stage.content(definition(stage.group), name="provider")
    await stage.installed(provider, name=f"{stage.name}-provider")
    found = await stage.until_ready(stage.name)
    assert succeeded(found)
    assert found["status"]["activeBundle"]
    assert await stage.exists(widgets(stage.group), "", "one")


@BOTH_IDENTITIES
async def test_scenario_47_definitions_and_instances_in_one_bundle(stage: Stage) -> None:
    """The original refused this; here the definitions come first."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stage.name}}
    content = await stage.content(widget(stage.group), settings(stage.name), namespace, definition(stage.group))
    await stage.installed(content)
    assert succeeded(await stage.deployment())
    assert await stage.exists(widgets(stage.group), "", "one")
    assert await stage.exists(NAMESPACES, "", stage.name)

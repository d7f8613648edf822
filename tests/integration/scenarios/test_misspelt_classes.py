"""A typo in `provisionerClassName`: the API server warns, and the status says what is wrong, not silence."""

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.kube.resources import BUNDLES
from tests.integration.scenarios import instances
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import Stage, is_observed, says, settings

MISSPELT = "core-rukpak-io-plian"
TEXT = f'there is no provisioner class "{MISSPELT}" (did you mean "{PLAIN_CLASS}"?)'
STALLED = says("Stalled", "True", "ClassUnknown", TEXT)


async def test_bundle_of_a_misspelt_class_is_stalled(stage: Stage) -> None:
    name = await stage.bundle(await stage.content(settings(stage.namespace)), provisioner=MISSPELT)
    await stage.until_bundle(name, says("Ready", "False", "ClassUnknown", TEXT, "of a new Bundle"), STALLED)
    await until_told(stage, name, "ClassUnknown", f"Warning: {TEXT}")


async def test_a_deployment_says_it_and_goes_on_once_it_is_corrected(stage: Stage) -> None:
    content = await stage.content(settings(stage.namespace))
    name = await stage.deploy(content, provisionerClassName=MISSPELT)
    await stage.until_deployment(name, says("Ready", "False", "ClassUnknown", TEXT), STALLED)
    await until_told(stage, name, "ClassUnknown", f"Warning: {TEXT}")
    await stage.edit(name, provisionerClassName=PLAIN_CLASS)
    await stage.until_ready(name)


async def test_installed_content_stays_while_the_class_is_misspelt(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings(stage.namespace)))
    await stage.edit(name, provisionerClassName=MISSPELT)
    await stage.until_deployment(name, is_observed, says("Ready", "False", "ClassUnknown", TEXT), STALLED)
    assert await stage.has_settings()
    await stage.edit(name, provisionerClassName=PLAIN_CLASS)
    await stage.until_ready(name)


async def test_a_template_is_told_by_the_deployment(stage: Stage) -> None:
    source = await stage.content(settings(stage.namespace))
    spec = {"provisionerClassName": MISSPELT, "source": source}
    name = await stage.deploy(source)
    await stage.until_ready(name)
    await stage.edit(name, template={"spec": spec})
    field = "spec.template.spec.provisionerClassName"
    found = await stage.until_deployment(name, says("HasValidBundle", "False", "ClassUnknown", TEXT, field))
    assert says("Ready", "False", "ClassUnknown", TEXT, field)(found)
    assert await stage.has_settings()


async def test_an_instance_says_what_its_deployment_does(stage: Stage) -> None:
    await instances.create(stage, await stage.content(settings(stage.namespace)), provisionerClassName=MISSPELT)
    await instances.until(stage, says("Ready", "False", "ClassUnknown", TEXT))


async def test_a_class_of_others_stays_silent(stage: Stage) -> None:
    """Another operator may serve it."""
    source = await stage.content(settings(stage.namespace))
    bundled = await stage.bundle(source, provisioner="example-com-plain", name=f"{stage.name}-other")
    deployed = await stage.deploy(source, provisionerClassName="example-com-plain")
    await stage.barrier()
    for found in (await stage.deployment(deployed), await stage.get(BUNDLES, "", bundled)):
        assert not found["status"].get("conditions")

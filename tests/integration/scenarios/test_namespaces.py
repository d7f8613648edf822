"""The namespace of objects that name none, also when it does not exist."""

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.integration.scenarios.stage import Document, Stage, condition, says, settings


def homeless(name: str = "settings") -> Document:
    return settings("", name)


async def test_objects_without_a_namespace_go_to_the_system_namespace(stage: Stage) -> None:
    await stage.installed(await stage.content(homeless(stage.name)))
    assert await stage.exists(CONFIG_MAPS, DEFAULT_SYSTEM_NAMESPACE, stage.name)


async def test_objects_without_a_namespace_go_to_the_install_namespace(stage: Stage) -> None:
    await stage.installed(await stage.content(homeless()), installNamespace=stage.namespace)
    assert await stage.has_settings()


async def test_a_missing_namespace_is_named_and_waited_for(stage: Stage) -> None:
    await stage.deploy(await stage.content(homeless(), settings(stage.namespace, "other")), installNamespace=stage.name)
    text = f"Namespace {stage.name} not found (needed by ConfigMap {stage.name}/settings); create it, add it"
    found = await stage.until_deployment(
        stage.name, says("Installed", "False", "InstallFailed", f"required resource not found: {text}")
    )
    assert condition(found, "Ready")["message"].startswith(text)
    assert says("Reconciling", "True")(found)
    assert not condition(found, "Stalled")
    assert not await stage.has_settings("other")

    await stage.create(NAMESPACES, "", {"metadata": {"name": stage.name}})
    await stage.until_ready(stage.name)
    assert await stage.exists(CONFIG_MAPS, stage.name, "settings")
    assert await stage.has_settings("other")


async def test_a_namespace_that_exists_is_not_touched(stage: Stage) -> None:
    before = await stage.get(NAMESPACES, "", stage.namespace)
    await stage.installed(await stage.content(homeless()), installNamespace=stage.namespace, createNamespace=True)
    assert (await stage.get(NAMESPACES, "", stage.namespace)) == before

"""An override that is about nothing protects nothing: it is told, and what is installed is not worse for it."""

from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import Stage, condition, is_observed, says, settings


async def test_an_override_with_the_wrong_namespace_is_told_until_it_is_corrected(stage: Stage) -> None:
    wrong = {"kind": "ConfigMap", "namespace": "rukpak-system", "name": "settings", "prune": False}
    name = await stage.deploy(await stage.content(settings(stage.namespace)), overrides=[wrong])
    text = (
        "spec.overrides[0] (ConfigMap rukpak-system/settings) matches no object of the bundle and no kept object; "
        "check kind, namespace and name, or remove the entry"
    )
    await stage.until_deployment(name, says("Ready", "True"), says("Installed", "True", "", text))
    await until_told(stage, name, "OverrideUnmatched", f"Warning: {text}")

    await stage.edit(name, overrides=[{**wrong, "namespace": stage.namespace}])
    found = await stage.until_deployment(
        name, is_observed, says("Ready", "True"), lambda one: "overrides" not in condition(one, "Installed")["message"]
    )
    assert says("Installed", "True", "InstallationSucceeded")(found)

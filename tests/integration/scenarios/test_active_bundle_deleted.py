"""The active Bundle is deleted while its successor is refused: the installed content is kept all the same."""

import json

from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS, CRDS
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import SYSTEM, Stage, condition, definition, phase, says, settings, widget
from tests.waiting import eventually

CHANGED = b'{"data":{"key":"drift"}}'


async def refused_upgrade(stage: Stage) -> tuple[str, str]:
    """The names of the deployment, and of the Bundle whose content is installed."""
    name = await stage.installed(await stage.content(settings(stage.namespace, key="v1")))
    active = (await stage.deployment(name))["status"]["activeBundle"]
    v2 = await stage.content(settings(stage.namespace, key="v2"), widget(stage.group), name="v2")
    await stage.edit_template(name, v2)
    await stage.until_deployment(name, says("Installed", "False", "UpgradeFailed"))
    return name, active


async def until_deleted(stage: Stage, name: str) -> None:
    """The webhook hears of the end of the Bundle when the operator does, a moment later."""

    async def may_go() -> bool:
        try:
            await stage.client.delete(CONFIG_MAPS, SYSTEM, name)
        except ForbiddenError:
            return False
        return True

    await eventually(may_go, what="nobody uses the ConfigMap")


async def test_deleted_active_bundle_is_made_again_and_drift_is_corrected(stage: Stage) -> None:
    name, active = await refused_upgrade(stage)
    before = (await stage.get(BUNDLES, "", active))["metadata"]["uid"]
    await stage.client.delete(BUNDLES, "", active)
    await stage.until_bundle(active, lambda one: one["metadata"]["uid"] != before, phase("Unpacked"))
    await stage.client.patch(CONFIG_MAPS, stage.namespace, "settings", CHANGED)
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", lambda one: one["data"] == {"key": "v1"})
    found = await stage.deployment(name)
    assert found["status"]["activeBundle"] == active
    assert "drift is not corrected" not in condition(found, "Installed")["message"]


async def test_active_bundle_that_cannot_be_made_again_is_told(stage: Stage) -> None:
    """Its content is lost with it: the ConfigMap could be deleted while no Bundle used it."""
    name, active = await refused_upgrade(stage)
    await stage.edit(name, suspend=True)
    await stage.until_deployment(name, says("Ready", "False", "Suspended"))
    await stage.client.delete(BUNDLES, "", active)
    await stage.until_gone(BUNDLES, "", active)

    await until_deleted(stage, f"{stage.name}-content")
    await stage.edit(name, suspend=False)

    text = f"Bundle {active}, whose content is installed, cannot be unpacked: drift is not corrected; "
    found = await stage.until_deployment(name, says("Installed", "False", "UpgradeFailed", text))
    assert "no matches for kind" in condition(found, "Installed")["message"].splitlines()[0]
    await until_told(stage, name, "ReconcileFailed", f"Warning: {text}")
    assert (await stage.settings())["data"] == {"key": "v1"}
    assert json.dumps(found["status"]["history"]).count(active) == 1


async def test_other_content_of_its_source_is_not_installed_before_a_refresh(stage: Stage) -> None:
    """The installed content stays, and the way out is told; the refresh is an upgrade like any other."""
    name = await stage.installed(await stage.content(settings(stage.namespace, key="v1")))
    status = (await stage.deployment(name))["status"]
    active, digest = status["activeBundle"], status["digest"]
    await stage.edit(name, suspend=True)
    await stage.until_deployment(name, says("Ready", "True", "Suspended"))
    await stage.client.delete(BUNDLES, "", active)
    await stage.until_gone(BUNDLES, "", active)
    await until_deleted(stage, f"{stage.name}-content")
    await stage.content(settings(stage.namespace, key="v2"), widget(stage.group))
    await stage.edit(name, suspend=False)

    other = "the source has other content now than what is installed by this Bundle"
    found = await stage.until_bundle(active, says("Unpacked", "False", "ContentChanged", other, "refresh-at"))
    assert f"installed {digest}" in condition(found, "Unpacked")["message"]
    found = await stage.until_deployment(
        name,
        says("HasValidBundle", "False", "UnpackFailed", other),
        says("Installed", "True", "InstallationSucceeded", "drift is not corrected"),
    )
    assert says("Ready", "False", "ContentChanged", other)(found)
    assert (await stage.settings())["data"] == {"key": "v1"}

    await stage.run_kubectl("annotate", "bundledeployment", name, "core.rukpak.io/refresh-at=now")
    await stage.until_deployment(name, says("Installed", "False", "UpgradeFailed", "no matches for kind"))
    assert (await stage.settings())["data"] == {"key": "v1"}
    await stage.create(CRDS, "", definition(stage.group))
    found = await stage.until_ready(name)
    assert (await stage.settings())["data"] == {"key": "v2"}
    refreshed = found["status"]["activeBundle"]
    assert refreshed != active
    await until_told(stage, name, "Upgraded", f"Normal: Instantiated bundle {refreshed} successfully")

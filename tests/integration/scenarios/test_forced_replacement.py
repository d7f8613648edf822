"""Objects that `core.rukpak.io/force` deletes and re-creates are told."""

from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import Document, Stage, settings

FORCE = {"core.rukpak.io/force": "true"}


def fixed(stage: Stage, key: str) -> Document:
    return {**settings(stage.namespace, annotations=FORCE, key=key), "immutable": True}


async def test_an_object_that_is_deleted_and_re_created_is_told_with_the_field(stage: Stage) -> None:
    name = await stage.installed(await stage.content(fixed(stage, "v1")))
    before = (await stage.settings())["metadata"]["uid"]
    await stage.edit_template(name, await stage.content(fixed(stage, "v2"), name="v2"))
    after = await stage.until(CONFIG_MAPS, stage.namespace, "settings", lambda one: one["data"] == {"key": "v2"})
    assert after["metadata"]["uid"] != before
    await stage.until_ready(name)
    text = f"deleted and re-created ConfigMap {stage.namespace}/settings: data is immutable"
    await until_told(stage, name, "Replaced", f"Normal: {text}")

"""A Bundle's spec that was changed while no webhook stood guard: what was unpacked stays, and the status tells."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from e2e.cluster.control_plane import ControlPlane
from e2e.kubectl import Kubectl
from rukpak_py.api.names import WEBHOOK_CONFIGURATION
from rukpak_py.controllers.kinds import BUNDLES
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.scenarios.stage import Document, Stage, condition, eventually, phase, says, settings
from tests.shared_operator import SharedOperator, operating, traces


@asynccontextmanager
async def an_operator(kubeconfig: Path, folder: Path) -> AsyncIterator[SharedOperator]:
    manager = operating(kubeconfig, folder)
    operator = await asyncio.to_thread(manager.__enter__)
    try:
        yield operator
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


async def test_a_spec_that_was_changed_while_the_webhook_was_away(
    private_control_plane: ControlPlane, private_client: Client, tmp_path: Path
) -> None:
    kubeconfig = private_control_plane.kubeconfig
    async with an_operator(kubeconfig, tmp_path / "operator") as operator:
        kubectl = Kubectl.on(kubeconfig)
        stage = Stage(client=private_client, kubectl=kubectl, operator=operator, name="s", namespace="default")
        name = await stage.installed(await stage.content(settings("default")))
        before = await stage.get(BUNDLES, "", await stage.wanted_bundle(name))
        bundle = before["metadata"]["name"]

        await change_spec(stage, bundle, {"source": {"configMaps": [{"configMap": {"name": "other"}}]}})
        found = await stage.until_bundle(bundle, says("Ready", "False", "SpecChanged"))
        assert "bundle.spec was changed although it is immutable" in condition(found, "Ready")["message"]
        assert says("Stalled", "True", "SpecChanged")(found)
        assert phase("Unpacked")(found)
        for field in ("digest", "specDigest", "resolvedSource"):
            assert found["status"][field] == before["status"][field]

        await stage.client.delete(CONFIG_MAPS, "default", "settings")
        await stage.until(CONFIG_MAPS, "default", "settings", lambda found: found["data"] == {"key": "value"})
        await stage.until_deployment(name, says("Ready", "False", "Conflict", "delete that Bundle"))

        await change_spec(stage, bundle, before["spec"])
        await stage.until_bundle(bundle, says("Ready", "True"))
        await stage.until_ready(name)
        assert not traces(operator.log.read_text().splitlines())


async def change_spec(stage: Stage, bundle: str, spec: Document) -> None:
    """Past the webhook. The operator puts its configuration back, so it may stand in the way more than once."""
    patch = json.dumps({"spec": spec}).encode()

    async def is_changed() -> bool:
        await stage.run_kubectl("delete", "validatingwebhookconfiguration", WEBHOOK_CONFIGURATION, "--ignore-not-found")
        try:
            await stage.client.patch(BUNDLES, "", bundle, patch)
        except ApiError:
            return False  # the API server's own cache still has the webhook
        return True

    await eventually(is_changed, what="the spec can be changed")

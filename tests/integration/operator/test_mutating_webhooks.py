"""Admission webhooks that change objects: what they take off ours is named, what they change unseen is repaired."""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from e2e.admission_webhook import MUTATING, admission_webhook
from rukpak_py.api.names import OWNER_NAME_LABEL, RECONCILE_AT_ANNOTATION
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, NAMESPACES
from tests.integration.operator.counting import settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.waiting import eventually

Change = dict[str, Any]
Mutation = Callable[[Document], list[Change]]  # from what was sent to a JSON patch
ASKED = [{"op": "add", "path": "/metadata/labels", "value": {"asked": "yes"}}]
TROUBLED = b'{"metadata":{"annotations":{"touched":"yes"}}}'


@asynccontextmanager
async def mutated(tenant: Tenant, folder: Path, mutation: Mutation) -> AsyncIterator[str]:
    """A namespace with such a webhook, once the API server asks it."""
    name = f"{tenant.namespace}-mutated"

    async def answer(review: Document) -> Document:
        patch = ASKED if review["name"] == "probe" else mutation(review["object"])
        encoded = base64.b64encode(orjson.dumps(patch)).decode()
        return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}

    async with admission_webhook(tenant.admin, name, folder, answer, configurations=MUTATING):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {name: "true"}}}
        await tenant.admin.create(NAMESPACES, "", orjson.dumps(namespace))
        probe = orjson.dumps(config_map("probe", name))

        async def is_asked() -> bool:
            made = await tenant.admin.create(CONFIG_MAPS, name, probe, dry_run=True)
            return "asked" in made.metadata.labels

        await eventually(is_asked, what="the webhook is asked")
        yield name


def without_labels(sent: Document) -> list[Change]:
    return [{"op": "remove", "path": "/metadata/labels"}] if sent["metadata"].get("labels") else []


async def test_labels_that_are_stripped_at_admission_are_named(
    tenant: Tenant, operator: Operator, tmp_path: Path
) -> None:
    """Without them no watch would show the object, and the deployment would be Ready whatever became of it."""
    async with mutated(tenant, tmp_path, without_labels) as place:
        await tenant.publish("v1", [config_map("one", place)])
        await tenant.deploy("v1")
        named = f"ConfigMap {place}/one: an admission webhook or policy removed the label"
        told = await tenant.until(
            lambda seen: named in condition(seen, "Installed").get("message", ""), what="it is named"
        )
        assert condition(told, "Ready")["status"] == "False"
    await tenant.ready(seconds=90)
    assert (await tenant.read(CONFIG_MAPS, place, "one"))["metadata"]["labels"][OWNER_NAME_LABEL] == tenant.name


async def test_change_by_a_webhook_in_a_request_of_another_client_is_repaired_on_request(
    tenant: Tenant, operator: Operator, tmp_path: Path
) -> None:
    def tampering(sent: Document) -> list[Change]:
        is_touched = "touched" in (sent["metadata"].get("annotations") or {})
        return [{"op": "replace", "path": "/data/v", "value": "tampered"}] if is_touched and sent.get("data") else []

    async with mutated(tenant, tmp_path, tampering) as place:
        await tenant.publish("v1", [config_map("one", place, v="1")])
        await tenant.deploy("v1")
        await tenant.ready()
        await tenant.admin.patch(CONFIG_MAPS, place, "one", TROUBLED, field_manager="somebody")
        assert (await tenant.read(CONFIG_MAPS, place, "one"))["data"] == {"v": "tampered"}
        await settled(operator)
        assert (await tenant.read(CONFIG_MAPS, place, "one"))["data"] == {"v": "tampered"}, "it leaves no trace"
    await tenant.admin.patch(CONFIG_MAPS, place, "one", b'{"metadata":{"annotations":{"touched":null}}}')

    asked = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: "now"}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, asked)

    async def is_repaired() -> bool:
        return bool((await tenant.read(CONFIG_MAPS, place, "one"))["data"] == {"v": "1"})

    await eventually(is_repaired, what="the value of the bundle is back")

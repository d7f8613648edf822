"""BundleInstances in scenarios: manifests, what is read of them, and patience."""

import json
from typing import Any

from rukpak_py.api.names import API_VERSION, PLAIN_CLASS
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES
from tests.integration.scenarios.stage import Check, Document, Stage, is_observed, says

LABELS = {"core.rukpak.io/owner-kind": "BundleInstance"}


def instance(name: str, source: Document, **spec: Any) -> Document:
    inner = {"provisionerClassName": PLAIN_CLASS, "source": source}
    outer = {"provisionerClassName": PLAIN_CLASS, "template": {"spec": inner}}
    return {"apiVersion": API_VERSION, "kind": "BundleInstance", "metadata": {"name": name}, "spec": outer | spec}


async def create(stage: Stage, source: Document, **spec: Any) -> Document:
    await stage.create(BUNDLE_INSTANCES, "", instance(stage.name, source, **spec))
    return await read(stage)


async def read(stage: Stage) -> Document:
    return await stage.get(BUNDLE_INSTANCES, "", stage.name)


async def edit(stage: Stage, **spec: Any) -> None:
    await stage.client.patch(BUNDLE_INSTANCES, "", stage.name, json.dumps({"spec": spec}).encode())


async def until(stage: Stage, *checks: Check) -> Document:
    return await stage.until(BUNDLE_INSTANCES, "", stage.name, *checks)


async def until_ready(stage: Stage) -> Document:
    return await until(stage, is_observed, says("Ready", "True"))


async def mirror(stage: Stage) -> Document:
    return await stage.get(BUNDLE_DEPLOYMENTS, "", stage.name)


async def is_mirrored(stage: Stage) -> bool:
    return await stage.exists(BUNDLE_DEPLOYMENTS, "", stage.name)


def owner(of: Document, *, uid: str = "") -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "BundleInstance",
        "name": of["metadata"]["name"],
        "uid": uid or of["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }

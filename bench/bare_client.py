"""The floor: our client sends the requests of an installation, without any decisions.

How often each bookkeeping request is sent per deployment is the recipe; `measured` takes it from what an operator sent.
"""

import asyncio
from dataclasses import dataclass

import orjson

from bench.operator_metrics import Requests
from bench.workload import SYSTEM, Manifest, application, template_spec
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    PLAIN_CLASS,
)
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, EVENTS, Resource

IN_FLIGHT = 32
DIGEST = "sha256:" + "0" * 64
MESSAGE = f"Instantiated bundle successfully; {DIGEST}"
CONDITIONS = ("Healthy", "Installed", "HasValidBundle", "Ready")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    config_map_reads: int = 1
    bundle_statuses: int = 1
    deployment_statuses: int = 2
    events: int = 2


def measured(requests: Requests, deployments: int) -> Recipe:
    def each(verb: str, what: str) -> int:
        return round(requests[verb, what] / deployments)

    return Recipe(
        config_map_reads=each("get", "configmaps"),
        bundle_statuses=each("patch", "bundles/status"),
        deployment_statuses=each("patch", "bundledeployments/status"),
        events=each("create", "events"),
    )


async def send_all(client: Client, uids: dict[str, str], recipe: Recipe) -> None:
    """`uids`: of the deployments, by name."""
    slots = asyncio.Semaphore(IN_FLIGHT)

    async def one(name: str, uid: str) -> None:
        async with slots:
            await _send(client, name, uid, recipe)

    await asyncio.gather(*(one(name, uid) for name, uid in uids.items()))


async def _send(client: Client, name: str, uid: str, recipe: Recipe) -> None:
    bundle = f"{name}-0a1b2c3d4e"
    for _ in range(recipe.config_map_reads):
        await client.get(CONFIG_MAPS, SYSTEM, name)
    await client.create(BUNDLES, "", _bundle(bundle, name, uid))
    for number in range(recipe.bundle_statuses):
        await client.patch_status(BUNDLES, "", bundle, _status(number))
    for resource, manifest in application(name):
        await _look_and_apply(client, resource, manifest, name, uid)
    for number in range(recipe.deployment_statuses):
        await client.patch_status(BUNDLE_DEPLOYMENTS, "", name, _status(number))
    for number in range(recipe.events):
        await client.create(EVENTS, "default", _event(f"{name}.{number:016x}", name, uid))


async def _look_and_apply(client: Client, resource: Resource, manifest: Manifest, owner: str, uid: str) -> None:
    metadata = {
        **manifest["metadata"],
        "labels": {
            **manifest["metadata"]["labels"],
            OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND,
            OWNER_NAME_LABEL: owner,
        },
        "annotations": {"core.rukpak.io/applied": DIGEST},
        "ownerReferences": [_owner(owner, uid)],
    }
    name, namespace = metadata["name"], metadata["namespace"]
    body = orjson.dumps({**manifest, "metadata": metadata})
    try:
        await client.get_metadata(resource, namespace, name)
    except NotFoundError:
        await client.apply(resource, namespace, name, body, field_manager=f"rukpak/{owner}", force=False)


def _owner(name: str, uid: str) -> Manifest:
    head = {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND, "name": name, "uid": uid}
    return {**head, "controller": True, "blockOwnerDeletion": True}


def _bundle(name: str, owner: str, uid: str) -> bytes:
    labels = {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: owner}
    metadata = {"name": name, "labels": labels, "ownerReferences": [_owner(owner, uid)]}
    head = {"apiVersion": API_VERSION, "kind": BUNDLE_KIND, "metadata": metadata}
    return orjson.dumps({**head, "spec": template_spec(owner)})


def _status(number: int) -> bytes:
    """Each one differs from the one before it, or the server would write nothing."""
    conditions = [
        {
            "type": one,
            "status": "True",
            "reason": f"Bench{number}",
            "message": MESSAGE,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 1,
        }
        for one in CONDITIONS
    ]
    return orjson.dumps({"status": {"conditions": conditions, "observedGeneration": 1}})


def _event(event: str, name: str, uid: str) -> bytes:
    stamp = "2026-01-01T00:00:00Z"
    about = {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND, "name": name, "uid": uid}
    return orjson.dumps(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event, "namespace": "default"},
            "involvedObject": about,
            "type": "Normal",
            "reason": "Installed",
            "message": f"{MESSAGE} ({PLAIN_CLASS})",
            "source": {"component": "rukpak"},
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }
    )

"""Small objects that the tests of this folder send."""

import asyncio
import uuid
from collections.abc import Callable

import orjson

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CRDS, Resource

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
PATIENCE_SECONDS = 30.0


def config_map(name: str, *, labels: dict[str, str] | None = None, **data: str) -> bytes:
    metadata = {"name": name, **({"labels": labels} if labels else {})}  # an empty map would be owned, too
    return orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def deployment(name: str, *, app: str = "a") -> bytes:
    template = {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": app}}, "template": template}
    return orjson.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})


def new_kind() -> Resource:
    """A kind that no other test has."""
    group = f"g{uuid.uuid4().hex[:8]}.rukpak.test"
    return Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=False)


def definition(kind: Resource, **names: object) -> bytes:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": kind.gvk.group,
        "scope": "Cluster",
        "names": {"plural": kind.plural, "kind": kind.gvk.kind, **names},
        "versions": [version],
    }
    return orjson.dumps(
        {
            "apiVersion": CRDS.gvk.api_version,
            "kind": CRDS.gvk.kind,
            "metadata": {"name": definition_name(kind)},
            "spec": spec,
        }
    )


def definition_name(kind: Resource) -> str:
    return f"{kind.plural}.{kind.gvk.group}"


def thing(kind: Resource, name: str, value: int = 0) -> bytes:
    metadata = {"name": name}
    return orjson.dumps(
        {"apiVersion": kind.gvk.api_version, "kind": kind.gvk.kind, "metadata": metadata, "spec": {"v": value}}
    )


async def define(client: Client, kind: Resource, **names: object) -> None:
    await client.apply(CRDS, "", definition_name(kind), definition(kind, **names), field_manager="t", force=True)


async def until(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for what nobody announces: the state of another task or process."""
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)

"""Small objects that the tests of this folder send."""

import uuid

import orjson

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CRDS, Resource
from tests import manifests

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)


def config_map(name: str, *, labels: dict[str, str] | None = None, **data: str) -> bytes:
    return orjson.dumps(manifests.config_map(name, labels=labels, **data))


def deployment(name: str, *, app: str = "a") -> bytes:
    return orjson.dumps(manifests.workload(name, app=app, env=[{"name": "A", "value": "1"}]))


def new_kind() -> Resource:
    """A kind that no other test has."""
    group = f"g{uuid.uuid4().hex[:8]}.rukpak.test"
    return Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=False)


def definition(kind: Resource, **names: object) -> bytes:
    made = manifests.crd(kind.gvk.group, kind=kind.gvk.kind, scope="Cluster", names=names)
    return orjson.dumps(made)


def definition_name(kind: Resource) -> str:
    return f"{kind.plural}.{kind.gvk.group}"


def thing(kind: Resource, name: str, value: int = 0) -> bytes:
    made = manifests.manifest(kind.gvk.api_version, kind.gvk.kind, name, spec={"v": value})
    return orjson.dumps(made)


async def define(client: Client, kind: Resource, **names: object) -> None:
    await client.apply(CRDS, "", definition_name(kind), definition(kind, **names), field_manager="t", force=True)

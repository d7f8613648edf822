"""The workload of the benchmarks: a small application per deployment, its content in one ConfigMap.

Four objects each: ServiceAccount, Service, Deployment, Ingress. The Deployment has no replicas, so it becomes healthy
without a node.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import Resource
from tests import manifests

SYSTEM = "rukpak-system"
NAMESPACE = "bench"
OBJECTS_EACH = 4

SERVICE_ACCOUNTS = Resource(gvk=GroupVersionKind("", "v1", "ServiceAccount"), plural="serviceaccounts", namespaced=True)
SERVICES = Resource(gvk=GroupVersionKind("", "v1", "Service"), plural="services", namespaced=True)
WORKLOADS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
INGRESSES = Resource(gvk=GroupVersionKind("networking.k8s.io", "v1", "Ingress"), plural="ingresses", namespaced=True)

Manifest = dict[str, Any]


def application(name: str, *, replicas: int = 0) -> list[tuple[Resource, Manifest]]:
    labels = {"app": name}
    container = {"name": "main", "image": "registry.example/app:1.0", "ports": [{"containerPort": 8080}]}
    backend = {"service": {"name": name, "port": {"number": 80}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    specs: list[tuple[Resource, Manifest]] = [
        (SERVICE_ACCOUNTS, {}),
        (SERVICES, {"spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}}),
        (
            WORKLOADS,
            {
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"serviceAccountName": name, "containers": [container]},
                    },
                }
            },
        ),
        (INGRESSES, {"spec": {"rules": [{"host": f"{name}.example.com", "http": {"paths": [path]}}]}}),
    ]
    return [(resource, {**_head(resource, name), **spec}) for resource, spec in specs]


def content(name: str, objects: Sequence[Manifest]) -> bytes:
    """The ConfigMap that holds a bundle."""
    return manifests.content(name, SYSTEM, objects)


def template_spec(source: str) -> Manifest:
    return {"provisionerClassName": PLAIN_CLASS, "source": manifests.source(source)}


def bundle_deployment(name: str, *, account: str = "") -> bytes:
    """One that installs the content of the same name. `account`: the service account of the namespace to act as."""
    identity = {"installNamespace": NAMESPACE, "serviceAccountName": account} if account else {}
    return orjson.dumps(manifests.deployment(name, manifests.source(name), **identity))


def _head(resource: Resource, name: str) -> Manifest:
    gvk = resource.gvk
    return {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/name": name}},
    }

"""What the benchmarks install: a small application per deployment, its content in one ConfigMap.

Four objects each: ServiceAccount, Service, Deployment, Ingress. The Deployment has no replicas, so it becomes healthy
without a node.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, PLAIN_CLASS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import Resource

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


def config_map(name: str, namespace: str, data: Mapping[str, str]) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def content(name: str, manifests: Sequence[Manifest]) -> bytes:
    """The ConfigMap that holds a bundle: JSON is YAML too."""
    text = "\n---\n".join(orjson.dumps(one).decode() for one in manifests)
    return orjson.dumps({**config_map(name, SYSTEM, {"all.yaml": text}), "immutable": True})


def template_spec(source: str) -> Manifest:
    maps = [{"path": "manifests", "configMap": {"name": source}}]
    return {"provisionerClassName": PLAIN_CLASS, "source": {"type": "configMaps", "configMaps": maps}}


def bundle_deployment(name: str) -> bytes:
    """One that installs the content of the same name."""
    return orjson.dumps(
        {
            "apiVersion": API_VERSION,
            "kind": BUNDLE_DEPLOYMENT_KIND,
            "metadata": {"name": name},
            "spec": {"provisionerClassName": PLAIN_CLASS, "template": {"spec": template_spec(name)}},
        }
    )


def _head(resource: Resource, name: str) -> Manifest:
    gvk = resource.gvk
    return {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/name": name}},
    }

"""The objects that the tests of this folder ship in bundles, and the bundles' own manifests."""

from collections.abc import Iterable
from typing import Any

import orjson

from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, PLAIN_CLASS

Document = dict[str, Any]


def config_map(name: str, namespace: str, **data: str) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def service(name: str, namespace: str) -> Document:
    spec = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def workload(name: str, namespace: str) -> Document:
    """A Deployment that is healthy without a node."""
    labels = {"app": name}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "none"}]}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def service_account(name: str, namespace: str) -> Document:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}


def ingress(name: str, namespace: str) -> Document:
    backend = {"service": {"name": name, "port": {"number": 80}}}
    rule = {"host": f"{name}.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": {"rules": [rule]}}


def definition(group: str) -> Document:
    """A namespaced kind `Thing`."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [version],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": spec,
    }


def thing(group: str, name: str, namespace: str, **metadata: object) -> Document:
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"v": 1},
    }


def source(name: str, namespace: str, manifests: Iterable[Document]) -> bytes:
    """The ConfigMap that holds a bundle: JSON is YAML too."""
    text = "\n---\n".join(orjson.dumps(one).decode() for one in manifests)
    metadata = {"name": name, "namespace": namespace}
    return orjson.dumps(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "immutable": True,
            "data": {f"{name}.yaml": text},
        }
    )


def bundle(name: str, *sources: str) -> bytes:
    head = {"apiVersion": API_VERSION, "kind": BUNDLE_KIND, "metadata": {"name": name}}
    return orjson.dumps({**head, "spec": _bundle_spec(sources)})


def deployment(name: str, sources: Iterable[str], **spec: object) -> bytes:
    return orjson.dumps(
        {
            "apiVersion": API_VERSION,
            "kind": BUNDLE_DEPLOYMENT_KIND,
            "metadata": {"name": name},
            "spec": {"provisionerClassName": PLAIN_CLASS, "template": {"spec": _bundle_spec(sources)}, **spec},
        }
    )


def _bundle_spec(sources: Iterable[str]) -> Document:
    maps = [{"path": "manifests", "configMap": {"name": one}} for one in sources]
    return {"provisionerClassName": PLAIN_CLASS, "source": {"type": "configMaps", "configMaps": maps}}

"""Manifests that tests send or install: of Kubernetes' kinds, of custom ones, and of ours.

Bundles of OLM are made in `tests.unit.bundles`, charts in `tests.unit.charts`, odd objects where a test is about them.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, PLAIN_CLASS

Document = dict[str, Any]

ANYTHING: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def manifest(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: Document | None = None,
    annotations: Document | None = None,
    **fields: object,
) -> Document:
    """Without what is empty: an empty map would be owned, too."""
    given = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    metadata = {key: value for key, value in given.items() if value}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def config_map(
    name: str = "a",
    namespace: str = "",
    *,
    labels: Any = None,
    annotations: Any = None,
    **data: str,
) -> Document:
    return manifest("v1", "ConfigMap", name, namespace, labels=labels, annotations=annotations, data=data)


def service(name: str, namespace: str = "", *, annotations: Document | None = None, **spec: Any) -> Document:
    """In front of a workload of the same name, unless `spec` says something else."""
    ours = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    return manifest("v1", "Service", name, namespace, annotations=annotations, spec=ours | spec)


def workload(name: str, namespace: str = "", *, app: str = "", **container: Any) -> Document:
    """A Deployment that is healthy without a node."""
    labels = {"app": app or name}
    containers = [{"name": "c", "image": "none", **container}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return manifest("apps/v1", "Deployment", name, namespace, spec=spec)


def service_account(name: str, namespace: str) -> Document:
    return manifest("v1", "ServiceAccount", name, namespace)


def ingress(name: str, namespace: str) -> Document:
    backend = {"service": {"name": name, "port": {"number": 80}}}
    rule = {"host": f"{name}.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    return manifest("networking.k8s.io/v1", "Ingress", name, namespace, spec={"rules": [rule]})


def crd(
    group: str,
    *versions: str,
    kind: str = "Thing",
    scope: str = "Namespaced",
    schema: Document = ANYTHING,
    names: Document | None = None,
) -> Document:
    """CRD of one kind with these versions (without any: v1); the first is stored, all have the same schema."""
    plural = f"{kind.lower()}s"
    stored, *others = versions or ("v1",)
    version = {"served": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "scope": scope,
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **(names or {})},
        "versions": [
            {"name": stored, "storage": True, **version},
            *({"name": one, "storage": False, **version} for one in others),
        ],
    }
    return manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


def strings(*names: str) -> Document:
    """A schema with these strings in `spec`, and nothing else."""
    spec = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return {"type": "object", "properties": {"spec": spec}}


def thing(group: str, name: str, namespace: str = "", *, version: str = "v1", **metadata: object) -> Document:
    made = manifest(f"{group}/{version}", "Thing", name, namespace, spec={"v": 1})
    made["metadata"] |= metadata
    return made


def source(*config_maps: str, path: str = "manifests") -> Document:
    """Source for our kinds: the content of these ConfigMaps."""
    maps = [{"path": path, "configMap": {"name": name}} for name in config_maps]
    return {"type": "configMaps", "configMaps": maps}


def content(name: str, namespace: str, manifests: Iterable[Document]) -> bytes:
    """The ConfigMap that holds a bundle: JSON is YAML too."""
    text = "\n---\n".join(orjson.dumps(one).decode() for one in manifests)
    return orjson.dumps({**config_map(name, namespace, **{f"{name}.yaml": text}), "immutable": True})


def bundle(name: str, source: Document, *, provisioner: str = PLAIN_CLASS) -> Document:
    spec = {"provisionerClassName": provisioner, "source": source}
    return manifest(API_VERSION, BUNDLE_KIND, name, spec=spec)


def deployment(name: str, source: Document, *, template_metadata: Any = None, **spec: Any) -> Document:
    """A BundleDeployment."""
    inner = {"provisionerClassName": PLAIN_CLASS, "source": source}
    wanted = {"spec": inner, **({"metadata": template_metadata} if template_metadata else {})}
    return manifest(
        API_VERSION,
        BUNDLE_DEPLOYMENT_KIND,
        name,
        spec={"provisionerClassName": PLAIN_CLASS, "template": wanted} | spec,
    )

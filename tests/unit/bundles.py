"""Small registry+v1 bundles for tests: a good one by default, with the parts replaced that a test is about.

    bundle()                                                 the good one
    bundle(csv=csv_document(deployments=[deployment("a")], installModes=modes("OwnNamespace")))
    bundle(crds=[crd("demos"), crd("others")], others=[manifest("ConfigMap", "c")])
    bundle(files={"manifests/x.yaml": "a: [", "metadata/annotations.yaml": None})     None removes a file

Manifests are files of manifests/: `csv.yaml`, `<name>.crd.yaml`, and `other-0.yaml` and so on for the others.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import yaml

from rukpak_py.content.tree import Tree, TreeBuilder

Json: TypeAlias = dict[str, Any]
Content: TypeAlias = bytes | str | Json | list[Any]  # a list is a stream of documents

ALL_MODES = ("AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace")
_PREFIX = "operators.operatorframework.io.bundle."


def bundle(
    *,
    csv: Json | None = None,
    crds: Sequence[Json] | None = None,
    others: Sequence[Json] = (),
    package: str | None = "demo",
    annotations: Mapping[str, Any] | None = None,
    files: Mapping[str, Content | None] | None = None,
) -> Tree:
    contents: dict[str, Content | None] = {
        "manifests/csv.yaml": csv_document() if csv is None else csv,
        "metadata/annotations.yaml": {"annotations": {**bundle_annotations(package), **(annotations or {})}},
    }
    for definition in [crd()] if crds is None else crds:
        path = f"manifests/{definition['metadata']['name']}.crd.yaml"
        contents[f"manifests/again-{len(contents)}.crd.yaml" if path in contents else path] = definition
    for number, other in enumerate(others):
        contents[f"manifests/other-{number}.yaml"] = other
    return tree_of(contents | dict(files or {}))


def tree_of(contents: Mapping[str, Content | None], *directories: str) -> Tree:
    builder = TreeBuilder()
    for path, content in contents.items():
        if content is not None:
            builder.add(path, _bytes(content))
    for directory in directories:
        builder.add_directory(directory)
    return builder.build()


def bundle_annotations(package: str | None = "demo") -> Json:
    found: Json = {
        f"{_PREFIX}mediatype.v1": "registry+v1",
        f"{_PREFIX}manifests.v1": "manifests/",
        f"{_PREFIX}metadata.v1": "metadata/",
        f"{_PREFIX}channels.v1": "stable",
        f"{_PREFIX}channel.default.v1": "stable",
    }
    return found if package is None else {**found, f"{_PREFIX}package.v1": package}


def csv_document(
    name: str = "demo.v1.2.3",
    *,
    annotations: Mapping[str, Any] | None = None,
    owned: Sequence[Json] | None = None,
    deployments: Sequence[Any] | None = None,
    permissions: Sequence[Json] | None = None,
    cluster_permissions: Sequence[Json] | None = None,
    webhooks: Sequence[Json] | None = None,
    **spec: Any,
) -> Json:
    """A CSV; further keywords are fields of its spec, by the names of the manifest (`installModes=modes(...)`)."""
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": name,
            "annotations": {
                "alm-examples": '[{"apiVersion":"demo.example.com/v1","kind":"Demo","metadata":{"name":"d"}}]',
                "capabilities": "Basic Install",
                **(annotations or {}),
            },
        },
        "spec": {
            "displayName": "Demo",
            "description": "A demo.",
            "version": "1.2.3",
            "minKubeVersion": "1.25.0",
            "installModes": modes(*ALL_MODES),
            "customresourcedefinitions": {"owned": [owned_crd()] if owned is None else list(owned)},
            "install": {
                "strategy": "deployment",
                "spec": {
                    "permissions": [permission()] if permissions is None else list(permissions),
                    "clusterPermissions": list(cluster_permissions or []),
                    "deployments": [deployment()] if deployments is None else list(deployments),
                },
            },
            **({} if webhooks is None else {"webhookdefinitions": list(webhooks)}),
            **spec,
        },
    }


def modes(*supported: str) -> list[Json]:
    unknown = [mode for mode in supported if mode not in ALL_MODES]
    return [{"type": mode, "supported": mode in supported} for mode in (*ALL_MODES, *unknown)]


def owned_crd(name: str = "demos.demo.example.com", *, version: str = "v1", kind: str = "Demo") -> Json:
    return {"name": name, "version": version, "kind": kind, "displayName": kind, "description": "A demo."}


def permission(service_account: str = "demo-sa", rules: Sequence[Json] | None = None) -> Json:
    default = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    return {"serviceAccountName": service_account, "rules": default if rules is None else list(rules)}


def deployment(name: str = "demo-controller", *, service_account: str = "demo-sa", **pod: Any) -> Json:
    """An entry of the CSV's deployments; further keywords are fields of its pod spec."""
    return {
        "name": name,
        "label": {"app": "demo"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "demo"}},
            "template": {
                "metadata": {"labels": {"app": "demo"}},
                "spec": {
                    "serviceAccountName": service_account,
                    "containers": [{"name": "manager", "image": "example.com/demo:1.2.3"}],
                    **pod,
                },
            },
        },
    }


def webhook(name: str, kind: str = "Validating", *, deployment_name: str = "demo-controller", **fields: Any) -> Json:
    """A webhook definition; `kind` is Validating, Mutating, Conversion, or a whole type."""
    known = {"Conversion": "ConversionWebhook"} | {k: f"{k}AdmissionWebhook" for k in ("Validating", "Mutating")}
    return {
        "generateName": name,
        "type": known.get(kind, kind),
        "deploymentName": deployment_name,
        "containerPort": 443,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        **fields,
    }


def crd(plural: str = "demos", *, group: str = "demo.example.com", kind: str = "Demo", **spec: Any) -> Json:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
            **spec,
        },
    }


def manifest(kind: str, name: str, *, api_version: str = "v1", namespace: str | None = None, **fields: Any) -> Json:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _bytes(content: Content) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    return _stream(content if isinstance(content, list) else [content]).encode()


class _Dumper(yaml.SafeDumper):
    """Quotes texts that Kubernetes' YAML may take for something else; writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "'" if re.match(r"[\d.+-]|[yYnN]$", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _stream(documents: Iterable[Any]) -> str:
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True)

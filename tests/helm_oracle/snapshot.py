"""Snapshot of a chart's objects in a cluster, as leaves: each scalar of each object with its path.

Left out is what no chart decides: see `LEFT_OUT_OBJECTS` and `LEFT_OUT_FIELDS`, each with its reason, which the suite
prints. Empty mappings, empty lists and nulls are the same as nothing.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, GROUP
from rukpak_py.core.objects import GroupVersionKind, ObjectKey

Document = Mapping[str, Any]
Path = tuple[str, ...]
Leaves = Mapping[Path, object]
Snapshot = Mapping[ObjectKey, Leaves]


@dataclass(frozen=True, kw_only=True)
class LeftOutObjects:
    are: Callable[[Document], bool]
    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class LeftOutFields:
    """`path`: the beginning of one; each part may have wildcards. `kind`: of these alone; empty: of all."""

    path: Path
    kind: str = ""
    why: str


def _is_controlled(document: Document) -> bool:
    owners = document["metadata"].get("ownerReferences") or ()
    return any(one.get("controller") and one["kind"] != BUNDLE_DEPLOYMENT_KIND for one in owners)


def _is_everywhere(document: Document) -> bool:
    return (document["kind"], document["metadata"]["name"]) in {
        ("ServiceAccount", "default"),
        ("ConfigMap", "kube-root-ca.crt"),
    }


LEFT_OUT_OBJECTS = (
    LeftOutObjects(
        are=lambda document: document["kind"] == "Secret" and document.get("type") == "helm.sh/release.v1",
        what="Secrets of type helm.sh/release.v1",
        why="helm's record of the release; the operator's is the status of the BundleDeployment",
    ),
    LeftOutObjects(are=_is_controlled, what="objects with a controller", why="their controller is compared"),
    LeftOutObjects(
        are=lambda document: document["kind"] in {"Endpoints", "EndpointSlice", "Event", "IPAddress", "Lease"},
        what="Endpoints, EndpointSlices, Events, IPAddresses, Leases",
        why="made by controllers of Kubernetes",
    ),
    LeftOutObjects(
        are=lambda document: document["kind"] == "APIService" and not document["spec"].get("service"),
        what="APIServices without a backend",
        why="made by the API server for each CRD",
    ),
    LeftOutObjects(are=_is_everywhere, what="kube-root-ca.crt, ServiceAccount default", why="of every namespace"),
    LeftOutObjects(
        are=lambda document: document["apiVersion"].partition("/")[0] == GROUP,
        what="BundleDeployments, Bundles",
        why="what the operator is asked for",
    ),
)

_SERVER = "the API server, or a controller of Kubernetes, fills it in"
_OURS = "the operator's marks: what it owns, and as what it was applied"
_HELMS = "helm's marks: of which release an object is"
LEFT_OUT_FIELDS = (
    *(
        LeftOutFields(path=("metadata", name), why=_SERVER)
        for name in ("uid", "resourceVersion", "creationTimestamp", "generation")
    ),
    LeftOutFields(path=("metadata", "managedFields"), why="the field manager differs, and the way of writing"),
    LeftOutFields(path=("metadata", "ownerReferences"), why=_OURS),
    LeftOutFields(path=("metadata", "labels", f"*{GROUP}/*"), why=_OURS),
    LeftOutFields(path=("metadata", "annotations", f"*{GROUP}/*"), why=_OURS),
    LeftOutFields(path=("metadata", "annotations", "meta.helm.sh/*"), why=_HELMS),
    LeftOutFields(path=("metadata", "labels", "app.kubernetes.io/managed-by"), why=_HELMS),
    LeftOutFields(path=("metadata", "annotations", "deployment.kubernetes.io/revision"), why=_SERVER),
    LeftOutFields(path=("status",), why=_SERVER),
    *(
        LeftOutFields(kind="Service", path=path, why=_SERVER)
        for path in (
            ("spec", "clusterIP*"),
            ("spec", "ports", "*", "nodePort"),
            ("spec", "healthCheckNodePort"),
        )
    ),
    LeftOutFields(kind="PersistentVolumeClaim", path=("spec", "volumeName"), why=_SERVER),
    *(
        LeftOutFields(kind="Job", path=(*path, f"*{label}"), why=_SERVER)
        for path in (
            ("metadata", "labels"),
            ("spec", "selector", "matchLabels"),
            ("spec", "template", "metadata", "labels"),
        )
        for label in ("controller-uid", "job-name")
    ),
)


def snapshot_of(documents: Iterable[Document]) -> Snapshot:
    compared = (one for one in documents if not any(rule.are(one) for rule in LEFT_OUT_OBJECTS))
    return {key_of(document): leaves_of(document) for document in compared}


def key_of(document: Document) -> ObjectKey:
    gvk = GroupVersionKind.parse(document["apiVersion"], document["kind"])
    metadata = document["metadata"]
    return ObjectKey(gvk.group, gvk.kind, metadata.get("namespace", ""), metadata["name"])


def leaves_of(document: Document) -> Leaves:
    """Leaves of a live or rendered object: `stringData` of a Secret reads as `data`, as the API server stores it."""
    kind = document["kind"]
    if kind == "Secret" and document.get("stringData"):
        texts = {key: base64.b64encode(str(text).encode()).decode() for key, text in document["stringData"].items()}
        document = {key: value for key, value in document.items() if key != "stringData"}
        document = {**document, "data": {**(document.get("data") or {}), **texts}}
    return {path: value for path, value in _walk((), document) if not _is_left_out(kind, path)}


def _walk(path: Path, value: object) -> Iterator[tuple[Path, object]]:
    match value:
        case Mapping():
            for key, inner in value.items():
                yield from _walk((*path, str(key)), inner)
        case list():
            for number, inner in enumerate(value):
                yield from _walk((*path, str(number)), inner)
        case None:
            return
        case _:
            yield path, value


def _is_left_out(kind: str, path: Path) -> bool:
    return any(rule.kind in {"", kind} and begins(path, rule.path) for rule in LEFT_OUT_FIELDS)


def begins(path: Path, pattern: Path) -> bool:
    if len(path) < len(pattern):
        return False
    return all(fnmatchcase(part, one) for part, one in zip(path, pattern, strict=False))

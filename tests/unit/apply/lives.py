"""Objects of the apply room as values, with everything that a test does not speak of left ordinary."""

from typing import Any

import orjson

from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.names import (
    API_VERSION,
    APPLIED_ANNOTATION,
    BUNDLE_DEPLOYMENT_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
)
from rukpak_py.apply.desired import Desired, desire
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.core.objects import GroupVersionKind, Object, ObjectKey, canonical_json
from rukpak_py.kube.metadata import LiveObject, Metadata, decode_metadata

OWNER = Owner(name="shop", uid="uid-of-shop")
OTHER = Owner(name="other", uid="uid-of-other")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "uid-of-rs", "controller": True}
OUR_LABELS = OWNER.labels
CLUSTER_SCOPED = {"Namespace", "CustomResourceDefinition", "ClusterRole", "PriorityClass", "RuntimeClass"}


def key(name: str = "a", gvk: GroupVersionKind = CONFIG_MAP, namespace: str = "ns") -> ObjectKey:
    return ObjectKey(gvk.group, gvk.kind, namespace, name)


def metadata(**fields: Any) -> Metadata:
    """The metadata as the API server sends it."""
    return decode_metadata(orjson.dumps({"metadata": {"name": "a", "uid": "u", "resourceVersion": "1", **fields}}))


def managed(owner: Owner, fields: object = None, **more: str) -> dict[str, Any]:
    return {"manager": owner.manager, "operation": "Apply", "fieldsV1": fields or {"f:data": {}}, **more}


def live(
    name: str = "a",
    *,
    gvk: GroupVersionKind = CONFIG_MAP,
    namespace: str = "ns",
    **fields: Any,
) -> ObservedObject:
    return observed_object(key(name, gvk, namespace), gvk, metadata(name=name, **fields))


def owned(name: str = "a", *, by: Owner = OWNER, **fields: Any) -> dict[str, Any]:
    """Metadata of an object that was applied for a deployment."""
    annotations = {APPLIED_ANNOTATION: "sha256:former", **fields.pop("annotations", {})}
    return {
        "name": name,
        "labels": by.labels,
        "annotations": annotations,
        "ownerReferences": [by.reference],
        "managedFields": [managed(by)],
        **fields,
    }


def namespace(name: str = "a") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def desired(
    manifest: dict[str, Any],
    *,
    owner: Owner = OWNER,
    outlives: bool = False,
    lasting: bool = False,
    create_only: bool = False,
    overrides: tuple[Override, ...] = (),
) -> Desired:
    return desire(
        Object.from_manifest(manifest),
        owner=owner,
        namespaced=manifest["kind"] not in CLUSTER_SCOPED,
        default_namespace="ns",
        custom=False,
        outlives=outlives,
        lasting=lasting,
        create_only=create_only,
        overrides=overrides,
    )


def live_object(name: str = "a", *, version: int = 1, uid: str = "u", **fields: Any) -> LiveObject:
    """A ConfigMap as its watch shows it."""
    sent = {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version), **fields}
    return LiveObject(key=key(name), metadata=decode_metadata(canonical_json({"metadata": sent})))


DEPLOYMENT_REFERENCE = {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND}
LABELS_OF_OTHER = {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: OTHER.name}

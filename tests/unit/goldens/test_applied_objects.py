"""Marks on objects in the cluster: labels, owner references, and the digest in `core.rukpak.io/applied`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
import pytest

from rukpak_py.api import names as api_names
from rukpak_py.apply import desired as desired_module
from rukpak_py.apply import marks as marks_module
from rukpak_py.apply.desired import desire
from rukpak_py.apply.marks import Owner, released_value
from rukpak_py.certificates import secret as secret_module
from rukpak_py.certificates.secret import new_secret
from rukpak_py.certificates.steps import Issued
from rukpak_py.certificates.wanted import WantedCertificate
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.core.x509 import KeyPair
from rukpak_py.kube.metadata import decode_metadata, field_hash
from rukpak_py.sources.image import pod_manifest
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.pod_manifest import PodSettings, WantedPod
from tests.unit.goldens.pinned import check, use_pinned_names


@dataclass(frozen=True)
class FixedOwner:
    """An owner with a fixed form: the form of real owners has a golden of its own."""

    name: str = "shop"
    uid: str = "uid-1"
    labels: Mapping[str, str] = field(default_factory=lambda: {"owner": "shop"})
    reference: Mapping[str, str] = field(default_factory=lambda: {"name": "shop"})


OWNER = cast("Owner", FixedOwner())
WORKLOAD_SPEC = {
    "replicas": 2,
    "selector": {"matchLabels": {"app": "web"}},
    "template": {
        "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "example.com/web:v1",
                    "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": 1}},
                }
            ]
        },
    },
}
MANIFESTS: dict[str, dict[str, Any]] = {
    "ConfigMap": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"ä": "1"}},
    "Secret": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": "x"}},
    "Service": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
    "Deployment": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": WORKLOAD_SPEC},
    "ClusterRole": {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    },
    "Thing": {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 1.5}},
}


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    use_pinned_names(monkeypatch, api_names, desired_module, marks_module, secret_module, pod_manifest)


def desired(kind: str, *, outlives: bool = False) -> desired_module.Desired:
    return desire(
        Object.from_manifest(MANIFESTS[kind]),
        owner=OWNER,
        namespaced=kind != "ClusterRole",
        default_namespace="ns",
        custom=kind == "Thing",
        outlives=outlives,
    )


def test_digests_on_objects() -> None:
    found = {kind: desired(kind).payload.digest for kind in MANIFESTS}
    found["ConfigMap that outlives its deployment"] = desired("ConfigMap", outlives=True).payload.digest
    check("annotation core.rukpak.io/applied", found)


def test_marks_of_what_was_released() -> None:
    name = ObjectKey("", "ConfigMap", "ns", "a")
    by_helm = {"labels": {"app.kubernetes.io/managed-by": "Helm"}}
    found = {
        title: released_value("uid-1", name, decode_metadata(orjson.dumps({"metadata": {"uid": "uid-2", **more}})))
        for title, more in {"ConfigMap": {}, "of a chart": by_helm}.items()
    }
    check("annotation core.rukpak.io/released", found)


def test_marks_of_an_owner() -> None:
    owner = Owner(name="shop", uid="uid-1")
    managers = [owner.manager, owner.ca_manager]
    check("marks of an owner", {"labels": owner.labels, "reference": owner.reference, "managers": managers})


def test_hashes_of_owned_fields() -> None:
    """They are not stored as they are; `appliedDigest` has them in it."""
    entries = [
        {"manager": "rukpak/shop", "operation": "Update", "fieldsV1": {"f:x": {}}},
        {"manager": "rukpak/shop", "operation": "Apply", "fieldsV1": {"f:data": {"f:b": {}, "f:a": {}}}},
    ]
    metadata = decode_metadata(orjson.dumps({"metadata": {"managedFields": entries}}))
    check("hash of owned fields", {"of data": field_hash(metadata, "rukpak/shop")})


def test_secrets_of_serving_certificates() -> None:
    wanted = WantedCertificate(
        secret=ObjectKey("", "Secret", "ns", "cert"), hosts=("a",), service=ObjectKey("", "Service", "ns", "web")
    )
    issued = Issued(pair=KeyPair(certificate=b"certificate", key=b"key"), trust=b"trust")
    check("Secret of a serving certificate", orjson.loads(new_secret(wanted, OWNER, issued)))


def test_unpack_pods() -> None:
    pod = WantedPod(bundle="shop-1", uid="uid-2", ref="example.com/a:v1", pull_secret="p")
    settings = PodSettings(tool_image="example.com/busybox:1", platform=Platform(os="linux", architecture="amd64"))
    found = orjson.loads(pod.manifest(settings))["metadata"]
    check("unpack pod", found | {"digests": sorted(pod.digests(settings))})

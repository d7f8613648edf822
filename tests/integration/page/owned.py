"""One deployment with a Bundle, objects and pods of its own, real ones, and Events about them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    PLAIN_CLASS,
    TEMPLATE_HASH_LABEL,
)
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.api.template_hash import template_hash_of
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, EVENTS, PODS, SECRETS, Resource
from tests.integration.page.populated import Told, create, deployment, status, upgrade
from tests.manifests import Document, config_map, manifest, service
from tests.waiting import eventually

MARKER = "c2VjcmV0LW1hcmtlci03ZjNh"  # data of a Secret, which no answer may have
MARKER_TEXT = "secret-marker-7f3a"
NO_SCHEDULER = "none"
WORKLOADS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
SERVICES = Resource(gvk=GroupVersionKind("", "v1", "Service"), plural="services", namespaced=True)
MAPS = Resource(gvk=GroupVersionKind("", "v1", "ConfigMap"), plural="configmaps", namespaced=True)
UNHEALTHY = "Deployment.apps/{namespace}/web: container web of Pod web is in CrashLoopBackOff: exit code 1"
DIGEST = f"sha256:{'9c41d2e07b5a' * 5}abcd"


@dataclass(frozen=True, kw_only=True)
class Owned:
    name: str
    namespace: str


async def with_objects(client: Client, name: str, namespace: str, *, class_name: str = PLAIN_CLASS) -> Owned:
    """It is not healthy: the container of one workload crashes."""
    image = "registry.example.com/shop/frontend:2.4.1"
    asked = deployment(name, image=image, class_name=class_name, installNamespace=namespace)
    uid = await create(client, asked, None)
    stored = read_bundle_deployment(await client.get(BUNDLE_DEPLOYMENTS, "", name))
    bundle = f"{name}-6b9f4d"
    message = f"Deployment.apps/{namespace}/web is not healthy: container web is in CrashLoopBackOff (exit code 1)"
    told = Told(ready="False", reason="Unhealthy", message=message, cause=Cause.STILL_UNHEALTHY, beside="Reconciling")
    await _bundle(client, bundle, stored)
    kinds = [("", "Secret"), ("", "ConfigMap"), ("", "Service"), ("apps", "Deployment")]
    state = status(
        told,
        version="2.4.1",
        activeBundle=bundle,
        digest=DIGEST,
        installNamespace=namespace,
        kinds=[{"group": group, "version": "v1", "kind": kind} for group, kind in kinds],
        conditions=_conditions(message),
        history=_history(bundle),
        pendingUpgrade=upgrade("2.4.1"),
    )
    await client.patch_status(BUNDLE_DEPLOYMENTS, "", name, orjson.dumps({"status": state}))
    marks = {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: name}
    owner = _owner(BUNDLE_DEPLOYMENT_KIND, name, uid)
    for resource, document in _objects(namespace):
        document["metadata"] |= {"labels": marks, "ownerReferences": [owner]}
        await client.create(resource, namespace, orjson.dumps(document))
    await _crash(client, namespace)
    await _event(client, namespace, name, uid)
    return Owned(name=name, namespace=namespace)


def _owner(kind: str, name: str, uid: str) -> Document:
    return {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": uid, "controller": True}


def _objects(namespace: str) -> list[tuple[Resource, Document]]:
    maps = [(MAPS, config_map(name, namespace, level="info")) for name in ("settings", "limits", "texts")]
    secret = manifest("v1", "Secret", "credentials", namespace, data={"password": MARKER})
    return [
        *maps,
        (SECRETS, secret),
        (SERVICES, service("web", namespace)),
        (WORKLOADS, _workload("web", namespace, replicas=1)),
        (WORKLOADS, _workload("worker", namespace, replicas=0)),
    ]


def _workload(name: str, namespace: str, *, replicas: int) -> Document:
    labels = {"app": name}
    pod = {
        "schedulerName": NO_SCHEDULER,
        "containers": [{"name": name, "image": "registry.example.com/shop/web:2.4.1"}],
    }
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return manifest("apps/v1", "Deployment", name, namespace, spec=spec)


async def _bundle(client: Client, name: str, of: BundleDeployment) -> None:
    owner = of.metadata.name
    document = manifest(
        API_VERSION,
        BUNDLE_KIND,
        name,
        labels={
            OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND,
            OWNER_NAME_LABEL: owner,
            TEMPLATE_HASH_LABEL: template_hash_of(of),
        },
        spec={
            "provisionerClassName": of.spec.provisioner_class,
            "source": {"type": "image", "image": {"ref": "registry.example.com/shop/frontend:2.4.1"}},
        },
    )
    document["metadata"]["ownerReferences"] = [_owner(BUNDLE_DEPLOYMENT_KIND, owner, of.metadata.uid)]
    await client.create(BUNDLES, "", orjson.dumps(document))
    fine = Told(ready="True", reason="UnpackSuccessful", message="")
    state = status(fine, phase="Unpacked", digest=DIGEST)
    state.pop("version")
    await client.patch_status(BUNDLES, "", name, orjson.dumps({"status": state}))


def _conditions(message: str) -> list[Document]:
    time = _time(timedelta(days=3))
    told = (
        ("HasValidBundle", "True", "UnpackSuccessful", "successfully unpacked"),
        ("Installed", "True", "InstallationSucceeded", "installed 7 objects"),
        ("Healthy", "False", "Unhealthy", message),
        ("UpgradePending", "True", "NotApproved", "an upgrade to 2.4.1-next waits for an approval"),
    )
    return [
        {"type": kind, "status": value, "reason": reason, "message": text, "lastTransitionTime": time}
        for kind, value, reason, text in told
    ]


def _history(bundle: str) -> list[Document]:
    return [
        {
            "revision": revision,
            "bundle": bundle if revision == 3 else f"{bundle[:-2]}{revision}a",
            "digest": DIGEST,
            "version": f"2.{revision + 1}.1",
            "time": _time(timedelta(days=30 * (4 - revision))),
            "outcome": "Installed" if revision == 3 else "Healthy",
        }
        for revision in (3, 2, 1)
    ]


async def _crash(client: Client, namespace: str) -> None:
    """Play the kubelet of the pod that the workload gets."""

    async def pods() -> list[Any]:
        return (await client.list_metadata(PODS, namespace, label_selector="app=web")).items

    (pod,) = await eventually(pods, what="the workload has its pod")
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}
    container = {
        "name": "web",
        "image": "web",
        "imageID": "",
        "ready": False,
        "restartCount": 7,
        "state": {"waiting": waiting},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
    }
    body = {"status": {"phase": "Running", "containerStatuses": [container]}}
    await client.patch_status(PODS, namespace, pod.metadata.name, orjson.dumps(body))


async def _event(client: Client, namespace: str, name: str, uid: str) -> None:
    about = {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND, "name": name, "uid": uid}
    document = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{name}.", "namespace": "default"},
        "involvedObject": about,
        "type": "Warning",
        "reason": "Unhealthy",
        "message": f"Deployment.apps/{namespace}/web is not healthy: container web is in CrashLoopBackOff",
        "count": 4,
        "lastTimestamp": _time(timedelta(minutes=2)),
        "firstTimestamp": _time(timedelta(hours=1)),
        "source": {"component": "rukpak"},
    }
    await client.create(EVENTS, "default", orjson.dumps(document))


def _time(ago: timedelta) -> str:
    return (datetime.now(UTC) - ago).isoformat(timespec="seconds").replace("+00:00", "Z")

"""Deployments as they stand in a cluster, written through the API: the page needs no operator to be tried.

Status is what an operator would write. Objects of the one with objects are real, and so are its pods, whose status is
played: no kubelet runs.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    HELM_CLASS,
    PLAIN_CLASS,
    REGISTRY_CLASS,
)
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.manifests import Document, manifest

_CONTENTS = (
    ("cert-manager", HELM_CLASS, "quay.io/charts/cert-manager"),
    ("postgres-operator", REGISTRY_CLASS, "registry.example.com/olm/postgres-operator"),
    ("prometheus", REGISTRY_CLASS, "registry.example.com/olm/prometheus-operator"),
    ("ingress-nginx", HELM_CLASS, "registry.example.com/charts/ingress-nginx"),
    ("shop-frontend", PLAIN_CLASS, "registry.example.com/shop/frontend"),
    ("shop-payments", PLAIN_CLASS, "registry.example.com/shop/payments"),
    ("kafka-operator", REGISTRY_CLASS, "registry.example.com/olm/strimzi-kafka-operator"),
    ("external-dns", HELM_CLASS, "registry.example.com/charts/external-dns"),
    ("network-policies", PLAIN_CLASS, "registry.example.com/platform/network-policies"),
    ("vault", HELM_CLASS, "registry.example.com/charts/vault"),
)
_PLACES = ("prod", "staging", "dev", "eu-west", "us-east", "team-a", "team-b", "canary", "qa", "edge")
WAITING = {12, 77}  # for an approval
UNSEEN = 260
_FAILED = "False"


@dataclass(frozen=True, kw_only=True)
class Told:
    """Statements of conditions."""

    ready: str
    reason: str
    message: str
    cause: Cause | None = None
    beside: str = ""  # a condition that is true beside Ready
    suspended: bool = False


FINE = Told(ready="True", reason="Healthy", message="installed, and all objects are healthy")
_TOLD: Mapping[int, Told] = {
    7: Told(
        ready=_FAILED,
        reason="UnpackFailed",
        message="pull registry.example.com/olm/prometheus-operator:2.4.1: manifest unknown",
        cause=Cause.UNPACK_FAILED,
        beside="Reconciling",
    ),
    31: Told(
        ready=_FAILED,
        reason="InstallFailed",
        message="Deployment.apps/shop/web: forbidden: exceeded quota: compute, requested: cpu=2, limited: cpu=8",
        cause=Cause.REFUSED,
        beside="Reconciling",
    ),
    58: Told(
        ready=_FAILED,
        reason="UnpackFailed",
        message="manifests/deployment.yaml, line 14: mapping values are not allowed here",
        cause=Cause.UNPACK_CONTENT,
        beside="Stalled",
    ),
    104: Told(
        ready="Unknown",
        reason="Progressing",
        message="Deployment.apps/kafka/operator: 1 of 3 replicas is available",
        cause=Cause.UNHEALTHY,
        beside="Reconciling",
    ),
    150: Told(ready="True", reason="Suspended", message="suspended: nothing is applied", suspended=True),
    211: Told(
        ready="Unknown",
        reason="Unpacking",
        message="waiting for Bundle vault-edge-5c9d7 to be unpacked",
        cause=Cause.BUNDLE_UNPACKING,
        beside="Reconciling",
    ),
}


def deployment(name: str, *, image: str, class_name: str = PLAIN_CLASS, **spec: Any) -> Document:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"provisionerClassName": class_name, "source": {"type": "image", "image": {"ref": image}}},
    }
    return manifest(
        API_VERSION,
        BUNDLE_DEPLOYMENT_KIND,
        name,
        spec={"provisionerClassName": class_name, "template": template, **spec},
    )


def status(told: Told, *, version: str = "", age: timedelta = timedelta(days=3), **fields: Any) -> Document:
    time = (datetime.now(UTC) - age).isoformat(timespec="seconds").replace("+00:00", "Z")
    base = {"lastTransitionTime": time, "observedGeneration": 1}
    conditions = [{"type": "Ready", "status": told.ready, "reason": told.reason, "message": told.message, **base}]
    if told.beside:
        conditions.append(
            {"type": told.beside, "status": "True", "reason": told.reason, "message": told.message, **base}
        )
    conditions += fields.pop("conditions", [])
    notes = [{"reason": told.cause.value, "object": "", "since": time, "id": "1"}] if told.cause is not None else []
    return {"observedGeneration": 1, "version": version, "conditions": conditions, "notes": notes, **fields}


async def create(client: Client, document: Document, state: Document | None) -> str:
    """The uid."""
    found = await client.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(document))
    if state is not None:
        body = orjson.dumps({"status": state})
        await client.patch_status(BUNDLE_DEPLOYMENTS, "", document["metadata"]["name"], body)
    return found.metadata.uid


async def many(client: Client, number: int, *, prefix: str = "", foreign_class: str = "") -> list[str]:
    """Names of deployments, nearly all of them fine. `foreign_class`: of an operator that does not run."""
    names = [f"{prefix}{_name(at)}" for at in range(number)]

    async def make(at: int) -> None:
        base, class_name, image = _CONTENTS[at % len(_CONTENTS)]
        class_name = foreign_class or class_name
        version = f"{1 + at % 3}.{at % 17}.{at % 5}"
        namespace = f"{base}-{_PLACES[at // 10 % 10]}"
        told = _TOLD.get(at, FINE)
        document = deployment(
            names[at],
            image=f"{image}:{version}",
            class_name=class_name,
            installNamespace=namespace,
            suspend=told.suspended,
        )
        state = status(told, version=version)
        if at in WAITING:
            state["pendingUpgrade"] = upgrade(version)
        await create(client, document, state if at != UNSEEN else None)

    await run_bounded(make, range(number))
    return names


async def remove(client: Client, names: Iterable[str]) -> None:
    async def one(name: str) -> None:
        with suppress(NotFoundError):
            await client.delete(BUNDLE_DEPLOYMENTS, "", name)

    await run_bounded(one, names)


def _name(at: int) -> str:
    more = f"-{at // 100}" if at >= 100 else ""
    return f"{_CONTENTS[at % 10][0]}-{_PLACES[at // 10 % 10]}{more}"


def upgrade(version: str) -> Document:
    return {
        "digest": f"sha256:{'4e1f' * 16}",
        "bundle": "shop-frontend-6b9f4d",
        "version": f"{version}-next",
        "reason": "NotApproved",
        "verdict": "NeedsReview",
        "counts": {"created": 1, "changed": 3, "pruned": 1},
        "rightsGained": ["ClusterRole shop-reader: get, list secrets in every namespace"],
        "names": ["+ ConfigMap shop/limits", "~ Deployment.apps/shop/web", "- Service shop/legacy"],
        "since": (datetime.now(UTC) - timedelta(hours=5)).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }

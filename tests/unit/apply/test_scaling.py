"""Autoscalers that set the replicas of a workload of the same content."""

from typing import Any

import pytest

from rukpak_py.api.deployment_spec import Override
from rukpak_py.apply.desired import Desired, desire, scaled
from rukpak_py.core.objects import Object, ObjectKey, canonical_json
from tests.manifests import manifest, workload
from tests.unit.apply.lives import OWNER

WEB = ObjectKey("apps", "Deployment", "ns", "web")


def hpa(api: str = "autoscaling/v2", **target: Any) -> dict[str, Any]:
    return manifest(api, "HorizontalPodAutoscaler", "scales", "ns", spec={"scaleTargetRef": target})


def keda(**target: Any) -> dict[str, Any]:
    return manifest("keda.sh/v1alpha1", "ScaledObject", "scales", "ns", spec={"scaleTargetRef": target})


@pytest.mark.parametrize(
    ("document", "target"),
    [
        (hpa(apiVersion="apps/v1", kind="Deployment", name="web"), WEB),
        (hpa(api="autoscaling/v1", apiVersion="apps/v1", kind="Deployment", name="web"), WEB),
        (hpa(apiVersion="apps/v1", kind="StatefulSet", name="db"), ObjectKey("apps", "StatefulSet", "ns", "db")),
        (keda(name="web"), WEB),
        (keda(kind="Worker", apiVersion="x.io/v1", name="w"), ObjectKey("x.io", "Worker", "ns", "w")),
        (hpa(name="web"), None),
        (hpa(apiVersion="apps/v1", kind="Deployment", name=7), None),
        (hpa("other.io/v1", apiVersion="apps/v1", kind="Deployment", name="web"), None),
        (manifest("autoscaling/v2", "HorizontalPodAutoscaler", "x", "ns", spec="odd"), None),
        (manifest("autoscaling/v2", "HorizontalPodAutoscaler", "x", "ns", spec={"scaleTargetRef": []}), None),
    ],
)
def test_an_autoscaler_names_its_target(document: dict[str, Any], target: ObjectKey | None) -> None:
    found = scaled([Object.from_manifest(document)], default_namespace="other")
    assert list(found) == ([target] if target else [])


def test_autoscaler_without_a_namespace_is_in_that_of_the_installation() -> None:
    document = hpa(apiVersion="apps/v1", kind="Deployment", name="web")
    del document["metadata"]["namespace"]
    assert list(scaled([Object.from_manifest(document)], default_namespace="ns")) == [WEB]


def desired(document: dict[str, Any], *, by: ObjectKey | None, **override: Any) -> Desired:
    overrides = [Override(group="apps", kind="Deployment", name="web", **override)] if override else []
    return desire(
        Object.from_manifest(document),
        owner=OWNER,
        namespaced=True,
        default_namespace="ns",
        custom=False,
        overrides=overrides,
        scaler=by,
    )


def test_replicas_are_left_out_and_that_is_said_once() -> None:
    sets = ObjectKey("autoscaling", "HorizontalPodAutoscaler", "ns", "scales")
    document = workload("web", "ns")
    one = desired(document, by=sets)
    assert b'"replicas"' not in one.payload.body
    assert one.warnings == (
        "Deployment.apps/ns/web: spec.replicas is left out: HorizontalPodAutoscaler.autoscaling/ns/scales sets it",
    )
    assert [field.pointer for field in one.ignored] == ["/spec/replicas"]
    assert desired(document, by=None).payload.digest != one.payload.digest
    assert desired(document, by=None).payload.trial is None
    without = {**document, "spec": {key: value for key, value in document["spec"].items() if key != "replicas"}}
    assert desired(without, by=sets).warnings == ()
    assert desired(without, by=sets).payload == desired(without, by=None).payload
    assert desired(document, by=sets, ignore=("/spec/replicas",)).warnings == ()
    assert canonical_json(document) == canonical_json(workload("web", "ns")), "the input is never changed"

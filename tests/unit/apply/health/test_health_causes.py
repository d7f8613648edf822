"""Causes of an unhealthy object: what it says itself, and what pods say."""

from typing import Any

import pytest

from rukpak_py.apply.health import HealthStatus, cause_among, describe, judge
from rukpak_py.apply.health.causes import NAME_CHARACTERS, TEXT_CHARACTERS
from rukpak_py.core.objects import ObjectKey

IMAGE = "registry.example.com/shop:v9"


def pod(name: str = "web-1", *, created: str = "2026-01-01T00:00:00Z", **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "creationTimestamp": created}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}


def container(**state: Any) -> dict[str, Any]:
    return {"name": "web", "image": IMAGE, **state}


def waiting(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    return container(state={"waiting": {"reason": reason, "message": message}}, **more)


def ended(code: int, reason: str = "Error", message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def unscheduled(message: str) -> dict[str, Any]:
    return {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}


STARTING = waiting("ContainerCreating")
WEB = f'Pod shop/web-1: container "web" (image {IMAGE}): '
NOT_READY = {
    "type": "Ready",
    "status": "False",
    "reason": "ContainersNotReady",
    "message": "containers with unready status: [web]",
}


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ({"containerStatuses": [waiting("ImagePullBackOff", "not found")]}, f"{WEB}ImagePullBackOff: not found"),
        ({"containerStatuses": [waiting("ErrImagePull")]}, f"{WEB}ErrImagePull"),
        (
            {"containerStatuses": [waiting("CreateContainerConfigError", 'secret "x" not found')]},
            f'{WEB}CreateContainerConfigError: secret "x" not found',
        ),
        (
            {"containerStatuses": [waiting("CrashLoopBackOff", "back-off 5m0s", lastState=ended(3))]},
            f"{WEB}CrashLoopBackOff: Error, exit code 3",
        ),
        (
            {"containerStatuses": [waiting("CrashLoopBackOff", lastState=ended(137, "OOMKilled"))]},
            f"{WEB}CrashLoopBackOff: OOMKilled, exit code 137",
        ),
        ({"containerStatuses": [container(state=ended(1))]}, f"{WEB}Error, exit code 1"),
        ({"containerStatuses": [container(state=ended(1, message="password: hunter2"))]}, f"{WEB}Error, exit code 1"),
        (
            {"containerStatuses": [container(state=ended(128, "StartError", 'exec: "nope": not found'))]},
            f'{WEB}StartError, exit code 128: exec: "nope": not found',
        ),
        (
            {"initContainerStatuses": [waiting("ErrImagePull")], "containerStatuses": [waiting("PodInitializing")]},
            f"{WEB}ErrImagePull",
        ),
        (unscheduled("no nodes available"), "Pod shop/web-1: Unschedulable: no nodes available"),
        ({"reason": "Evicted", "message": "low on memory"}, "Pod shop/web-1: Evicted: low on memory"),
        ({"containerStatuses": [STARTING]}, f"{WEB}ContainerCreating"),
        (
            {"containerStatuses": [container(state={"running": {}})], "conditions": [NOT_READY]},
            "Pod shop/web-1: ContainersNotReady: containers with unready status: [web]",
        ),
        ({"containerStatuses": [container(state=ended(0, "Completed"))]}, ""),
        ({"containerStatuses": "odd"}, ""),
        ({"containerStatuses": [{"state": []}]}, ""),
        ({}, ""),
    ],
)
def test_a_pod_says_why(status: dict[str, Any], cause: str) -> None:
    assert cause_among([pod(**status)]) == cause


def test_the_newest_pod_that_is_stopped_counts_and_a_terminating_one_last() -> None:
    fine = pod("new", created="2026-01-03T00:00:00Z", containerStatuses=[STARTING])
    newer = pod("newer", created="2026-01-02T00:00:00Z", containerStatuses=[waiting("ErrImagePull")])
    older = pod("older", containerStatuses=[waiting("CrashLoopBackOff")])
    going = pod("going", created="2026-01-04T00:00:00Z", containerStatuses=[waiting("ErrImagePull")])
    going["metadata"]["deletionTimestamp"] = "2026-01-05T00:00:00Z"
    assert cause_among([older, going, newer, fine]).startswith("Pod shop/newer: ")
    assert cause_among([going]) == "Pod shop/going: it is being deleted"


def test_cause_that_others_wrote_is_cut_to_one_short_line() -> None:
    said = cause_among([pod(containerStatuses=[waiting("W" * 9999, "a\nb\x1b[31m\u202e" + "x" * 99999)])])
    assert len(said) < len(WEB) + NAME_CHARACTERS + TEXT_CHARACTERS + 10
    assert said.isprintable()


def workload(kind: str, group: str = "apps/v1", *, status: Any = None, **spec: Any) -> dict[str, Any]:
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, **spec}
    return {"apiVersion": group, "kind": kind, "metadata": {}, "spec": spec, "status": status or {}}


REFUSED = {
    "type": "ReplicaFailure",
    "status": "True",
    "reason": "FailedCreate",
    "message": 'pods "web-" is forbidden: violates PodSecurity "restricted:latest"',
}
FAILED_JOB = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "the limit"}


@pytest.mark.parametrize(
    ("obj", "cause", "pods"),
    [
        (workload("Deployment"), "", "app=web"),
        (workload("StatefulSet"), "", "app=web"),
        (workload("DaemonSet"), "", "app=web"),
        (workload("ReplicaSet"), "", "app=web"),
        (
            workload("Deployment", status={"conditions": [REFUSED]}),
            'FailedCreate: pods "web-" is forbidden: violates PodSecurity "restricted:latest"',
            "",
        ),
        (workload("Deployment", status={"conditions": [REFUSED | {"status": "False"}]}), "", "app=web"),
        (
            workload("Job", "batch/v1", status={"conditions": [FAILED_JOB]}),
            "BackoffLimitExceeded: the limit",
            "app=web",
        ),
        (
            workload(
                "Deployment",
                selector={
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [
                        {"key": "c", "operator": "In", "values": ["d", "e"]},
                        {"key": "f", "operator": "NotIn", "values": ["g"]},
                        {"key": "h", "operator": "Exists"},
                        {"key": "i", "operator": "DoesNotExist"},
                    ],
                },
            ),
            "",
            "a=b,c in (d,e),f notin (g),h,!i",
        ),
        (workload("Deployment", selector={}), "", ""),
        (workload("Deployment", selector="odd"), "", ""),
        (
            workload("PersistentVolumeClaim", "v1", status={"phase": "Pending"}),
            "it names no StorageClass, and the cluster has no default one; set spec.storageClassName",
            "",
        ),
        (
            workload("PersistentVolumeClaim", "v1", status={"phase": "Pending"}, storageClassName=""),
            'spec.storageClassName is "": it waits for a PersistentVolume without a class',
            "",
        ),
        (
            workload("PersistentVolumeClaim", "v1", status={"phase": "Pending"}, storageClassName="fast"),
            "no volume of the StorageClass fast is bound yet",
            "",
        ),
        (
            workload("PersistentVolumeClaim", "v1", status={"phase": "Pending"}, volumeName="v"),
            "it waits for the PersistentVolume v",
            "",
        ),
        (workload("Pod", "v1", status={"phase": "Pending", **unscheduled("none")}), "Unschedulable: none", ""),
    ],
)
def test_unhealthy_object_tells_its_cause_and_the_pods_that_may_know_more(
    obj: dict[str, Any], cause: str, pods: str
) -> None:
    health = judge(obj)
    assert not health.is_healthy
    assert (health.cause, health.pods) == (cause, pods)


def test_a_healthy_object_has_no_cause_and_a_symptom_comes_before_one() -> None:
    status = {"replicas": 0, "conditions": [REFUSED]}
    assert (judge(workload("ReplicaSet", replicas=0)).cause, judge(workload("ReplicaSet", replicas=0)).pods) == ("", "")
    health = judge(workload("Deployment", status=status))
    assert health.status is HealthStatus.IN_PROGRESS
    line = describe(ObjectKey("apps", "Deployment", "shop", "web"), health, "Pod shop/web-1: why")
    assert line.startswith("Deployment.apps/shop/web: object InProgress: Replicas: 0/1; FailedCreate: pods ")
    assert line.endswith("; Pod shop/web-1: why")

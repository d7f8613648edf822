"""Causes of an unhealthy object: what it says itself, and what pods say."""

from typing import Any

import pytest

from rukpak_py.apply.health import HealthStatus, cause_among, describe, describe_briefly, judge
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


WEB = ObjectKey("apps", "Deployment", "shop", "web")
STARTING = waiting("ContainerCreating")
OF_WEB = f" (Pod shop/web-1, image {IMAGE})"
NOT_READY = {
    "type": "Ready",
    "status": "False",
    "reason": "ContainersNotReady",
    "message": "containers with unready status: [web]",
}


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (
            {"containerStatuses": [waiting("ImagePullBackOff", "not found")]},
            f"container web: ImagePullBackOff: not found{OF_WEB}",
        ),
        ({"containerStatuses": [waiting("ErrImagePull")]}, f"container web: ErrImagePull{OF_WEB}"),
        (
            {"containerStatuses": [waiting("CreateContainerConfigError", 'secret "x" not found')]},
            f'container web: CreateContainerConfigError: secret "x" not found{OF_WEB}',
        ),
        (
            {"containerStatuses": [waiting("CrashLoopBackOff", "back-off 5m0s", lastState=ended(3))]},
            f"container web: CrashLoopBackOff: Error, exit code 3{OF_WEB}",
        ),
        (
            {"containerStatuses": [waiting("CrashLoopBackOff", lastState=ended(137, "OOMKilled"))]},
            f"container web: CrashLoopBackOff: OOMKilled, exit code 137{OF_WEB}",
        ),
        ({"containerStatuses": [container(state=ended(1))]}, f"container web: Error, exit code 1{OF_WEB}"),
        (
            {"containerStatuses": [container(state=ended(1, message="password: hunter2"))]},
            f"container web: Error, exit code 1{OF_WEB}",
        ),
        (
            {"containerStatuses": [container(state=ended(128, "StartError", 'exec: "nope": not found'))]},
            f'container web: StartError, exit code 128: exec: "nope": not found{OF_WEB}',
        ),
        (
            {"initContainerStatuses": [waiting("ErrImagePull")], "containerStatuses": [waiting("PodInitializing")]},
            f"container web: ErrImagePull{OF_WEB}",
        ),
        (unscheduled("no nodes available"), "Unschedulable: no nodes available (Pod shop/web-1)"),
        ({"reason": "Evicted", "message": "low on memory"}, "Evicted: low on memory (Pod shop/web-1)"),
        ({"containerStatuses": [STARTING]}, f"container web: ContainerCreating{OF_WEB}"),
        (
            {"containerStatuses": [container(state={"running": {}})], "conditions": [NOT_READY]},
            "ContainersNotReady: containers with unready status: [web] (Pod shop/web-1)",
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
    assert cause_among([older, going, newer, fine]).startswith("container web: ErrImagePull (Pod shop/newer, ")
    assert cause_among([going]) == "it is being deleted (Pod shop/going)"


def test_cause_that_others_wrote_is_cut_to_one_short_line() -> None:
    said = cause_among([pod(containerStatuses=[waiting("W" * 9999, "a\nb\x1b[31m\u202e" + "x" * 99999)])])
    assert len(said) < len(OF_WEB) + 2 * NAME_CHARACTERS + TEXT_CHARACTERS + 20
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
    line = describe(WEB, health, "why (Pod shop/web-1)")
    assert line.startswith("Deployment.apps/shop/web: object InProgress: Replicas: 0/1; FailedCreate: pods ")
    assert line.endswith("; why (Pod shop/web-1)")


def test_one_line_has_the_cause_first_and_the_symptom_only_where_there_is_none() -> None:
    health = judge(workload("Deployment"))
    assert describe_briefly(WEB, health) == "Deployment.apps/shop/web: Replicas: 0/1"
    said = cause_among([pod(containerStatuses=[waiting("CrashLoopBackOff", lastState=ended(1))])])
    line = "Deployment.apps/shop/web: container web: CrashLoopBackOff: Error, exit code 1"
    assert describe_briefly(WEB, health, said) == f"{line}{OF_WEB}"
    failed = judge(workload("Job", "batch/v1", status={"conditions": [FAILED_JOB]}))
    job = ObjectKey("batch", "Job", "shop", "migrate")
    assert describe_briefly(job, failed, "why") == "Job.batch/shop/migrate: why; BackoffLimitExceeded: the limit"

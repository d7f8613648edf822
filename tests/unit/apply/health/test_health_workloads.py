"""Health of Deployment, StatefulSet, DaemonSet and ReplicaSet: every rule, in its order, with upstream's text."""

from typing import Any

import pytest

from rukpak_py.apply.health import Health, HealthStatus, judge

HEALTHY = Health(HealthStatus.CURRENT, "Resource is current")
AVAILABLE = {"type": "Available", "status": "True"}
COMPLETE = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}


def in_progress(message: str) -> Health:
    return Health(HealthStatus.IN_PROGRESS, message)


def workload(
    kind: str, spec: dict[str, Any], status: dict[str, Any], *, generation: int | None = 1, group: str = "apps"
) -> dict[str, Any]:
    metadata = {"name": "x"} if generation is None else {"name": "x", "generation": generation}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def deployment_status(replicas: int, updated: int, available: int, ready: int, *conditions: Any) -> dict[str, Any]:
    return {
        "replicas": replicas,
        "updatedReplicas": updated,
        "availableReplicas": available,
        "readyReplicas": ready,
        "conditions": list(conditions),
    }


@pytest.mark.parametrize("group", ["apps", "extensions"])
@pytest.mark.parametrize(
    ("spec", "status", "health"),
    [
        ({}, {}, in_progress("Replicas: 0/1")),
        ({"replicas": 0}, {"conditions": [AVAILABLE]}, HEALTHY),
        ({"replicas": None}, {"conditions": None}, in_progress("Replicas: 0/1")),
        (
            {"replicas": 2},
            {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]},
            Health(HealthStatus.FAILED, "Progress deadline exceeded"),
        ),
        ({"replicas": 3}, deployment_status(2, 2, 2, 2), in_progress("Replicas: 2/3")),
        ({"replicas": 3}, deployment_status(3, 1, 3, 3), in_progress("Updated: 1/3")),
        ({"replicas": 3}, deployment_status(4, 3, 3, 3), in_progress("Pending termination: 1")),
        ({"replicas": 3}, deployment_status(3, 3, 2, 3), in_progress("Available: 2/3")),
        ({"replicas": 3}, deployment_status(3, 3, 3, 1), in_progress("Ready: 1/3")),
        (
            {"progressDeadlineSeconds": 600},
            deployment_status(1, 1, 1, 1, AVAILABLE),
            in_progress("ReplicaSet not Available"),
        ),
        (
            {"progressDeadlineSeconds": 600},
            deployment_status(1, 1, 1, 1, AVAILABLE, {**COMPLETE, "reason": "ReplicaSetUpdated"}),
            in_progress("ReplicaSet not Available"),
        ),
        ({"progressDeadlineSeconds": 600}, deployment_status(1, 1, 1, 1, AVAILABLE, COMPLETE), HEALTHY),
        ({"progressDeadlineSeconds": 2147483647}, deployment_status(1, 1, 1, 1, AVAILABLE), HEALTHY),
        ({}, deployment_status(1, 1, 1, 1), in_progress("Deployment not Available")),
        (
            {},
            deployment_status(1, 1, 1, 1, {"type": "Available", "status": "False"}),
            in_progress("Deployment not Available"),
        ),
    ],
)
def test_deployment(group: str, spec: dict[str, Any], status: dict[str, Any], health: Health) -> None:
    assert judge(workload("Deployment", spec, status, group=group)) == health


STATEFUL = {"replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "updatedReplicas": 3}


@pytest.mark.parametrize(
    ("strategy", "status", "health"),
    [
        ({"type": "OnDelete"}, {}, HEALTHY),
        ({}, {}, in_progress("Replicas: 0/3")),
        ({}, {**STATEFUL, "readyReplicas": 1}, in_progress("Ready: 1/3")),
        ({}, {**STATEFUL, "replicas": 5}, in_progress("Pending termination: 2")),
        ({"rollingUpdate": {"partition": 1}}, {**STATEFUL, "updatedReplicas": 1}, in_progress("updated: 1/2")),
        ({"rollingUpdate": {"partition": 1}}, {**STATEFUL, "updatedReplicas": 2}, HEALTHY),
        ({"rollingUpdate": {"partition": 0}}, {**STATEFUL, "updatedReplicas": 2}, in_progress("updated: 2/3")),
        ({}, {**STATEFUL, "currentReplicas": 2}, in_progress("current: 2/3")),
        (
            {},
            {**STATEFUL, "currentRevision": "a", "updateRevision": "b"},
            in_progress("Waiting for updated revision to match current"),
        ),
        ({}, {**STATEFUL, "currentRevision": "b", "updateRevision": "b"}, HEALTHY),
    ],
)
def test_stateful_set(strategy: dict[str, Any], status: dict[str, Any], health: Health) -> None:
    assert judge(workload("StatefulSet", {"replicas": 3, "updateStrategy": strategy}, status)) == health


DAEMONS = {
    "observedGeneration": 1,
    "desiredNumberScheduled": 3,
    "currentNumberScheduled": 3,
    "updatedNumberScheduled": 3,
    "numberAvailable": 3,
    "numberReady": 3,
}


@pytest.mark.parametrize("group", ["apps", "extensions"])
@pytest.mark.parametrize(
    ("status", "health"),
    [
        ({}, in_progress("DaemonSet status.observedGeneration not found")),
        ({"observedGeneration": 1}, in_progress("Missing .status.desiredNumberScheduled")),
        ({**DAEMONS, "currentNumberScheduled": 2}, in_progress("Current: 2/3")),
        ({**DAEMONS, "updatedNumberScheduled": 2}, in_progress("Updated: 2/3")),
        ({**DAEMONS, "numberAvailable": 2}, in_progress("Available: 2/3")),
        ({**DAEMONS, "numberReady": 2}, in_progress("Ready: 2/3")),
        ({"observedGeneration": 1, "desiredNumberScheduled": 0}, HEALTHY),
        (DAEMONS, HEALTHY),
    ],
)
def test_daemon_set(group: str, status: dict[str, Any], health: Health) -> None:
    assert judge(workload("DaemonSet", {}, status, group=group)) == health


def test_a_daemon_set_without_generation() -> None:
    obj = workload("DaemonSet", {}, DAEMONS, generation=None)
    assert judge(obj) == in_progress("DaemonSet metadata.generation not found")


COPIES = {"replicas": 3, "fullyLabeledReplicas": 3, "availableReplicas": 3, "readyReplicas": 3}


@pytest.mark.parametrize("group", ["apps", "extensions"])
@pytest.mark.parametrize(
    ("status", "health"),
    [
        (
            {**COPIES, "conditions": [{"type": "ReplicaFailure", "status": "True"}]},
            in_progress("Replica Failure condition. Check Pods"),
        ),
        ({**COPIES, "conditions": [{"type": "ReplicaFailure", "status": "False"}]}, HEALTHY),
        ({**COPIES, "fullyLabeledReplicas": 0}, in_progress("Labelled: 0/3")),
        ({**COPIES, "availableReplicas": 1}, in_progress("Available: 1/3")),
        ({**COPIES, "readyReplicas": 2}, in_progress("Ready: 2/3")),
        ({**COPIES, "replicas": 4}, in_progress("Pending termination: 1")),
        (COPIES, HEALTHY),
    ],
)
def test_replica_set(group: str, status: dict[str, Any], health: Health) -> None:
    assert judge(workload("ReplicaSet", {"replicas": 3}, status, group=group)) == health

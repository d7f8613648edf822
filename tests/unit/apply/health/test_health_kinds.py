"""Health of the other kinds that have a rule of their own."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rukpak_py.apply.health import Health, HealthStatus, has_health, judge
from rukpak_py.core.objects import GroupVersionKind

HEALTHY = Health(HealthStatus.CURRENT, "Resource is current")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def in_progress(message: str) -> Health:
    return Health(HealthStatus.IN_PROGRESS, message)


def failed(message: str) -> Health:
    return Health(HealthStatus.FAILED, message)


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def live(
    api_version: str, kind: str, status: dict[str, Any], spec: dict[str, Any] | None = None, **metadata: Any
) -> dict[str, Any]:
    head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", **metadata}}
    return {**head, "spec": spec or {}, "status": status}


UNSCHEDULABLE = {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable")]}
READY = condition("Ready", "True")
NOT_READY = condition("Ready", "False")
CRASHING = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}


@pytest.mark.parametrize(
    ("status", "age", "health"),
    [
        ({"phase": "Succeeded"}, 0, replace(HEALTHY, may_go=True)),
        ({"phase": "Failed"}, 0, HEALTHY),
        ({"phase": "Running", "conditions": [READY]}, 0, HEALTHY),
        ({"phase": "Running", "conditions": [NOT_READY]}, 0, in_progress("Pod is running but is not Ready")),
        ({"phase": "Running"}, 0, in_progress("Pod is running but is not Ready")),
        (
            {
                "phase": "Running",
                "conditions": [NOT_READY],
                "containerStatuses": [
                    {"name": "a", **CRASHING},
                    {"name": "b", "state": {"running": {}}},
                    {"name": "c", **CRASHING},
                    {"name": "d", "state": {"waiting": {"reason": "ErrImagePull"}}},
                ],
            },
            0,
            failed("Containers in CrashLoop state: a,c"),
        ),
        ({"phase": "Pending"}, 60, in_progress("Pod is in the Pending phase")),
        (UNSCHEDULABLE, 14, in_progress("Pod has not been scheduled")),
        (UNSCHEDULABLE, 15, failed("Pod could not be scheduled")),
        ({}, 0, in_progress("Pod phase not available")),
        ({"phase": "Unknown"}, 0, in_progress("the Pod is in the unknown phase 'Unknown'")),
    ],
)
def test_pod(status: dict[str, Any], age: int, health: Health) -> None:
    created = (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert replace(judge(live("v1", "Pod", status, creationTimestamp=created), now=NOW), cause="") == health


def test_a_pod_without_a_clock_is_judged_now() -> None:
    judged = judge(live("v1", "Pod", UNSCHEDULABLE, creationTimestamp="2020-01-01T00:00:00Z"))
    assert replace(judged, cause="") == failed("Pod could not be scheduled")


STARTED = {"startTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("spec", "status", "health"),
    [
        ({}, {}, in_progress("Job not started")),
        ({}, STARTED, in_progress("Job in progress. succeeded: 0/1")),
        ({"completions": 3}, {**STARTED, "succeeded": 2}, in_progress("Job in progress. succeeded: 2/3")),
        (
            {},
            {**STARTED, "conditions": [condition("Complete", "False")]},
            in_progress("Job in progress. succeeded: 0/1"),
        ),
        ({}, {"conditions": [condition("Complete", "True")]}, HEALTHY),
        (
            {},
            {**STARTED, "succeeded": 1, "conditions": [condition("SuccessCriteriaMet", "True")]},
            in_progress("Job in progress. succeeded: 1/1"),
        ),
        ({}, {"conditions": [condition("SuccessCriteriaMet", "True"), condition("Complete", "True")]}, HEALTHY),
        ({}, {"conditions": [condition("Suspended", "True")]}, in_progress("Job is suspended")),
        (
            {},
            {**STARTED, "conditions": [condition("Suspended", "False")]},
            in_progress("Job in progress. succeeded: 0/1"),
        ),
        (
            {},
            {**STARTED, "conditions": [condition("FailureTarget", "True", message="Job has reached the limit")]},
            in_progress("Job is failing. Job has reached the limit"),
        ),
        (
            {},
            {"failed": 1, "conditions": [condition("FailureTarget", "True"), condition("Failed", "True")]},
            failed("Job Failed. failed: 1/1"),
        ),
        ({}, {"failed": 2, "conditions": [condition("Failed", "True")]}, failed("Job Failed. failed: 2/1")),
        (
            {"parallelism": 4},
            {"failed": 2, "conditions": [condition("Failed", "True")]},
            failed("Job Failed. failed: 2/4"),
        ),
        (
            {"parallelism": 4, "completions": 6},
            {"failed": 2, "conditions": [condition("Failed", "True")]},
            failed("Job Failed. failed: 2/6"),
        ),
    ],
)
def test_job(spec: dict[str, Any], status: dict[str, Any], health: Health) -> None:
    assert judge(live("batch/v1", "Job", status, spec)) == health


@pytest.mark.parametrize(
    ("conditions", "health"),
    [
        (None, in_progress("Install in progress")),  # seen: the first event of a CRD
        ([condition("NamesAccepted", "False", message="taken")], failed("taken")),
        ([condition("Established", "True"), condition("NamesAccepted", "False", message="taken")], failed("taken")),
        ([condition("Established", "False", "NotAccepted", "not all names")], failed("not all names")),
        ([condition("Established", "False", "Installing", "soon")], in_progress("Install in progress")),
        ([condition("Established", "Unknown")], in_progress("Install in progress")),
        ([condition("NamesAccepted", "True"), condition("Established", "True")], HEALTHY),
    ],
)
def test_custom_resource_definition(conditions: Any, health: Health) -> None:
    crd = live("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"conditions": conditions})
    assert judge(crd) == health


@pytest.mark.parametrize(
    ("conditions", "health"),
    [
        ([], in_progress("Available condition not found")),
        ([condition("Available", "False", message="no endpoints")], in_progress("no endpoints")),
        ([condition("Available", "Unknown")], HEALTHY),
        ([condition("Available", "True"), condition("Stalled", "True", message="x")], HEALTHY),
    ],
)
def test_api_service(conditions: list[Any], health: Health) -> None:
    obj = live("apiregistration.k8s.io/v1", "APIService", {"conditions": conditions}, deletionTimestamp="2026-01-01")
    assert judge(obj) == health  # nothing further is looked at, not even the deletion


@pytest.mark.parametrize(
    ("status", "health"),
    [
        ({"phase": "Bound"}, HEALTHY),
        ({"phase": "Pending"}, in_progress("PVC is not Bound. phase: Pending")),
        ({}, in_progress("PVC is not Bound. phase: unknown")),
    ],
)
def test_persistent_volume_claim(status: dict[str, Any], health: Health) -> None:
    assert replace(judge(live("v1", "PersistentVolumeClaim", status)), cause="") == health


@pytest.mark.parametrize(
    ("spec", "health"),
    [
        ({"type": "LoadBalancer"}, in_progress("ClusterIP not set. Service type: LoadBalancer")),
        ({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}, HEALTHY),
        ({"type": "ClusterIP"}, HEALTHY),
        ({}, HEALTHY),
    ],
)
def test_service(spec: dict[str, Any], health: Health) -> None:
    assert judge(live("v1", "Service", {"loadBalancer": {}}, spec)) == health


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("v1", "Secret"), ("v1", "ConfigMap"), ("batch/v1", "CronJob"), ("policy/v1", "PodDisruptionBudget")],
)
def test_kinds_that_are_never_unhealthy(api_version: str, kind: str) -> None:
    assert judge(live(api_version, kind, {"conditions": [NOT_READY]})) == HEALTHY


@pytest.mark.parametrize(
    ("api_version", "kind", "needs_more_than_metadata"),
    [
        ("v1", "ConfigMap", False),
        ("v1", "Secret", False),
        ("v1", "ServiceAccount", False),
        ("v1", "Namespace", False),
        ("rbac.authorization.k8s.io/v1", "Role", False),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", False),
        ("scheduling.k8s.io/v1", "PriorityClass", False),
        ("networking.k8s.io/v1", "NetworkPolicy", False),
        ("v1", "Service", True),
        ("v1", "Pod", True),
        ("apps/v1", "Deployment", True),
        ("policy/v1", "PodDisruptionBudget", True),  # its generation is looked at
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", True),
        ("shop.test/v1", "ConfigMap", True),
    ],
)
def test_kinds_with_a_health_rule_are_kept_whole(api_version: str, kind: str, needs_more_than_metadata: bool) -> None:  # noqa: FBT001 - a table
    assert has_health(GroupVersionKind.parse(api_version, kind)) is needs_more_than_metadata

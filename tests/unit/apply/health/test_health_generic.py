"""The rules for every kind, the line that users read, and what is odd."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak_py.apply.health import MESSAGE_CHARACTERS, Health, HealthStatus, describe, judge
from rukpak_py.core.objects import GroupVersionKind, ObjectKey

HEALTHY = Health(HealthStatus.CURRENT, "Resource is current")


def in_progress(message: str) -> Health:
    return Health(HealthStatus.IN_PROGRESS, message)


def condition(kind: str, status: str, message: str = "") -> dict[str, Any]:
    return {"type": kind, "status": status, "message": message}


def shop(status: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "shop.test/v1", "kind": "Shop", "metadata": {"name": "x", **metadata}, "status": status}


@pytest.mark.parametrize(
    ("obj", "health"),
    [
        (shop(None), HEALTHY),
        (shop({}), HEALTHY),
        (shop({"conditions": [condition("Ready", "True", "all good")]}), HEALTHY),
        (shop({"conditions": [condition("Ready", "False", "no stock")]}), in_progress("no stock")),
        (shop({"conditions": [condition("Ready", "Unknown", "asking")]}), in_progress("asking")),
        (shop({"conditions": [condition("Open", "False", "closed")]}), HEALTHY),
        (shop({"observedGeneration": 2}, generation=2), HEALTHY),
        (
            shop({"observedGeneration": 1, "conditions": [condition("Ready", "True")]}, generation=2),
            in_progress("Shop generation is 2, but latest observed generation is 1"),
        ),
        (
            shop({"observedGeneration": "1"}, generation=2),  # as Argo Rollouts has it
            in_progress("Shop generation is 2, but latest observed generation is 1"),
        ),
        (shop({"observedGeneration": "2"}, generation=2), HEALTHY),
        (shop({}, generation=2), HEALTHY),
        (shop({"observedGeneration": 1}), HEALTHY),
        (
            shop({"conditions": [condition("Reconciling", "True", "moving"), condition("Ready", "True")]}),
            in_progress("moving"),
        ),
        (
            shop({"conditions": [condition("Stalled", "True", "stuck"), condition("Ready", "True")]}),
            Health(HealthStatus.FAILED, "stuck"),
        ),
        (shop({"conditions": [condition("Stalled", "False"), condition("Reconciling", "False")]}), HEALTHY),
        (
            shop({"observedGeneration": 1}, generation=2, deletionTimestamp="2026-01-01T00:00:00Z"),
            Health(HealthStatus.TERMINATING, "Resource scheduled for deletion"),
        ),
    ],
)
def test_the_first_rule_that_decides_wins(obj: dict[str, Any], health: Health) -> None:
    assert judge(obj) == health


def test_metadata_alone_shows_that_an_object_goes() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert judge(obj).status is HealthStatus.TERMINATING


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (shop([]), "status is not a mapping"),
        (shop({}) | {"metadata": "x"}, "metadata is not a mapping"),
        (shop({"conditions": {"Ready": True}}), "status.conditions is not a list"),
        (shop({"conditions": ["Ready"]}), "status.conditions[0] is not a mapping"),
        (shop({"conditions": [{"type": "Ready", "status": True}]}), "status.conditions[0].status is not a string"),
        (shop({"conditions": [{"type": ["Ready"]}]}), "status.conditions[0].type is not a string"),
        (shop({"conditions": [condition("Ready", "yes")]}), "the condition Ready has the status 'yes'"),
        (shop({"observedGeneration": "one"}, generation=1), "status.observedGeneration is not a whole number"),
        (shop({"observedGeneration": True}, generation=1), "status.observedGeneration is not a whole number"),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "3"}},
            "spec.replicas is not a whole number",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running", "containerStatuses": [{"state": 1}]}},
            "state is not a mapping",
        ),
        ({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": 1}}, "status.phase is not a string"),
    ],
)
def test_odd_status_is_in_progress_with_a_message(obj: dict[str, Any], message: str) -> None:
    assert judge(obj) == in_progress(message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"message": 7}, "Ready is False"), ({"message": "", "reason": "NoStock"}, "Ready is False: NoStock")],
)
def test_a_condition_without_a_message_says_its_reason(fields: dict[str, Any], message: str) -> None:
    obj = shop({"conditions": [{"type": "Ready", "status": "False", **fields}]})
    assert judge(obj) == in_progress(message)


def test_the_line_has_the_whole_message_without_its_line_breaks_up_to_a_limit() -> None:
    key = ObjectKey("shop.test", "Shop", "a", "x")
    assert describe(key, in_progress("\n cannot open:\n\tno key\n")).endswith("InProgress: cannot open: no key")
    line = describe(key, in_progress(f"begins {'x' * 40_000} ends"))
    assert len(line) < MESSAGE_CHARACTERS + 100
    assert "begins" in line
    assert line.endswith("ends")


@pytest.mark.parametrize(
    ("api_version", "kind", "namespace", "health", "line"),
    [
        (
            "apps/v1",
            "Deployment",
            "shop",
            in_progress("Ready: 0/1"),
            "Deployment.apps/shop/x: object InProgress: Ready: 0/1",
        ),
        (
            "v1",
            "Pod",
            "shop",
            Health(HealthStatus.FAILED, "Pod could not be scheduled"),
            "Pod shop/x: object Failed: Pod could not be scheduled",
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "",
            Health(HealthStatus.TERMINATING, "Resource scheduled for deletion"),
            ("CustomResourceDefinition.apiextensions.k8s.io/x: object Terminating: Resource scheduled for deletion"),
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            "",
            in_progress("Available condition not found"),
            "APIService.apiregistration.k8s.io/x: Available condition not found",
        ),
    ],
)
def test_the_line_names_the_object(api_version: str, kind: str, namespace: str, health: Health, line: str) -> None:
    group = GroupVersionKind.parse(api_version, kind).group
    assert describe(ObjectKey(group, kind, namespace, "x"), health) == line


KINDS = [
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("shop.test/v1", "Shop"),
    ("argoproj.io/v1alpha1", "Rollout"),
    ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"),
    ("kafka.strimzi.io/v1", "Kafka"),
]
numbers = st.integers(-1, 4)
odd = st.one_of(st.none(), st.booleans(), st.floats(), numbers, st.text(max_size=4), st.just([]), st.just({}))
types = ["Ready", "Available", "Progressing", "Established", "PodScheduled", "Failed", "Stalled", "ReplicaFailure"]
conditions = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(st.sampled_from(types), odd),
            "status": st.one_of(st.sampled_from(["True", "False", "Unknown"]), odd),
            "reason": st.one_of(st.sampled_from(["Unschedulable", "NewReplicaSetAvailable"]), odd),
            "message": odd,
        },
    ),
    max_size=4,
)
counts = ["replicas", "readyReplicas", "updatedReplicas", "currentReplicas", "desiredNumberScheduled", "failed"]
containers = st.lists(
    st.one_of(odd, st.fixed_dictionaries({"state": st.one_of(odd, st.just({"waiting": 1}))}, optional={"name": odd}))
)
statuses = st.fixed_dictionaries(
    {},
    optional={
        "conditions": st.one_of(odd, conditions),
        "observedGeneration": st.one_of(odd, numbers),
        "phase": st.one_of(odd, st.sampled_from(["Running", "Pending", "Bound"])),
        "containerStatuses": st.one_of(odd, containers),
        **{name: st.one_of(odd, numbers) for name in counts},
    },
)
specs = st.fixed_dictionaries(
    {},
    optional={"replicas": odd, "updateStrategy": odd, "progressDeadlineSeconds": odd, "type": odd, "parallelism": odd},
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "generation": odd,
        "deletionTimestamp": odd,
        "creationTimestamp": st.one_of(
            odd, st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01", "0001-01-01T00:00Z"])
        ),
    },
)


@settings(max_examples=500)
@given(st.sampled_from(KINDS), st.one_of(odd, metadata), st.one_of(odd, specs), st.one_of(odd, statuses))
def test_nothing_that_an_object_holds_makes_it_raise(
    kind: tuple[str, str], metadata: Any, spec: Any, status: Any
) -> None:
    obj = {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, "spec": spec, "status": status}
    health = judge(obj)
    assert isinstance(health.message, str)


@given(st.dictionaries(st.text(max_size=10), odd, max_size=4), st.dictionaries(st.text(max_size=3), odd, max_size=2))
def test_not_even_what_is_no_object(obj: dict[str, Any], rest: dict[str, Any]) -> None:
    judge({"apiVersion": rest, "kind": rest, **obj})

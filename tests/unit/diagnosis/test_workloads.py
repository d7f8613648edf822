"""Claims that a pod waits for, and the word for a claim without a volume."""

from typing import Any

import pytest

from rukpak_py.apply.health import judge
from rukpak_py.diagnosis.workloads import CLAIM_PENDING, NO_STORAGE_CLASS, NO_VOLUME, claims_of, reason_of

DATA, LOGS = ({"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("data", "logs"))
TOKEN = {"name": "token", "emptyDir": {}}


def pod(*volumes: object, **status: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": list(volumes)}, "status": status}


def scheduled(status: str) -> dict[str, Any]:
    return {"conditions": [{"type": "PodScheduled", "status": status, "reason": "Unschedulable"}]}


@pytest.mark.parametrize(
    ("found", "claims"),
    [
        pytest.param(pod(DATA, TOKEN, LOGS, **scheduled("False")), ["data", "logs"], id="waits"),
        pytest.param(pod(TOKEN, **scheduled("False")), [], id="needs none"),
        pytest.param(pod(DATA, **scheduled("True")), [], id="has a node"),
        pytest.param(pod(DATA), [], id="not looked at by the scheduler"),
        pytest.param(pod("data", **scheduled("False")), [], id="malformed"),
    ],
)
def test_claims_of_a_pod_are_those_of_one_that_has_no_node(found: dict[str, Any], claims: list[str]) -> None:
    assert claims_of(found) == claims


@pytest.mark.parametrize(
    ("spec", "phase", "word"),
    [
        ({}, "Pending", NO_STORAGE_CLASS),
        ({"storageClassName": ""}, "Pending", NO_VOLUME),
        ({"storageClassName": "fast"}, "Pending", CLAIM_PENDING),
        ({}, "Bound", ""),
    ],
)
def test_claim_without_a_volume_has_a_word_for_its_class(spec: dict[str, Any], phase: str, word: str) -> None:
    manifest = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec, "status": {"phase": phase}}
    assert reason_of(manifest, judge(manifest), None) == word

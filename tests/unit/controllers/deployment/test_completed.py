"""Jobs with a time to live, and Pods, that have ended: once they are gone they count as done for unchanged content."""

from dataclasses import replace
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import COMPLETED, CompletedObject
from rukpak_py.apply.health import HealthStatus, judge
from rukpak_py.apply.health.result import CURRENT, ENDED
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.planning import completed_now, done, done_and_gone
from tests.manifests import config_map
from tests.unit.apply.lives import desired, key, live, owned

WANTED = desired(config_map("a"))
ENTRY = CompletedObject(kind="ConfigMap", namespace="ns", name="a", applied=WANTED.payload.digest)
OTHER = CompletedObject(kind="ConfigMap", namespace="ns", name="b", applied="other")


def seen(name: str = "a", *, has_ended: bool = True) -> ObservedObject:
    return replace(live(**owned(name)), applied=WANTED.payload.digest, health=ENDED if has_ended else CURRENT)


@pytest.mark.parametrize(
    ("completed", "is_there", "is_done"),
    [
        ((ENTRY,), False, True),
        ((ENTRY,), True, False),
        ((), False, False),
        ((CompletedObject(kind="ConfigMap", namespace="ns", name="a", applied="of other content"),), False, False),
    ],
)
def test_an_object_that_has_run_and_is_gone_is_done_for_the_same_content(
    completed: tuple[CompletedObject, ...], *, is_there: bool, is_done: bool
) -> None:
    there = {WANTED.key} if is_there else set()
    assert done(completed, [WANTED], there) == ({WANTED.key} if is_done else set())


def test_an_object_that_is_there_is_not_gone() -> None:
    assert done_and_gone((ENTRY, OTHER), {key("a")}) == {key("b")}


@pytest.mark.parametrize(
    ("former", "shown", "still_done", "expected"),
    [
        ((), [seen()], None, (ENTRY,)),
        ((), [seen(has_ended=False)], None, ()),
        ((ENTRY,), [], None, (ENTRY,)),
        ((ENTRY,), [], {key("a")}, (ENTRY,)),
        ((ENTRY,), [], set(), ()),  # other content, which has it no more, or differently
        ((ENTRY,), [seen(has_ended=False)], None, ()),  # it runs again
        ((OTHER,), [seen()], {key("b")}, (ENTRY, OTHER)),
    ],
)
def test_completed_objects_are_recorded(
    former: tuple[CompletedObject, ...], shown: list[ObservedObject], still_done: Any, expected: Any
) -> None:
    assert completed_now(former, {one.key: one for one in shown}, still_done) == expected


def test_the_record_is_bounded() -> None:
    shown = {one.key: one for one in (seen(f"a{number:03}") for number in range(COMPLETED + 1))}
    assert len(completed_now((), shown, None)) == COMPLETED
    gone = CompletedObject(kind="ConfigMap", namespace="ns", name="z", applied="x")
    assert gone in completed_now((gone,), shown, None), "without its entry it would run again"


@pytest.mark.parametrize(
    ("kind", "spec", "status", "may_go"),
    [
        ("Job", {"ttlSecondsAfterFinished": 0}, {"conditions": [{"type": "Complete", "status": "True"}]}, True),
        ("Job", {}, {"conditions": [{"type": "Complete", "status": "True"}]}, False),
        ("Job", {"ttlSecondsAfterFinished": 9}, {"conditions": [{"type": "Failed", "status": "True"}]}, False),
        ("Job", {"ttlSecondsAfterFinished": 9}, {"startTime": "2026-01-01T00:00:00Z"}, False),
        ("Pod", {}, {"phase": "Succeeded"}, True),
        ("Pod", {}, {"phase": "Failed"}, False),
    ],
)
def test_which_objects_are_deleted_without_us(kind: str, spec: Any, status: Any, *, may_go: bool) -> None:
    version = "batch/v1" if kind == "Job" else "v1"
    manifest = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec, "status": status}
    found = judge(manifest)
    assert found.may_go is may_go
    assert not may_go or found.status is HealthStatus.CURRENT

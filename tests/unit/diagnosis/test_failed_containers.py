"""The container that keeps a pod from running, and the word for it."""

from typing import Any

import pytest

from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.ways_out import way_out
from rukpak_py.diagnosis.workloads import failed_container

NOT_READY = {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}


def pod(*statuses: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    status = {"conditions": [NOT_READY], "containerStatuses": list(statuses), "initContainerStatuses": list(init)}
    return {"metadata": {"name": "web-1", "namespace": "shop"}, "status": status}


def waiting(reason: str, name: str = "web") -> dict[str, Any]:
    return {"name": name, "ready": False, "state": {"waiting": {"reason": reason}}}


RUNNING: dict[str, Any] = {"name": "first", "ready": False, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("given", "name", "reason"),
    [
        (pod(waiting("CrashLoopBackOff")), "web", "CrashLoopBackOff"),
        (pod({"name": "web", "ready": False, "state": {"running": {}}}), "web", "ContainersNotReady"),
        (pod(waiting("ContainerCreating")), "web", "ContainerCreating"),
        (pod(waiting("PodInitializing"), init=(RUNNING,)), "first", "PodInitializing"),
        (pod(waiting("ContainerCreating"), waiting("ErrImagePull", "side")), "side", "ErrImagePull"),
    ],
    ids=["crashes", "probe fails", "volume is missing", "init container runs", "one of two cannot be pulled"],
)
def test_container_is_named_with_the_word_that_says_most(given: dict[str, Any], name: str, reason: str) -> None:
    found = failed_container(given)
    assert found is not None
    assert (found.name, found.reason, found.pod) == (name, reason, "web-1")


def test_way_out_names_the_pod_whose_events_tell() -> None:
    about = ObjectKey("apps", "Deployment", "shop", "web")
    told = way_out("ContainerCreating", name="web", about=about, pod=ObjectKey("", "Pod", "shop", "web-1"))
    assert "`kubectl describe pod/web-1 -n shop`" in told
    assert "`kubectl describe deployment.apps/web -n shop`" in way_out("ContainerCreating", name="web", about=about)

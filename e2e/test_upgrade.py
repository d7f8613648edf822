# ruff: noqa: S101 - pytest asserts
"""The chart is upgraded from the previous version while users work: no admission fails, and no reconcile."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from e2e import previous_version
from e2e.admission_load import load, turns_of_all
from e2e.cluster import lifecycle
from e2e.conftest import remove_everything
from e2e.kubectl import Kubectl, KubectlError
from e2e.release import Release
from e2e.waiting import eventually
from tools import chart

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS = ("ann", "bob")
TURNS = 3  # of each user after the upgrade
KINDS = {"Bundle", "BundleDeployment"}
READY_SECONDS = 90


@pytest.fixture
def previous(kubectl: Kubectl, loaded_images: None) -> Iterator[Release]:
    """The previous version, installed with two replicas into an empty cluster."""
    del loaded_images  # only has to have happened
    if lifecycle.is_foreign(kubectl.kubeconfig.parent):
        pytest.skip("the nodes of a cluster that was there before do not have the image of the previous version")
    built = previous_version.build()
    load_image = [sys.executable, "-m", "e2e.cluster", "load-image", str(built.archive)]
    subprocess.run([*load_image, f"--state={kubectl.kubeconfig.parent}"], check=True)
    remove_everything(kubectl)
    kubectl.run("create", "namespace", chart.NAMESPACE)
    kubectl.run("label", "namespace", chart.NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    release = Release(helm=chart.helm(), kubectl=kubectl, chart=built.chart)
    release.install("replicaCount=2", *built.settings)
    yield release
    remove_everything(kubectl)


def warnings(kubectl: Kubectl) -> dict[str, str]:
    """Warning Events about our kinds, by their uid."""
    events: list[dict[str, Any]] = kubectl.get("events", "--all-namespaces", "--field-selector=type=Warning")["items"]
    return {
        one["metadata"]["uid"]: f"{one['reason']} of {one['involvedObject']['name']}: {one['message']}"
        for one in events
        if one["involvedObject"]["kind"] in KINDS
    }


def version_of(kubectl: Kubectl, deployment: str) -> str:
    """The installed version, once the deployment is Ready with what it wants."""
    try:
        found = kubectl.get("bundledeployment", deployment)
        applied = kubectl.get("configmap", "--namespace=default", deployment)
    except KubectlError as error:
        return str(error)
    ready: dict[str, Any] = next((one for one in found["status"]["conditions"] if one["type"] == "Ready"), {})
    is_ready = ready.get("status") == "True" and ready["observedGeneration"] == found["metadata"]["generation"]
    return str(applied["data"]["version"]) if is_ready else str(ready.get("message"))


def test_upgrade_under_load_fails_no_admission_and_no_reconcile(previous: Release, kubectl: Kubectl) -> None:
    old_pods = {pod["metadata"]["name"] for pod in previous.pods()}
    told_before = warnings(kubectl)  # by the tests that ran here before: an Event lasts for an hour
    with load(kubectl, chart.NAMESPACE, *USERS) as users:
        turns_before = sum(user.turns for user in users)
        replace(previous, chart=chart.CHART).upgrade("replicaCount=2")
        turns_during = sum(user.turns for user in users) - turns_before
        turns_of_all(users, TURNS)
    assert [said for user in users for said in user.unexpected] == []
    assert turns_during > 0
    wanted = {name: version for user in users for name, version in user.wanted.items()}
    eventually(
        lambda: {name: version_of(kubectl, name) for name in wanted} == wanted,
        what="all are Ready with the content they want",
        seconds=READY_SECONDS,
    )
    assert {uid: said for uid, said in warnings(kubectl).items() if uid not in told_before} == {}
    new_pods = previous.pods()
    assert len(new_pods) == 2
    assert not old_pods & {pod["metadata"]["name"] for pod in new_pods}
    images = {one["image"] for pod in new_pods for one in pod["spec"]["containers"]}
    assert not any(image.endswith(f":{previous_version.VERSION}") for image in images)
    assert "Traceback" not in previous.logs()

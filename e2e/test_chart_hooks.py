# ruff: noqa: S101 - pytest asserts
"""The sample of a chart with hooks: its Jobs run on the node, around an installation, upgrades and the deletion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from e2e.kubectl import KubectlError
from e2e.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from e2e.kubectl import Kubectl

SAMPLE = Path(__file__).resolve().parent.parent / "manifests/samples/hooks.yaml"
NAME = "hooks"  # of the deployment and of its namespace
pytestmark = pytest.mark.usefixtures("release")


@pytest.fixture(scope="module", autouse=True)
def sample(kubectl: Kubectl) -> Iterator[None]:
    kubectl.run("apply", "--server-side", "--filename", str(SAMPLE))
    yield
    kubectl.run("delete", "bundledeployment", NAME, "--ignore-not-found", "--timeout=60s")
    kubectl.run("delete", "namespace", NAME, "--ignore-not-found", "--wait=false")


def configure(kubectl: Kubectl, **values: Any) -> None:
    patch = json.dumps({"spec": {"config": {"values": values}}})
    kubectl.run("patch", "bundledeployment", NAME, "--type=merge", f"--patch={patch}")


def records(kubectl: Kubectl) -> dict[str, str]:
    """The result of each hook by the event that it ran at."""
    found = kubectl.get("bundledeployment", NAME)["status"].get("hooks", [])
    return {record["event"]: record["result"] for record in found}


def completed_jobs(kubectl: Kubectl) -> set[str]:
    events = kubectl.get("events", f"--namespace={NAME}", "--field-selector=reason=Completed")["items"]
    return {event["involvedObject"]["name"] for event in events}


def greeting(kubectl: Kubectl) -> str:
    return str(kubectl.get("configmap", f"{NAME}-settings", f"--namespace={NAME}")["data"]["greeting"])


def test_hooks_run_on_the_node_before_and_after_the_installation(kubectl: Kubectl) -> None:
    kubectl.wait_ready(NAME, seconds=120)
    assert records(kubectl) == {"pre-install": "Succeeded", "post-install": "Succeeded"}
    assert completed_jobs(kubectl) >= {f"{NAME}-migrate", f"{NAME}-announce"}


def test_a_hook_that_fails_leaves_what_was_installed(kubectl: Kubectl) -> None:
    configure(kubectl, command=["rukpak-operator", "--no-such-option"], greeting="never", retries=0)
    kubectl.run("wait", "--for=condition=Stalled", f"bundledeployment/{NAME}", "--timeout=60s")
    installed = next(
        one for one in kubectl.get("bundledeployment", NAME)["status"]["conditions"] if one["type"] == "Installed"
    )
    assert installed["reason"] == "UpgradeFailed"
    assert f"the pre-upgrade hook Job.batch/{NAME}/{NAME}-migrate failed" in installed["message"]
    assert records(kubectl) == {"pre-upgrade": "Failed"}
    assert greeting(kubectl) == "hello"


def test_an_upgrade_runs_its_own_hooks(kubectl: Kubectl) -> None:
    configure(kubectl, command=["rukpak-operator", "--version"], greeting="good evening", retries=1)
    eventually(lambda: greeting(kubectl) == "good evening", what="the upgrade is applied", seconds=60)
    kubectl.wait_ready(NAME)
    assert records(kubectl) == {"pre-upgrade": "Succeeded", "post-upgrade": "Succeeded"}


def test_the_deletion_waits_for_its_hook(kubectl: Kubectl) -> None:
    kubectl.run("delete", "bundledeployment", NAME, "--timeout=60s")
    assert f"{NAME}-clean-up" in completed_jobs(kubectl)
    with pytest.raises(KubectlError, match="not found"):
        kubectl.get("configmap", f"{NAME}-settings", f"--namespace={NAME}")

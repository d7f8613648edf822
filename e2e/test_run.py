# ruff: noqa: S101 - pytest asserts
"""`make run` on the cluster that is there: it brings its samples to Ready, and leaves the cluster as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from e2e.conftest import remove_everything
from e2e.release import WEBHOOKS
from e2e.sample_sources import SAMPLES
from tools import chart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from e2e.kubectl import Kubectl


@pytest.fixture
def _empty_cluster(kubectl: Kubectl) -> Iterator[None]:
    remove_everything(kubectl)
    yield
    remove_everything(kubectl, waits=False)


def run_once(kubectl: Kubectl) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"RUN_ONCE": "1", "RUKPAK_CLUSTER_STATE": str(kubectl.kubeconfig.parent)}
    command = [sys.executable, "-m", "e2e.run"]
    return subprocess.run(
        command, env=environment, cwd=SAMPLES.parent.parent, capture_output=True, text=True, check=False
    )


@pytest.mark.usefixtures("_empty_cluster")
def test_a_cluster_with_an_installed_operator_is_refused_and_left_alone(kubectl: Kubectl) -> None:
    kubectl.run("create", "namespace", chart.NAMESPACE)
    namespaced = f"--namespace={chart.NAMESPACE}"
    kubectl.run("create", "deployment", "core", namespaced, "--image=example.com/core", "--replicas=0")
    webhooks = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOKS},
    }
    kubectl.run("create", "--filename=-", stdin=json.dumps(webhooks))
    done = run_once(kubectl)
    assert done.returncode == 1
    assert "make run: an operator is installed in this cluster: helm uninstall rukpak -n rukpak-system" in done.stderr
    assert kubectl.run("get", "validatingwebhookconfiguration", WEBHOOKS, "--output=name")


@pytest.mark.usefixtures("_empty_cluster")
def test_run_once_ends_by_itself(kubectl: Kubectl) -> None:
    done = run_once(kubectl)
    assert done.returncode == 0, done.stdout + done.stderr
    for source in ("a bundle", "a chart", "an image", "a git repository", "an archive", "an account"):
        assert f"Hello from {source}" in done.stdout
    assert "sample sleeper: kubectl apply to Ready" in done.stdout.partition("What took how long")[2]
    assert kubectl.get("bundledeployments")["items"] == []
    assert kubectl.get("validatingwebhookconfigurations")["items"] == []
    assert kubectl.get("validatingadmissionpolicies,validatingadmissionpolicybindings")["items"] == []

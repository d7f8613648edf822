"""Names of the cluster that complete a command line."""

import json
import os
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from rukpak_py.api.names import API_VERSION
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES
from tests.integration.definitions import definitions, install
from tests.unit.cli.running import program

CLASS = "served-by-no-operator"
BUNDLE = {"provisionerClassName": CLASS, "source": {"type": "image", "image": {"ref": "registry.example.com/none:1"}}}
DEPLOYMENT = {"provisionerClassName": CLASS, "template": {"spec": BUNDLE}}


def completions(kubeconfig: Path, *words: str) -> list[str]:
    done = subprocess.run(
        [program("kubectl_complete-rukpak"), *words],
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def written(kind: str, name: str, spec: Mapping[str, object]) -> bytes:
    body = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return json.dumps(body).encode()


@pytest.fixture
async def prefix(client: Client) -> str:
    """The beginning of the names of a Bundle (`…-b`) and a BundleDeployment (`…-d`)."""
    await install(client, definitions())
    return f"c{uuid.uuid4().hex[:9]}"


async def test_names_are_those_of_the_kind_that_the_command_takes(
    client: Client, kubeconfig: Path, prefix: str
) -> None:
    await client.create(BUNDLES, "", written("Bundle", f"{prefix}-b", BUNDLE))
    await client.create(BUNDLE_DEPLOYMENTS, "", written("BundleDeployment", f"{prefix}-d", DEPLOYMENT))
    try:
        assert completions(kubeconfig, "content", prefix) == [f"{prefix}-b", ":4"]
        assert completions(kubeconfig, "why", prefix) == [f"{prefix}-d", ":4"]
        assert completions(kubeconfig, "wait", f"{prefix}-d", prefix) == [":4"]  # it is on the command line already
    finally:
        await client.delete(BUNDLES, "", f"{prefix}-b")
        await client.delete(BUNDLE_DEPLOYMENTS, "", f"{prefix}-d")


def test_cluster_that_does_not_answer_completes_nothing(tmp_path: Path) -> None:
    assert completions(tmp_path / "none", "content", "") == [":4"]

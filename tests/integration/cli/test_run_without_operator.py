"""`rukpakctl run` where no operator answers: what it leaves behind, and how long it waits."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.kubectl import Kubectl
from tests.unit.cli.running import SAMPLES, program

UNSERVED = "--bundle-deployment-provisioner-class=nobody-serves-this"


@pytest.fixture
def name(kubeconfig: Path) -> Iterator[str]:
    name = f"c{uuid.uuid4().hex[:9]}"
    yield name
    Kubectl.on(kubeconfig).run("delete", "bundledeployment", name, "--ignore-not-found")


def run(kubeconfig: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program(), "run", name, str(SAMPLES / "notes"), UNSERVED, *options],
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,  # less than an operator is waited for by default
    )


def is_there(kubeconfig: Path, name: str) -> bool:
    return bool(Kubectl.on(kubeconfig).run("get", "bundledeployment", name, "--ignore-not-found"))


def test_without_a_service_nothing_is_left_behind(kubeconfig: Path, with_authority: str, name: str) -> None:
    done = run(kubeconfig, name, f"--system-namespace={with_authority}")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"find Service {with_authority}/core: there is no such Service" in done.stderr
    assert not is_there(kubeconfig, name)


@pytest.mark.usefixtures("with_authority")  # for the CRDs
def test_another_namespace_is_asked_for(kubeconfig: Path, name: str) -> None:
    done = run(kubeconfig, name, f"--system-namespace={name}")
    assert done.returncode == 3
    assert 'secrets "rukpak-ca" not found. Is the operator in another namespace?' in done.stderr
    assert not is_there(kubeconfig, name)


def test_the_bundle_is_waited_for_no_longer_than_asked(kubeconfig: Path, with_service: str, name: str) -> None:
    done = run(kubeconfig, name, f"--system-namespace={with_service}", "--timeout=1")
    assert (done.returncode, done.stdout) == (3, f'bundledeployment.core.rukpak.io "{name}" applied\n')
    assert " was not created within 1 s: no operator has reported anything about it." in done.stderr
    assert 'the class "nobody-serves-this"? rukpak-py serves core-rukpak-io-helm, core-rukpak-io-plain,' in done.stderr
    assert f"BundleDeployment {name} stays: run the command again, or delete it" in done.stderr
    assert is_there(kubeconfig, name)

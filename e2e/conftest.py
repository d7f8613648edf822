"""The operator in the cluster of RUKPAK_TEST_KUBECONFIG, installed the way that a user installs it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e import bundle_images
from e2e.cluster import foreign, lifecycle
from e2e.kubectl import Kubectl, KubectlError
from e2e.release import WEBHOOKS, Release
from e2e.webhook_operator import image as webhook_operator_image
from tools import chart, image, sample_image
from tools.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping


@pytest.fixture(scope="session")
def kubectl() -> Kubectl:
    kubeconfig = os.environ.get("RUKPAK_TEST_KUBECONFIG")
    if not kubeconfig:
        pytest.fail("RUKPAK_TEST_KUBECONFIG names no cluster; `make e2e` brings one up")
    found = Kubectl.on(Path(kubeconfig))
    if lifecycle.is_foreign(Path(kubeconfig).parent):
        _refuse_cluster_in_use(found)
    return found


def _refuse_cluster_in_use(kubectl: Kubectl) -> None:
    """The tests remove the CRDs, and with them everything that was installed."""
    with contextlib.suppress(KubectlError):  # no such kind
        names = kubectl.run("get", "bundledeployments,bundles", "--output=name").split()
        if names:
            pytest.exit(f"the cluster of KUBECONFIG is in use, and these tests would delete {', '.join(names)}", 1)


@pytest.fixture(scope="session")
def loaded_images(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The operator's image, of the sources at hand, and those of samples and bundles; unless the cluster has them."""
    if lifecycle.is_foreign(kubectl.kubeconfig.parent) and foreign.has_images():
        return
    folder = tmp_path_factory.mktemp("images")
    archives = [
        image.build(Steps()),
        sample_image.write(folder / "sample.tar"),
        webhook_operator_image.write(folder / "webhook-operator.tar"),
        *bundle_images.write_all(folder),
    ]
    for archive in archives:
        load = [sys.executable, "-m", "e2e.cluster", "load-image", str(archive)]
        subprocess.run([*load, f"--state={kubectl.kubeconfig.parent}"], check=True)


@pytest.fixture(scope="session")
def environment(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a user's shell."""
    programs = tmp_path_factory.mktemp("bin")
    for program in (kubectl.program, chart.helm()):
        (programs / program.name).symlink_to(program)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PATH": path, "KUBECONFIG": str(kubectl.kubeconfig)}


@pytest.fixture(scope="session")
def release(kubectl: Kubectl, loaded_images: None) -> Iterator[Release]:
    """Installed with two replicas into a namespace that admits only `restricted` pods.

    For the modules that come first; those after them begin with an empty cluster.
    """
    del loaded_images  # only has to have happened
    remove_everything(kubectl)
    kubectl.run("create", "namespace", chart.NAMESPACE)
    kubectl.run("label", "namespace", chart.NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    installed = Release(helm=chart.helm(), kubectl=kubectl)
    try:
        installed.install("replicaCount=2")
        yield installed
    finally:
        remove_everything(kubectl)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the cluster as it was left."""
    report = yield
    release = getattr(item, "funcargs", {}).get("release")
    if report.when == "call" and report.failed and isinstance(release, Release):
        report.sections.append(("the release", release.diagnosis()))
    return report


def remove_everything(kubectl: Kubectl, *, waits: bool = True) -> None:
    """For a cluster that is used again. Deployments go while the operator still runs.

    `waits`: until the namespace is gone, for callers that need its name again.
    """
    with contextlib.suppress(KubectlError):  # no such kind
        kubectl.run("delete", "bundleinstances", "--all", "--timeout=60s")
        kubectl.run("delete", "bundledeployments", "--all", "--timeout=60s")
        kubectl.run("delete", "bundles", "--all", "--timeout=60s")
    release = Release(helm=chart.helm(), kubectl=kubectl)
    release.uninstall(missing_ok=True)
    # One of an operator outside the cluster belongs to no release.
    kubectl.run("delete", "validatingwebhookconfiguration", WEBHOOKS, "--ignore-not-found")
    crds = [f"{plural}.core.rukpak.io" for plural in ("bundleinstances", "bundledeployments", "bundles")]
    kubectl.run("delete", "crd", *crds, "--ignore-not-found", "--timeout=60s")
    kubectl.run(
        "delete", "namespace", chart.NAMESPACE, "--ignore-not-found", "--timeout=120s", f"--wait={str(waits).lower()}"
    )

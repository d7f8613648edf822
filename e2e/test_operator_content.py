# ruff: noqa: S101 - pytest asserts
"""`rukpakctl run` and `content` as a user has them: by a port-forward through the API server and the kubelet."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e import source_pages
from e2e.cluster.ports import free_ports
from e2e.waiting import eventually
from tools import chart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from e2e.kubectl import Kubectl
    from e2e.release import Release

ROOT = Path(__file__).resolve().parent.parent
NAME = "notes"
SECONDS = 420
pytestmark = pytest.mark.usefixtures("release")


def rukpakctl(
    *arguments: str | Path, environment: Mapping[str, str], status: int = 0
) -> subprocess.CompletedProcess[str]:
    program = ROOT / ".venv/bin/rukpakctl"
    done = subprocess.run(
        [program, *arguments], env=dict(environment), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample, to be edited."""
    return Path(shutil.copytree(ROOT / "docs/samples/notes", tmp_path_factory.mktemp("run") / "notes"))


@pytest.fixture(scope="module", autouse=True)
def removed(kubectl: Kubectl) -> Iterator[None]:
    yield
    kubectl.run("delete", "bundledeployment", NAME, "--ignore-not-found", "--timeout=60s")


def uploaded(printed: str) -> str:
    found = re.search(r'^successfully uploaded bundle content for "(.+)"$', printed, re.MULTILINE)
    assert found is not None, printed
    return found[1]


def test_a_directory_is_uploaded_and_installed(
    kubectl: Kubectl, directory: Path, environment: Mapping[str, str]
) -> None:
    ran = rukpakctl("run", NAME, directory, "--exit-code", environment=environment)
    bundle = uploaded(ran.stdout)
    kubectl.wait_ready(NAME)
    listed = rukpakctl("content", bundle, environment=environment)
    assert "manifests/notes.yaml" in listed.stdout
    again = rukpakctl("run", NAME, directory, "--exit-code", environment=environment)
    assert f'bundle "{bundle}" is already up-to-date' in again.stdout


@pytest.fixture
def team(kubectl: Kubectl) -> Iterator[None]:
    """Remove the objects that the page creates."""
    yield
    kubectl.run("delete", "namespace/team", "clusterrolebinding/team-reads", "--ignore-not-found", "--wait=false")


@pytest.mark.usefixtures("team")
def test_the_page_of_content_is_true(kubectl: Kubectl, environment: Mapping[str, str], tmp_path: Path) -> None:
    """Its commands, in their order, for a Bundle of ours. Those of a pod are run here, at the end of a port-forward."""
    bundle = kubectl.get("bundledeployment", NAME)["status"]["activeBundle"]
    port = str(free_ports(["content"], "127.0.0.1")["content"])
    page = (ROOT / "docs/content.md").read_text(encoding="utf-8").replace("NAME", bundle).replace("8443", port)
    where, grant, in_a_pod, here = (block for kind, block in source_pages.BLOCK.findall(page) if kind == "sh")
    assert source_pages.run(where, tmp_path, environment) == f"https://core.rukpak-system.svc/bundles/{bundle}.tgz"
    source_pages.run(grant, tmp_path, environment)
    assert "manifests/notes.yaml" in source_pages.run(here, tmp_path, environment).splitlines()

    preparation, _, _ = here.partition("curl")
    token = tmp_path / "token"
    token.write_text(kubectl.run("--namespace=team", "create", "token", "reader"))
    for mounted, ours in {
        "/ca/ca.crt": "rukpak-ca.crt",
        "/var/run/secrets/kubernetes.io/serviceaccount/token": str(token),
        "curl ": f"curl --retry 10 --retry-connrefused --connect-to core.rukpak-system.svc:443:localhost:{port} ",
    }.items():
        assert mounted in in_a_pod
        in_a_pod = in_a_pod.replace(mounted, ours)
    assert "manifests/notes.yaml" in source_pages.run(preparation + in_a_pod, tmp_path, environment).splitlines()


def test_a_large_archive_goes_through(directory: Path, environment: Mapping[str, str], tmp_path: Path) -> None:
    """As large as what a bundle may hold: many messages of the websocket, in both directions."""
    large = tmp_path / "large"
    shutil.copytree(directory, large)
    for number in range(20):
        noise = "".join(f"  k{index}: {hash((number, index)) & 0xFFFFFFFF:08x}\n" for index in range(20_000))
        head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: noise-{number}, namespace: notes}}\ndata:\n"
        (large / f"manifests/noise-{number}.yaml").write_text(head + noise.replace(": ", ': "').replace("\n", '"\n'))
    bundle = uploaded(rukpakctl("run", NAME, large, "--no-wait", environment=environment).stdout)
    target = tmp_path / "large.tgz"

    def is_there() -> bool:
        done = subprocess.run(
            [ROOT / ".venv/bin/rukpakctl", "content", bundle, "--download", target],
            env=dict(environment),
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    eventually(is_there, what="the content can be downloaded", seconds=120)
    assert target.stat().st_size > 1_000_000


def test_an_operator_that_has_just_been_replaced_is_waited_for(
    release: Release, kubectl: Kubectl, directory: Path, environment: Mapping[str, str]
) -> None:
    kubectl.run("--namespace", chart.NAMESPACE, "delete", "pod", release.leader(), "--wait=false")
    manifest = directory / "manifests/notes.yaml"
    manifest.write_text(manifest.read_text().replace("first:", "second:"))
    uploaded(rukpakctl("run", NAME, directory, "--exit-code", environment=environment).stdout)


def test_an_operator_that_is_not_there_is_told(directory: Path, environment: Mapping[str, str]) -> None:
    ran = rukpakctl("run", NAME, directory, "--system-namespace=default", environment=environment, status=3)
    assert "get rukpak certificate authority" in ran.stderr

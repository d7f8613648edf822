# ruff: noqa: S101 - pytest asserts
"""`rukpakctl run` and `content` as a user has them: by a port-forward through the API server and the kubelet."""

from __future__ import annotations

import base64
import re
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
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


@contextmanager
def started(*command: str | Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A program that runs until it is asked to end; the first line that it prints."""
    with subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def asked(url: str, tls: ssl.SSLContext | None = None, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - of this machine
    try:
        with urllib.request.urlopen(request, timeout=60, context=tls) as answer:  # noqa: S310 - the same
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_page_of_the_viewer_has_the_plan_of_the_operator(
    kubectl: Kubectl, directory: Path, environment: Mapping[str, str]
) -> None:
    """`rukpakctl ui` asks for it by a port-forward, as it shows an upgrade that waits."""
    merge = ("patch", "bundledeployment", NAME, "--type=merge")
    kubectl.run(*merge, '--patch={"spec":{"upgrades":{"approval":"Manual"}}}')
    manifest = directory / "manifests/notes.yaml"
    manifest.write_text(manifest.read_text().replace("second:", "third:"))
    uploaded(rukpakctl("run", NAME, directory, "--no-wait", environment=environment).stdout)

    def digest() -> str:
        return str(kubectl.get("bundledeployment", NAME)["status"].get("pendingUpgrade", {}).get("digest", ""))

    eventually(digest, what="an upgrade waits", seconds=120)
    with started(ROOT / ".venv/bin/rukpakctl", "ui", environment=environment) as url:
        assert digest() in asked(f"{url}deployments/{NAME}")[1]
        status, text = asked(f"{url}deployments/{NAME}/plan")
    assert (status, digest() in text) == (200, True), text
    kubectl.run(*merge, '--patch={"spec":{"upgrades":null}}')


def test_the_page_is_behind_the_service_where_the_chart_enables_it(
    release: Release, kubectl: Kubectl, environment: Mapping[str, str]
) -> None:
    def page(**headers: str) -> tuple[int, str]:
        port = free_ports(["page"], "127.0.0.1")["page"]
        forward = ("--namespace", chart.NAMESPACE, "port-forward", "service/core", f"{port}:https")
        with started(kubectl.program, *forward, environment=environment):
            authority = kubectl.get("secret", "rukpak-ca", "--namespace", chart.NAMESPACE)["data"]["ca.crt"]
            tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
            return asked(f"https://localhost:{port}/ui/", tls, **headers)

    kubectl.run("--namespace", chart.NAMESPACE, "create", "serviceaccount", "viewer")
    token = kubectl.run("--namespace", chart.NAMESPACE, "create", "token", "viewer").strip()
    bearer = {"Authorization": f"Bearer {token}"}
    assert page(**bearer)[0] != 200
    release.upgrade("page.enabled=true")
    kubectl.run("create", "clusterrole", "viewer", "--verb=get,list", "--resource=bundledeployments.core.rukpak.io")
    subject = f"--serviceaccount={chart.NAMESPACE}:viewer"
    kubectl.run("create", "clusterrolebinding", "viewer", "--clusterrole=viewer", subject)
    try:
        assert page()[0] == 401
        status, text = page(**bearer)
        assert (status, NAME in text) == (200, True), text
    finally:
        kubectl.run("delete", "clusterrolebinding/viewer", "clusterrole/viewer")

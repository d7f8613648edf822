"""`rukpakctl run` and `content` with a real operator and its content server.

Only the port-forward is not there, which needs a kubelet: the commands are given the port of the content server.
"""

import gc
import json
import re
import tarfile
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from e2e.kubectl import Kubectl
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.cli.cluster import session
from tests.integration.scenarios.stage import condition, says
from tests.shared_operator import SharedOperator
from tests.unit.cli.content_servers import Direct
from tests.unit.cli.running import SAMPLES, CommandLine, Ran

ROOT = Path(__file__).parents[3]
RBAC = "rbac.authorization.k8s.io"
SYSTEM = f"--namespace={DEFAULT_SYSTEM_NAMESPACE}"
NUMBER = 7  # of manifests


@dataclass
class User:
    """A user at a command line, with a directory."""

    kubectl: Kubectl
    rukpakctl: CommandLine
    folder: Path
    name: str = field(default_factory=lambda: f"s{uuid.uuid4().hex[:9]}")

    @property
    def directory(self) -> Path:
        return self.folder / "bundle"

    def has_manifests(self, number: int = NUMBER, *, value: str = "1", below: str = "manifests") -> None:
        folder = self.directory / below
        folder.mkdir(parents=True, exist_ok=True)
        for index in range(number):
            metadata = {"name": f"{self.name}-{index}", "namespace": "default"}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": value}}
            (folder / f"{index}.yaml").write_text(yaml.safe_dump(manifest))

    def run(self, *options: str) -> Ran:
        return self.rukpakctl("run", self.name, self.directory, *options)

    @property
    def deployment(self) -> dict[str, Any]:
        return self._get("bundledeployment", self.name)

    def bundle(self, name: str) -> dict[str, Any]:
        return self._get("bundle", name)

    def _get(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl.run("get", kind, name, "--output=json"))
        return found


@pytest.fixture
def user(
    shared_operator: SharedOperator,
    kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Iterator[User]:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setattr(session, "PortForward", lambda *_: Direct(port=urlsplit(shared_operator.content).port or 0))
    user = User(kubectl=Kubectl.on(kubeconfig), rukpakctl=CommandLine(capsys), folder=tmp_path)
    yield user
    user.kubectl.run("delete", "bundledeployment", user.name, "--ignore-not-found", "--wait=false")
    # A command ends without the polite end of TLS that a busy server is late with, and its process with it; this one
    # goes on, and another test would find the connection.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def uploaded(ran: Ran) -> str:
    """The name of the Bundle."""
    found = re.search(r'^successfully uploaded bundle content for "(.+)"$', ran.out, re.MULTILINE)
    assert found is not None, ran
    return found[1]


def test_scenario_65_a_directory_is_run(user: User) -> None:
    user.has_manifests()
    ran = user.run()
    bundle = uploaded(ran)
    assert ran.status == 0
    assert ran.out.splitlines()[:2] == [
        f'bundledeployment.core.rukpak.io "{user.name}" applied',
        f'successfully uploaded bundle content for "{bundle}"',
    ]
    assert ran.out.splitlines()[2].startswith(f'bundledeployment.core.rukpak.io "{user.name}" is ready: ')
    assert says("Unpacked", "True", "UnpackSuccessful")(user.bundle(bundle))
    assert says("HasValidBundle", "True", "UnpackSuccessful")(user.deployment)
    assert says("Installed", "True", "InstallationSucceeded")(user.deployment)


def test_scenario_65_the_same_directory_again_changes_nothing_and_another_one_pivots(user: User) -> None:
    user.has_manifests(1)
    former = uploaded(user.run())
    before = user.deployment["metadata"]["generation"]
    user.has_manifests(1)  # with new times
    again = user.run()
    assert again.status == 0
    assert f'bundle "{former}" is already up-to-date' in again.out
    assert user.deployment["metadata"]["generation"] == before

    user.has_manifests(1, value="2")
    assert uploaded(user.run()) != former
    shown = user.kubectl.run(
        "get", "configmap", f"{user.name}-0", "--namespace=default", "--output=jsonpath={.data.key}"
    )
    assert shown == "2"


def test_scenario_66_a_directory_that_is_not_there(user: User) -> None:
    ran = user.run()
    assert ran.status != 0
    assert "no such file or directory" in ran.err
    assert not user.kubectl.run("get", "bundledeployment", user.name, "--ignore-not-found")


def test_scenario_67_a_bundle_with_a_directory_in_it_is_uploaded_and_fails(user: User) -> None:
    user.has_manifests(1)
    user.has_manifests(1, below="manifests/below")
    ran = user.run()
    bundle = uploaded(ran)
    assert ran.status == 0
    assert ran.out.splitlines()[0] == f'bundledeployment.core.rukpak.io "{user.name}" applied'
    assert "Warning: " in ran.err
    assert "subdirectories are not allowed" in ran.err
    assert user.bundle(bundle)["status"]["phase"] == "Failing"
    assert says("Unpacked", "False", "UnpackFailed")(user.bundle(bundle))
    assert says("HasValidBundle", "False", "UnpackFailed")(user.deployment)

    assert user.run("--exit-code").status == 1
    listed = user.rukpakctl("content", bundle)
    assert listed.status != 0
    assert listed.out == ""
    assert "content command failed: error: url is not available" in listed.err


def test_scenario_68_the_files_of_a_bundle_are_listed_and_downloaded(user: User) -> None:
    user.has_manifests()
    bundle = uploaded(user.run("--no-wait"))
    user.kubectl.run("wait", f"bundle/{bundle}", "--for=condition=Unpacked", "--timeout=30s")
    paths = [f"manifests/{index}.yaml" for index in range(NUMBER)]
    listed = user.rukpakctl("content", bundle)
    assert listed.status == 0
    assert [line.split()[-1] for line in listed.out.splitlines()] == ["manifests/", *paths]

    archive = user.folder / "archive.tgz"
    saved = user.rukpakctl("content", bundle, "--download", archive)
    assert saved.out == f"{archive}: {archive.stat().st_size} bytes\n"
    with tarfile.open(archive) as opened:
        assert set(paths) < set(opened.getnames())


def test_scenario_69_a_bundle_that_is_not_there(user: User) -> None:
    ran = user.rukpakctl("content", "badname")
    assert ran.status != 0
    assert ran.out == ""
    assert "content command failed" in ran.err
    assert 'bundles.core.rukpak.io "badname" not found' in ran.err
    assert "; kubectl get bundles -l core.rukpak.io/owner-name=badname lists those of a BundleDeployment" in ran.err
    target = user.folder / "archive.tgz"
    assert user.rukpakctl("content", "badname", "--download", target).status != 0
    assert list(user.folder.iterdir()) == []


def test_a_chart_is_uploaded_for_its_class_and_namespace(user: User) -> None:
    ran = user.rukpakctl("run", user.name, SAMPLES / "web-chart", "--no-wait", "--install-namespace=default")
    uploaded(ran)
    assert ran.err == "a Helm chart: using class core-rukpak-io-helm\n"
    spec = user.deployment["spec"]
    classes = [spec["provisionerClassName"], spec["template"]["spec"]["provisionerClassName"]]
    assert classes == ["core-rukpak-io-helm"] * 2
    assert spec["installNamespace"] == "default"


def test_a_class_that_is_given_is_taken(user: User) -> None:
    given = "--bundle-deployment-provisioner-class=core-rukpak-io-plain"
    ran = user.rukpakctl("run", user.name, SAMPLES / "web-chart", "--no-wait", given)
    uploaded(ran)
    assert ran.err == ""
    spec = user.deployment["spec"]
    assert spec["template"]["spec"]["provisionerClassName"] == "core-rukpak-io-plain"
    assert "installNamespace" not in spec


def test_a_deployment_with_another_source_is_refused(user: User) -> None:
    user.has_manifests(1)
    inner = {"provisionerClassName": "core-rukpak-io-plain", "source": {"type": "image", "image": {"ref": "a"}}}
    spec = {"provisionerClassName": "core-rukpak-io-plain", "template": {"spec": inner}}
    body = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "metadata": {"name": user.name}}
    user.kubectl.run("create", "--filename=-", stdin=json.dumps(body | {"spec": spec}))
    ran = user.run()
    assert ran.status == 3
    assert ran.err.startswith("Error: apply bundle deployment: ")
    assert f"BundleDeployment {user.name} exists and has a source of type image: use another name" in ran.err


@dataclass
class Account:
    """A service account with the rights that it is given, in a kubeconfig of its own."""

    user: User
    token: str = ""

    @property
    def name(self) -> str:
        return f"default:{self.user.name}"

    def create(self) -> None:
        self.user.kubectl.run("create", "serviceaccount", self.user.name, "--namespace=default")
        self.token = self.user.kubectl.run("create", "token", self.user.name, "--namespace=default")

    def may_in_the_system_namespace(self, role: dict[str, Any]) -> None:
        kubectl, name = self.user.kubectl, self.user.name
        kubectl.run(
            "create", "--filename=-", stdin=json.dumps({**role, "metadata": {**role["metadata"], "name": name}})
        )
        kubectl.run("create", "rolebinding", name, f"--role={name}", f"--serviceaccount={self.name}", SYSTEM)

    def may(self, what: str, *rules: dict[str, list[str]]) -> None:
        kubectl, name = self.user.kubectl, f"{self.user.name}-{what}"
        role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
        kubectl.run("create", "--filename=-", stdin=json.dumps(role))
        kubectl.run("create", "clusterrolebinding", name, f"--clusterrole={name}", f"--serviceaccount={self.name}")

    @property
    def kubeconfig(self) -> Path:
        shown = self.user.kubectl.run("config", "view", "--raw", "--minify", "--flatten", "--output=json")
        config = json.loads(shown)
        config["users"][0]["user"] = {"token": self.token}
        path = self.user.folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def delete(self) -> None:
        kubectl, name = self.user.kubectl, self.user.name
        kubectl.run(
            "delete", "clusterrole,clusterrolebinding", f"{name}-deploy", f"{name}-upload", "--ignore-not-found"
        )
        kubectl.run("delete", "role,rolebinding", name, SYSTEM, "--ignore-not-found")
        kubectl.run("delete", "serviceaccount", name, "--namespace=default", "--ignore-not-found")


@pytest.fixture
def account(user: User) -> Iterator[Account]:
    account = Account(user)
    account.create()
    yield account
    account.delete()


def test_user_with_the_documented_permissions_alone_can_run_and_upload(
    user: User, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They allow to write BundleDeployments and read Bundles, with the role of the page on uploads; then to upload."""
    shown = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/sources/upload.md").read_text(), re.DOTALL)
    (role,) = [one for one in map(yaml.safe_load, shown) if one.get("kind") == "Role"]
    account.may_in_the_system_namespace(role)
    ours = ["core.rukpak.io"]
    account.may(
        "deploy",
        {"apiGroups": ours, "resources": ["bundledeployments"], "verbs": ["get", "create", "patch"]},
        {"apiGroups": ours, "resources": ["bundles"], "verbs": ["get"]},
    )
    monkeypatch.setenv("KUBECONFIG", str(account.kubeconfig))
    user.has_manifests(1)

    refused = user.run()
    assert refused.status == 3
    assert f"Forbidden (user=system:serviceaccount:{account.name}, verb=update" in refused.err
    assert "Who reads needs the ClusterRole bundle-reader, who uploads bundle-uploader" in refused.err
    assert account.token not in refused.err

    account.may("upload", {"nonResourceURLs": ["/uploads/*"], "verbs": ["update"]})
    assert user.run().status == 0
    assert condition(user.deployment, "Ready")["status"] == "True"

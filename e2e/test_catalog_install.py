# ruff: noqa: S101 - pytest asserts
"""A package of a catalog, installed and upgraded along its edges: each test goes on where the one before ended.

Catalog and bundles are images in a registry on this machine; the operator of the bundle runs in pods of the node.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from e2e.cluster import address
from e2e.cluster.pki import Authority
from e2e.servers import registry
from e2e.waiting import eventually
from e2e.webhook_operator import image
from e2e.webhook_operator.bundle import APIS, CHANNEL, GadgetBundle
from e2e.webhook_operator.definition import PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from e2e.kubectl import Kubectl

READY_SECONDS = 120
pytestmark = pytest.mark.usefixtures("release")


@dataclass(frozen=True, kw_only=True)
class User:
    """A user with a catalog; the BundleDeployment has the name of the package."""

    kubectl: Kubectl
    package: str
    server: registry.RegistryServer
    folder: Path  # with the authority of the registry and a file of logins

    @property
    def catalog(self) -> str:
        return f"{self.server.address}/catalog:latest"

    @property
    def namespace(self) -> str:
        return f"{self.package}-system"

    def rukpakctl(self, *arguments: str, code: int = 0) -> str:
        environment = os.environ | {
            "KUBECONFIG": str(self.kubectl.kubeconfig),
            "SSL_CERT_FILE": str(self.folder / "authority.pem"),
            "DOCKER_CONFIG": str(self.folder),
        }
        done = subprocess.run(
            [str(registry.RUKPAKCTL), *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def install(self, *arguments: str, code: int = 0) -> str:
        return self.rukpakctl("catalog", "install", self.package, "--catalog", self.catalog, *arguments, code=code)

    def outdated(self, *arguments: str, code: int = 0) -> str:
        """The row of the package, single-spaced."""
        found = self.rukpakctl("catalog", "outdated", "--catalog", self.catalog, *arguments, code=code)
        (row,) = [line for line in found.splitlines() if line.startswith(self.package)]
        return " ".join(row.split()[2:])

    def deployment(self) -> Any:
        return self.kubectl.get("bundledeployment", self.package)

    def has(self, version: str) -> None:
        """Wait until the version is installed, and its pod runs."""
        eventually(lambda: self.version() == version, what=f"{version} is installed", seconds=READY_SECONDS)
        self.kubectl.wait_ready(self.package, seconds=READY_SECONDS)

    def version(self) -> str:
        return str(self.deployment().get("status", {}).get("content", {}).get("version", ""))

    def remove(self) -> None:
        self.kubectl.run("delete", "bundledeployment", self.package, "--ignore-not-found", "--timeout=60s")
        self.kubectl.run("delete", "namespace", self.namespace, "--ignore-not-found", "--wait=false")


@pytest.fixture(scope="module")
def user(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    folder, package = tmp_path_factory.mktemp("catalog"), f"gadgets-{uuid.uuid4().hex[:8]}"
    host, authority = address.facing(kubectl.kubeconfig), Authority.create("catalog")
    with registry.running(folder / "registry", host=host, authority=authority) as server:
        (folder / "authority.pem").write_text(server.authority, encoding="utf-8")
        (folder / "config.json").write_text("{}", encoding="utf-8")
        for version in APIS:
            bundle = GadgetBundle(version=version, package=package, group=f"{package}.example.com", image=image.name())
            written = bundle.write(folder / version)
            registry.push(
                server, written / "manifests", f"{package}:{version}", folder / f"push-{version}", package=package
            )
        files = {f"configs/{package}/catalog.yaml": catalog_of(package, server.address)}
        registry.push_catalog(server, files, "catalog")
        user = User(kubectl=kubectl, package=package, server=server, folder=folder)
        try:
            yield user
        finally:
            user.remove()


def catalog_of(package: str, address: str) -> bytes:
    """Each version replaces the one before; the images are named by tags."""
    names = [f"{package}.v{version}" for version in APIS]
    entries = [{"name": name, **({"replaces": names[at - 1]} if at else {})} for at, name in enumerate(names)]
    bundles = [
        {
            "schema": "olm.bundle",
            "package": package,
            "name": name,
            "image": f"{address}/{package}:{version}",
            "properties": [{"type": "olm.package", "value": {"packageName": package, "version": version}}],
        }
        for name, version in zip(names, APIS, strict=True)
    ]
    head = [
        {"schema": "olm.package", "name": package, "defaultChannel": CHANNEL},
        {"schema": "olm.channel", "package": package, "name": CHANNEL, "entries": entries},
    ]
    return yaml.safe_dump_all([*head, *bundles], sort_keys=False).encode()


def test_printed_manifest_is_installed_by_kubectl(kubectl: Kubectl, user: User) -> None:
    """The operator does not know the authority of the registry: the user adds it, and it stays."""
    found = json.loads(user.install("--version-range", "0.1.0", "--approval", "Manual", "--output", "json"))
    source = found["spec"]["template"]["spec"]["source"]["image"]
    assert source["ref"].startswith(f"{user.server.address}/{user.package}@sha256:")
    source["caBundle"] = user.server.authority
    kubectl.run("apply", "--filename=-", stdin=json.dumps(found))
    user.has("0.1.0")
    pods = kubectl.get("pods", f"--namespace={user.namespace}")["items"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"]


def test_next_version_is_listed(user: User) -> None:
    assert user.outdated("--exit-code", code=1) == f"{CHANNEL} 0.1.0 0.2.0 0.3.0 upgrade"


def test_upgrade_goes_one_step_when_it_is_approved(user: User) -> None:
    printed = user.install("--apply")
    assert f"set from {user.package}.v0.1.0 to {user.package}.v0.2.0" in printed
    eventually(
        lambda: user.deployment()["status"].get("pendingUpgrade"), what="the upgrade waits", seconds=READY_SECONDS
    )
    assert user.version() == "0.1.0"
    user.rukpakctl("approve", user.package)
    user.has("0.2.0")
    spec = user.deployment()["spec"]
    assert spec["template"]["spec"]["source"]["image"]["caBundle"] == user.server.authority
    assert spec["upgrades"]["approval"] == "Manual"


def test_last_version_is_up_to_date(kubectl: Kubectl, user: User) -> None:
    user.install("--apply")
    eventually(
        lambda: user.deployment()["status"].get("pendingUpgrade"), what="the upgrade waits", seconds=READY_SECONDS
    )
    user.rukpakctl("approve", user.package)
    user.has("0.3.0")
    served = kubectl.get("crd", f"{PLURAL}.{user.package}.example.com")["spec"]["versions"]
    assert [version["name"] for version in served if version["storage"]] == ["v2"]
    assert user.outdated("--exit-code") == f"{CHANNEL} 0.3.0 - 0.3.0 up to date"
    before = user.deployment()["metadata"]["generation"]
    assert "nothing newer than" in user.install("--apply")
    assert user.deployment()["metadata"]["generation"] == before

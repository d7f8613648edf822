"""A real API server calls the operator of the e2e bundles, through upgrades of its definition and back."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import rukpak_py
from e2e.cluster.pki import Authority
from e2e.kubectl import Kubectl, KubectlError
from e2e.waiting import eventually
from e2e.webhook_operator.bundle import GadgetBundle
from e2e.webhook_operator.gadgets import Gadgets
from tests.integration.webhook_operator.client_configs import client_configs, trust
from tests.integration.webhook_operator.program import HOST, Program

CALLED = {"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}


@dataclass(frozen=True, kw_only=True)
class Installer:
    """Installs the objects that the API server has to know; the program stands in for the Service."""

    kubectl: Kubectl
    program: Program
    authority: Authority
    folder: Path
    group: str

    def install(self, version: str) -> None:
        bundle = GadgetBundle(version=version, package="gadgets", group=self.group, image="none")
        objects = [made for made in rukpak_py.render(bundle.write(self.folder / version)) if made["kind"] in CALLED]
        for made in objects:
            for config in client_configs(made):
                path = config.pop("service")["path"]
                config["url"] = f"https://{HOST}:{self.program.port}{path}"
                trust(config, self.authority)
        self.kubectl.run("apply", "--server-side", "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)))

    def remove(self) -> None:
        for kind, verb in (("mutatingwebhookconfiguration", "mutate"), ("validatingwebhookconfiguration", "validate")):
            self.kubectl.run("delete", kind, f"{verb}.gadgets.{self.group}", "--ignore-not-found")
        self.kubectl.run("delete", "crd", f"gadgets.{self.group}", "--ignore-not-found", "--timeout=60s")


@pytest.fixture
def installer(kubeconfig: Path, program: Program, authority: Authority, tmp_path: Path) -> Iterator[Installer]:
    installer = Installer(
        kubectl=Kubectl.on(kubeconfig),
        program=program,
        authority=authority,
        folder=tmp_path,
        group=f"t{uuid.uuid4().hex[:10]}.example.com",
    )
    try:
        yield installer
    finally:
        installer.remove()


@pytest.fixture
def gadgets(installer: Installer) -> Gadgets:
    gadgets = Gadgets(kubectl=installer.kubectl, group=installer.group)
    installer.install("0.1.0")
    gadgets.until_served("v1")
    return gadgets


def test_writes_are_defaulted_and_validated(gadgets: Gadgets) -> None:
    gadgets.until_denied("v1", "spec.size must not be negative, got -1", size=-1)
    eventually(
        lambda: gadgets.apply("v1", "plain", size=1) == {"size": 1, "color": "blue"}, what="the color is defaulted"
    )
    assert gadgets.apply("v1", "red", color="red") == {"color": "red"}


def test_a_second_version_comes_and_goes(installer: Installer, gadgets: Gadgets) -> None:
    gadgets.apply("v1", "old", size=3, color="red")
    installer.install("0.2.0")
    gadgets.until_served("v2")
    assert gadgets.spec("v2", "old") == {"dimensions": {"width": 3}, "color": "red"}
    gadgets.apply("v2", "new", dimensions={"width": 4}, color="red")
    gadgets.until_denied("v2", "spec.dimensions.width must not be negative, got -1", dimensions={"width": -1})
    installer.install("0.1.0")
    eventually(lambda: not gadgets.is_served("v2"), what="v2 is gone")
    assert gadgets.sizes("v1", ["old", "new"]) == [3, 4]


def test_version_with_stored_objects_cannot_be_removed(installer: Installer, gadgets: Gadgets) -> None:
    gadgets.apply("v1", "old", size=3, color="red")
    installer.install("0.3.0")
    gadgets.until_served("v2")
    eventually(lambda: gadgets.stored_versions() == ["v1", "v2"], what="v2 is stored")
    gadgets.apply("v2", "new", dimensions={"width": 4}, color="red")
    installer.install("0.2.0")
    assert gadgets.sizes("v1", ["old", "new"]) == [3, 4]
    with pytest.raises(KubectlError, match=r"status\.storedVersions\[1\].*v2"):
        installer.install("0.1.0")

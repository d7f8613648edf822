# ruff: noqa: S101 - pytest asserts
"""A registry+v1 bundle with webhooks, upgraded and taken back: each test goes on where the one before ended."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from e2e.cluster import address
from e2e.cluster.pki import Authority
from e2e.kubectl import KubectlError
from e2e.servers import registry
from e2e.waiting import eventually
from e2e.webhook_operator import image
from e2e.webhook_operator.bundle import APIS, GadgetBundle
from e2e.webhook_operator.certificates import Certificates
from e2e.webhook_operator.definition import PLURAL
from e2e.webhook_operator.gadgets import Gadgets
from e2e.webhook_operator.traffic import WRITES_PER_SECOND, Traffic, writing
from rukpak_py.certificates.steps import CertificateSettings, Issued, Seen, issue
from rukpak_py.certificates.wanted import WantedCertificate, secret_key
from rukpak_py.core.objects import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from e2e.kubectl import Kubectl

CLASS = "core-rukpak-io-registry"
READY_SECONDS = 120
ROTATES = os.environ.get("RUKPAK_ROTATION") == "1"
MINUTES = 3  # until the API servers rely on the new CA, which takes one
pytestmark = pytest.mark.usefixtures("release")


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A BundleDeployment, whose name is that of the package and the first label of the group as well."""

    kubectl: Kubectl
    name: str
    server: registry.RegistryServer

    @property
    def namespace(self) -> str:
        return f"{self.name}-system"

    @property
    def group(self) -> str:
        return f"{self.name}.example.com"

    def bundle(self, version: str) -> GadgetBundle:
        return GadgetBundle(version=version, package=self.name, group=self.group, image=image.name())

    def apply(self, version: str) -> None:
        ref = f"{self.server.address}/{self.name}:{version}"
        template = {
            "provisionerClassName": CLASS,
            "source": {"type": "image", "image": {"ref": ref, "caBundle": self.server.authority}},
        }
        deployment = {
            "apiVersion": "core.rukpak.io/v1alpha1",
            "kind": "BundleDeployment",
            "metadata": {"name": self.name},
            "spec": {"provisionerClassName": CLASS, "template": {"spec": template}},
        }
        self.kubectl.run("apply", "--server-side", "--filename=-", stdin=json.dumps(deployment))

    def install(self, version: str) -> None:
        before = self.active_bundle()
        self.apply(version)
        eventually(lambda: self.active_bundle() not in {"", before}, what=f"{version} is active", seconds=READY_SECONDS)
        self.kubectl.wait_ready(self.name, seconds=READY_SECONDS)

    def remove(self) -> None:
        """Gadgets that a failed test left hold the definition, and with it the deployment."""
        with contextlib.suppress(KubectlError):  # no such kind
            self.kubectl.run("delete", f"{PLURAL}.{self.group}", "--all", "--all-namespaces", "--timeout=60s")
        self.kubectl.run("delete", "bundledeployment", self.name, "--ignore-not-found", "--timeout=60s")
        self.kubectl.run("delete", "namespace", self.namespace, "--ignore-not-found", "--wait=false")

    def active_bundle(self) -> str:
        """Empty when there is none."""
        found = self.kubectl.run("get", "bundledeployment", self.name, "--ignore-not-found", "--output=json")
        return str(json.loads(found).get("status", {}).get("activeBundle", "")) if found else ""

    def condition_with(self, text: str) -> dict[str, Any] | None:
        conditions = self.kubectl.get("bundledeployment", self.name)["status"]["conditions"]
        return next((condition for condition in conditions if text in condition.get("message", "")), None)


@pytest.fixture(scope="module")
def installation(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The images of all versions are in a registry on this machine; the namespace admits only `restricted` pods."""
    folder, name = tmp_path_factory.mktemp("olm"), f"gadgets-{uuid.uuid4().hex[:8]}"
    host, authority = address.facing(kubectl.kubeconfig), Authority.create("bundles")
    with registry.running(folder / "registry", host=host, authority=authority) as server:
        installation = Installation(kubectl=kubectl, name=name, server=server)
        for version in APIS:
            written = installation.bundle(version).write(folder / version)
            registry.push(server, written / "manifests", f"{name}:{version}", folder / f"push-{version}", package=name)
        kubectl.run("create", "namespace", installation.namespace)
        kubectl.run("label", "namespace", installation.namespace, "pod-security.kubernetes.io/enforce=restricted")
        try:
            yield installation
        finally:
            installation.remove()


@pytest.fixture
def certificates(kubectl: Kubectl, installation: Installation) -> Certificates:
    return Certificates(kubectl=kubectl, bundle=installation.bundle("0.1.0"), namespace=installation.namespace)


@pytest.fixture
def gadgets(kubectl: Kubectl, installation: Installation) -> Gadgets:
    return Gadgets(kubectl=kubectl, group=installation.group)


def test_the_operator_of_the_bundle_runs(kubectl: Kubectl, installation: Installation) -> None:
    installation.install("0.1.0")
    deployment = kubectl.get(
        "deployment", installation.bundle("0.1.0").deployment_name, f"--namespace={installation.namespace}"
    )
    assert deployment["status"]["availableReplicas"] == 1


def test_writes_are_validated_and_defaulted(gadgets: Gadgets) -> None:
    gadgets.until_denied("v1", "spec.size must not be negative, got -1", size=-1)
    assert gadgets.apply("v1", "old", size=3) == {"size": 3, "color": "blue"}


def test_a_deleted_secret_comes_back_and_no_write_is_refused(
    kubectl: Kubectl, installation: Installation, certificates: Certificates
) -> None:
    """The pod serves the former certificate until it has loaded the new one; both are trusted."""
    before = certificates.stored()
    with writing(kubectl.kubeconfig, installation.group) as traffic:
        certificates.delete()
        eventually(lambda: certificates.stored().get("tls.crt") not in {None, before["tls.crt"]}, what="it is back")
        assert before["ca.crt"].strip() in certificates.stored()["ca.crt"]
        until_served(certificates)
        until_more(traffic)


@pytest.mark.skipif(not ROTATES, reason="by hand, because it takes minutes: RUKPAK_ROTATION=1")
def test_a_certificate_that_grew_old_is_rotated_and_no_write_is_refused(
    kubectl: Kubectl, installation: Installation, certificates: Certificates
) -> None:
    aged = aged_pair(certificates, installation.namespace)
    certificates.replace(ca_crt=aged.trust + certificates.stored()["ca.crt"])
    eventually(lambda: all(aged.trust in one for one in certificates.injected()), what="the aged CA is trusted")
    certificates.replace(tls_crt=aged.pair.certificate, tls_key=aged.pair.key)
    with writing(kubectl.kubeconfig, installation.group) as traffic:
        eventually(lambda: "next.crt" in certificates.stored(), what="the next pair is there")
        eventually(lambda: "next.crt" not in certificates.stored(), what="it is served", seconds=MINUTES * 60)
        assert certificates.stored()["tls.crt"] != aged.pair.certificate
        until_served(certificates)
        until_more(traffic)
        print(f"{traffic.sent} writes, {len(traffic.refused)} refused")


def aged_pair(certificates: Certificates, namespace: str) -> Issued:
    """A pair that is valid and should have been replaced a while ago."""
    service = f"{certificates.bundle.deployment_name}-service.{namespace}"
    want = WantedCertificate(
        secret=secret_key(namespace, "any"),
        hosts=(service, f"{service}.svc", f"{service}.svc.cluster.local"),
        service=ObjectKey("", "Service", namespace, "any"),
    )
    settings = CertificateSettings()
    return issue(want, Seen(), datetime.now(UTC) - settings.life * 0.9, settings)


def until_served(certificates: Certificates) -> None:
    eventually(
        lambda: certificates.served().split() == certificates.stored()["tls.crt"].split(),
        what="the pod serves the certificate of the Secret",
        seconds=READY_SECONDS,
    )


def until_more(traffic: Traffic) -> None:
    """Two seconds later."""
    enough = traffic.sent + 2 * WRITES_PER_SECOND
    eventually(lambda: traffic.sent >= enough, what="writes go on")


def test_an_upgrade_converts_what_is_stored(installation: Installation, gadgets: Gadgets) -> None:
    installation.install("0.2.0")
    gadgets.until_served("v2")
    assert gadgets.spec("v2", "old") == {"dimensions": {"width": 3}, "color": "blue"}
    gadgets.apply("v2", "new", dimensions={"width": 4})
    gadgets.until_denied("v2", "spec.dimensions.width must not be negative, got -1", dimensions={"width": -1})
    assert gadgets.stored_versions() == ["v1"]


def test_a_version_that_was_only_served_is_taken_back(installation: Installation, gadgets: Gadgets) -> None:
    installation.install("0.1.0")
    eventually(lambda: not gadgets.is_served("v2"), what="v2 is gone")
    assert gadgets.sizes("v1", ["old", "new"]) == [3, 4]


def test_another_version_is_stored(installation: Installation, gadgets: Gadgets) -> None:
    installation.install("0.3.0")
    gadgets.until_served("v2")
    gadgets.apply("v2", "newest", dimensions={"width": 5})
    assert gadgets.sizes("v1", ["old", "new", "newest"]) == [3, 4, 5]
    assert gadgets.stored_versions() == ["v1", "v2"]


def test_the_stored_version_is_changed_back(installation: Installation, gadgets: Gadgets) -> None:
    installation.install("0.2.0")
    assert gadgets.sizes("v1", ["old", "new", "newest"]) == [3, 4, 5]
    assert gadgets.sizes("v2", ["old", "new", "newest"]) == [3, 4, 5]


def test_a_version_that_objects_are_stored_in_is_not_taken_away(installation: Installation, gadgets: Gadgets) -> None:
    """The upgrade is refused as a whole, and what runs goes on."""
    before = installation.active_bundle()
    installation.apply("0.1.0")
    eventually(
        lambda: installation.condition_with("cannot remove stored versions"),
        what="the refusal is told",
        seconds=READY_SECONDS,
    )
    assert installation.active_bundle() == before
    assert gadgets.sizes("v2", ["old", "new", "newest"]) == [3, 4, 5]
    gadgets.until_denied("v2", "spec.dimensions.width must not be negative, got -1", dimensions={"width": -1})
    installation.apply("0.2.0")
    installation.kubectl.wait_ready(installation.name, seconds=READY_SECONDS)


def test_uninstalling_waits_for_the_gadget_of_a_user_and_names_it(
    kubectl: Kubectl, installation: Installation, gadgets: Gadgets
) -> None:
    """Until it is allowed to delete it. Its webhooks work until it has gone: its owner can still write it."""
    gadgets.set_finalizers("v2", "old", ["example.com/backed-up"])
    kubectl.run("delete", "bundledeployment", installation.name, "--wait=false")
    told = "it would delete what others have"
    eventually(lambda: installation.condition_with(told), what="the deployment says what it would delete", seconds=60)
    assert installation.condition_with("3 Gadget objects (default/new, default/newest, default/old)")
    assert gadgets.sizes("v2", ["old", "new", "newest"]) == [3, 4, 5]
    kubectl.run("annotate", "bundledeployment", installation.name, "core.rukpak.io/allow-data-loss=true")
    told = "1 Gadget object (default/old (finalizer example.com/backed-up)) left"
    eventually(lambda: installation.condition_with(told), what="the deployment names what it waits for", seconds=60)
    gadgets.set_finalizers("v1", "old", [])


def test_everything_goes_with_the_deployment(kubectl: Kubectl, installation: Installation) -> None:
    suffix, inside = f"{PLURAL}.{installation.group}", f"--namespace={installation.namespace}"
    kubectl.run("delete", "bundledeployment", installation.name, "--ignore-not-found", "--timeout=60s")
    gone = (
        f"crd/{suffix}",
        f"validatingwebhookconfiguration/validate.{suffix}",
        f"mutatingwebhookconfiguration/mutate.{suffix}",
    )
    kubectl.run("wait", "--for=delete", *gone, "--timeout=60s")
    kubectl.run("wait", "--for=delete", "deployments,services", "--all", inside, "--timeout=60s")

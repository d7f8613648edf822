# ruff: noqa: S101 - pytest asserts
"""The life of an installation, in the order in which a user lives it: each test goes on where the one before ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from e2e import chart, source_pages
from e2e.cluster import address
from e2e.conftest import SAMPLES
from e2e.kubectl import Kubectl, KubectlError
from e2e.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from e2e.release import Release

pytestmark = pytest.mark.usefixtures("release")

IMMUTABLE = 'admission webhook "vbundles.core.rukpak.io" denied the request: bundle.spec is immutable'
CHANGE_OF_SPEC = '{"spec":{"source":{"configMaps":[{"path":"manifests","configMap":{"name":"another"}}]}}}'


def apply_sample(kubectl: Kubectl, name: str) -> None:
    kubectl.run("apply", "--server-side", "-f", str(SAMPLES / f"{name}.yaml"))


def active_bundle(kubectl: Kubectl, deployment: str) -> str:
    return str(kubectl.get("bundledeployment", deployment)["status"]["activeBundle"])


def greeting(kubectl: Kubectl) -> str | None:
    try:
        return str(kubectl.get("configmap", "hello")["data"]["greeting"])
    except KubectlError:
        return None


def answer_to_a_change_of_spec(kubectl: Kubectl) -> str:
    with pytest.raises(KubectlError) as refused:
        kubectl.run("patch", "bundle", active_bundle(kubectl, "hello"), "--type=merge", "--patch", CHANGE_OF_SPEC)
    return str(refused.value)


def assert_spec_cannot_change(kubectl: Kubectl) -> None:
    assert IMMUTABLE in answer_to_a_change_of_spec(kubectl)


def test_two_restricted_replicas_run(release: Release) -> None:
    pods = release.pods()
    assert len(pods) == 2
    assert all(all(status["ready"] for status in pod["status"]["containerStatuses"]) for pod in pods)
    assert all(release.ca_bundles())


def test_a_sample_without_pods_gets_ready(kubectl: Kubectl) -> None:
    apply_sample(kubectl, "hello")
    kubectl.wait_ready("hello")
    assert greeting(kubectl) == "Hello from a bundle"


def test_a_sample_with_a_pod_gets_ready_when_it_runs(kubectl: Kubectl) -> None:
    apply_sample(kubectl, "sleeper")
    kubectl.wait_ready("sleeper", seconds=120)
    (pod,) = kubectl.get("pods", "--selector=app=sleeper")["items"]
    assert pod["status"]["phase"] == "Running"


@pytest.fixture(scope="module")
def servers(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[source_pages.Servers]:
    """On this machine, where the operator's pods reach them."""
    host = address.facing(kubectl.kubeconfig)
    with source_pages.serving(tmp_path_factory.mktemp("sources"), host=host) as servers:
        yield servers


@pytest.fixture(scope="module")
def _team(kubectl: Kubectl) -> Iterator[None]:
    """Whom the pages grant rights to."""
    kubectl.run("create", "namespace", "team")
    kubectl.run("--namespace=team", "create", "serviceaccount", "uploader")
    yield
    kubectl.run("delete", "namespace/team", "clusterrolebinding/team-uploads", "--ignore-not-found", "--timeout=60s")


@pytest.mark.usefixtures("_team")
@pytest.mark.parametrize("page", source_pages.PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_of_a_source_is_unpacked(
    page: Path, kubectl: Kubectl, servers: source_pages.Servers, environment: Mapping[str, str]
) -> None:
    assert source_pages.follow(page.read_text(encoding="utf-8"), kubectl, servers, environment)


def test_the_spec_of_a_bundle_cannot_change(kubectl: Kubectl) -> None:
    assert_spec_cannot_change(kubectl)


def test_a_config_map_in_use_cannot_be_deleted(kubectl: Kubectl) -> None:
    with pytest.raises(KubectlError) as refused:
        kubectl.run("--namespace", chart.NAMESPACE, "delete", "configmap", "hello-v1")
    assert f'configmap "hello-v1" is in-use by bundle "{active_bundle(kubectl, "hello")}"' in str(refused.value)


def test_an_upgrade_prunes_what_is_gone(kubectl: Kubectl) -> None:
    before = active_bundle(kubectl, "hello")
    apply_sample(kubectl, "hello-v2")
    eventually(lambda: greeting(kubectl) == "Hello again", what="the new greeting")
    eventually(lambda: active_bundle(kubectl, "hello") != before, what="the new bundle active")
    kubectl.run("wait", "--for=delete", "configmap/hello-extra", "--timeout=60s")
    kubectl.wait_ready("hello")


def test_a_deleted_leader_is_replaced_and_drift_corrected(release: Release, kubectl: Kubectl) -> None:
    leader = eventually(lambda: release.leader() or None, what="a leader")
    kubectl.run("--namespace", chart.NAMESPACE, "delete", "pod", leader, "--wait=false")
    kubectl.run("delete", "configmap", "hello")
    eventually(lambda: greeting(kubectl) == "Hello again", what="the deleted ConfigMap back", seconds=90)
    eventually(lambda: release.leader() not in {"", leader}, what="another leader")


def test_an_upgrade_of_the_chart_keeps_the_webhook_working(release: Release, kubectl: Kubectl) -> None:
    before = release.ca_bundles()
    release.upgrade("replicaCount=2", "log.level=debug")
    assert release.ca_bundles() == before
    assert_spec_cannot_change(kubectl)


def test_an_upgrade_by_force_wipes_the_ca_bundle_and_it_comes_back(release: Release, kubectl: Kubectl) -> None:
    release.upgrade("replicaCount=2", "log.level=debug", force=True)
    eventually(lambda: all(release.ca_bundles()), what="the caBundle back", seconds=30)
    eventually(lambda: IMMUTABLE in answer_to_a_change_of_spec(kubectl), what="the webhook reached", seconds=30)


def test_the_static_manifest_is_valid_and_current(release: Release, kubectl: Kubectl) -> None:
    manifest = chart.install_manifest(release.helm)
    assert (SAMPLES.parent / "install.yaml").read_text(encoding="utf-8") == manifest
    apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"]
    kubectl.run(*apply, stdin=manifest)


def test_the_log_has_no_traceback(release: Release) -> None:
    assert "Traceback" not in release.logs()


def test_uninstall_leaves_what_the_documents_name(release: Release, kubectl: Kubectl) -> None:
    kubectl.run("delete", "bundledeployments", "--all", "--timeout=60s")
    kubectl.run("wait", "--for=delete", "configmap/hello", "deployment/sleeper", "--timeout=60s")
    eventually(lambda: not kubectl.get("bundles")["items"], what="Bundles collected")
    release.uninstall()
    assert left_with_our_labels(kubectl) == {
        "CustomResourceDefinition/bundledeployments.core.rukpak.io",
        "CustomResourceDefinition/bundleinstances.core.rukpak.io",
        "CustomResourceDefinition/bundles.core.rukpak.io",
        "Secret/rukpak-ca",
        "Secret/rukpak-ca-signer",
        "Secret/rukpak-serving",
    }
    assert names(kubectl.get("leases", "--namespace", chart.NAMESPACE)) == {"Lease/core.rukpak.io"}
    eventually(lambda: not release.pods(), what="pods gone")


def test_what_it_left_is_taken_up_again(release: Release, kubectl: Kubectl) -> None:
    """Ready means that the API server trusts the webhook, with the certificates of the former installation too."""
    release.install()
    apply_sample(kubectl, "hello")
    kubectl.wait_ready("hello")
    assert_spec_cannot_change(kubectl)


def left_with_our_labels(kubectl: Kubectl) -> set[str]:
    """Of every kind that there is."""
    kinds = kubectl.run("api-resources", "--verbs=list,delete", "--output=name").split()
    found = kubectl.get(",".join(kinds), "--all-namespaces", "--selector=app.kubernetes.io/part-of=rukpak")
    events = {"Event"}  # they expire by themselves
    return {name for name in names(found) if name.partition("/")[0] not in events}


def names(found: dict[str, Any]) -> set[str]:
    return {f"{item['kind']}/{item['metadata']['name']}" for item in found["items"]}

# ruff: noqa: S101 - pytest asserts
"""The life of an installation, in the order in which a user lives it: each test goes on where the one before ended."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from e2e import bundle_images, source_pages
from e2e.cluster import address
from e2e.kubectl import Kubectl, KubectlError
from e2e.sample_sources import SAMPLES
from e2e.waiting import eventually
from tools import chart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from e2e.release import Release

pytestmark = [pytest.mark.usefixtures("release"), pytest.mark.every_cluster]

IMMUTABLE = 'admission webhook "vbundles.core.rukpak.io" denied the request: bundle.spec is immutable'
CHANGE_OF_SPEC = '{"spec":{"source":{"configMaps":[{"path":"manifests","configMap":{"name":"another"}}]}}}'


IMAGES = {
    "kept-pod": "valid",
    "no-such-image": "absent",
    **{tag: tag for tag in ("empty", "no-manifests", "subdir")},
}
BY_PODS = ("unpack.images=pod", "unpack.pods=keep")


def apply_bundle(kubectl: Kubectl, name: str, ref: str) -> None:
    source = {"type": "image", "image": {"ref": ref}}
    bundle = {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "Bundle",
        "metadata": {"name": name},
        "spec": {"provisionerClassName": "core-rukpak-io-plain", "source": source},
    }
    kubectl.run("apply", "--server-side", "--filename=-", stdin=json.dumps(bundle))


def until_unpacked(kubectl: Kubectl, name: str, *expected: str, seconds: float = 60) -> dict[str, Any]:
    """Until the condition has this status and reason, and this in its message."""

    def found() -> dict[str, Any] | None:
        bundle = kubectl.get("bundle", name)
        conditions = {one["type"]: one for one in (bundle.get("status") or {}).get("conditions") or ()}
        seen = conditions.get("Unpacked", {})
        status, reason, message = expected
        is_so = (seen.get("status"), seen.get("reason")) == (status, reason) and message in seen["message"]
        return bundle if is_so else None

    return eventually(found, what=f"{name} is {' '.join(expected)}", seconds=seconds) or {}


def unpack_pods(kubectl: Kubectl, name: str = "") -> list[dict[str, Any]]:
    owner = f",core.rukpak.io/owner-name={name}" if name else ""
    selector = f"--selector=core.rukpak.io/owner-kind=Bundle{owner}"
    pods: list[dict[str, Any]] = kubectl.get("pods", "--namespace", chart.NAMESPACE, selector)["items"]
    return pods


def ended(pods: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The pods, when they are just one that ended by itself."""
    return pods if [pod["status"].get("phase") for pod in pods] == ["Succeeded"] else None


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


def test_check_finds_nothing_wrong(release: Release, environment: Mapping[str, str]) -> None:
    eventually(release.leader, what="a replica leads", seconds=30)
    done = subprocess.run(
        ["rukpakctl", "check", "--strict"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
    """Remove the objects that the pages create."""
    yield
    made = ("namespace/team", "clusterrolebinding/team-uploads", "clusterrole/shop-uploader")
    kubectl.run("delete", *made, "--ignore-not-found", "--timeout=60s")


@pytest.mark.usefixtures("_team")
@pytest.mark.parametrize("page", source_pages.PAGES, ids=lambda page: page.stem)
def test_sources_of_a_page_are_unpacked(
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


def test_an_image_that_only_the_node_has_is_unpacked_by_a_pod(kubectl: Kubectl) -> None:
    """`auto`: no registry answers, so a pod takes over; it goes when the content is stored. An Event says why."""
    name = "by-pod"
    apply_bundle(kubectl, name, bundle_images.name("valid"))
    found = until_unpacked(kubectl, name, "True", "UnpackSuccessful", "Successfully unpacked the image Bundle")
    eventually(lambda: not unpack_pods(kubectl, name), what="the pod removed")
    events = kubectl.get(
        "events", "--namespace=default", f"--field-selector=involvedObject.uid={found['metadata']['uid']}"
    )["items"]
    (event,) = [event for event in events if event["reason"] == "UnpackPod"]
    assert event["message"].startswith(f"Unpacking {bundle_images.name('valid')} by a pod, because ")
    assert "127.0.0.1 is a loopback address" in event["message"]  # for the operator; the node has its own
    kubectl.run("delete", "bundle", name)


def test_tools_made_for_the_original_find_what_they_look_for(release: Release, kubectl: Kubectl) -> None:
    """Pod label, container, directory, Service, port and Secret have the names of the original."""
    bundle, system = active_bundle(kubectl, "hello"), ("--namespace", chart.NAMESPACE)
    pods = kubectl.get("pods", *system, "--selector=app=core")["items"]
    assert release.leader() in {pod["metadata"]["name"] for pod in pods}
    listed = ("exec", release.leader(), "--container=manager", "--", "ls", f"/var/cache/bundles/{bundle}.tgz")
    assert kubectl.run(*system, *listed).strip() == f"/var/cache/bundles/{bundle}.tgz"
    ports = kubectl.get("service", "core", *system)["spec"]["ports"]
    assert "https" in {port["name"] for port in ports}
    assert "ca.crt" in kubectl.get("secret", "rukpak-ca", *system)["data"]


def test_the_image_renders_charts(release: Release, kubectl: Kubectl) -> None:
    """Helm is there, and runs where nothing can be written and no namespace can be made."""
    program = (
        "from rukpak_py.content.tree import Tree;"
        "from rukpak_py.formats.helm.format import HelmFormat;"
        "from rukpak_py.formats.format import RenderOptions;"
        "metadata = b'{apiVersion: v2, name: web, version: 1.0.0}';"
        "template = b'{apiVersion: v1, kind: Service, metadata: {name: {{ .Chart.Name }}}}';"
        "tree = Tree({'Chart.yaml': metadata, 'templates/a.yaml': template});"
        "print(*(made.head.key for made in HelmFormat().render(tree, RenderOptions()).objects))"
    )
    pod = release.pods()[0]["metadata"]["name"]
    printed = kubectl.run("--namespace", chart.NAMESPACE, "exec", pod, "--", "/opt/rukpak/bin/python3", "-c", program)
    assert printed.strip() == "Service web"


def test_a_missing_file_is_told_by_exit_code_1(release: Release, kubectl: Kubectl) -> None:
    """As the original's image does; with other tools the code is 2."""
    pod = release.pods()[0]["metadata"]["name"]
    with pytest.raises(KubectlError, match="command terminated with exit code 1"):
        kubectl.run("--namespace", chart.NAMESPACE, "exec", pod, "--", "ls", "/var/cache/bundles/no.tgz")


def test_a_deleted_leader_is_replaced_and_drift_corrected(release: Release, kubectl: Kubectl) -> None:
    leader = eventually(lambda: release.leader() or None, what="a leader")
    kubectl.run("--namespace", chart.NAMESPACE, "delete", "pod", leader, "--wait=false")
    kubectl.run("delete", "configmap", "hello")
    eventually(lambda: greeting(kubectl) == "Hello again", what="the deleted ConfigMap back", seconds=90)
    eventually(lambda: release.leader() not in {"", leader}, what="another leader")


def test_an_upgrade_of_the_chart_keeps_the_webhook_working(release: Release, kubectl: Kubectl) -> None:
    before = release.ca_bundles()
    release.upgrade("replicaCount=2", "log.level=debug", *BY_PODS)
    assert release.ca_bundles() == before
    assert_spec_cannot_change(kubectl)


def test_images_for_pods(kubectl: Kubectl) -> None:
    """All at once: the node works on them while the next tests wait."""
    for name, tag in IMAGES.items():
        apply_bundle(kubectl, name, bundle_images.name(tag))


def test_scenarios_14_and_15_an_image_is_unpacked_and_its_pod_comes_back(kubectl: Kubectl) -> None:
    name = "kept-pod"
    found = until_unpacked(kubectl, name, "True", "UnpackSuccessful", "Successfully unpacked the image Bundle")
    assert (found["status"]["phase"], found["status"]["resolvedSource"]["type"]) == ("Unpacked", "image")
    assert found["status"]["resolvedSource"]["image"]["ref"]
    (pod,) = eventually(lambda: ended(unpack_pods(kubectl, name)), what="the pod ended")
    assert pod["metadata"]["name"] == name
    kubectl.run("--namespace", chart.NAMESPACE, "delete", "pod", name)
    (again,) = eventually(lambda: ended(unpack_pods(kubectl, name)), what="another pod ended")
    assert again["metadata"]["uid"] != pod["metadata"]["uid"]
    assert kubectl.get("bundle", name)["status"] == found["status"]


def test_scenario_19_an_image_that_does_not_exist(kubectl: Kubectl) -> None:
    """The kubelet shows this text and that of the last pull in turns, each for 14 s. It is its turn about now."""
    name, ref = "no-such-image", bundle_images.name("absent")
    found = until_unpacked(kubectl, name, "False", "UnpackPending", f'Back-off pulling image "{ref}"', seconds=60)
    assert found["status"]["phase"] == "Pending"
    (pod,) = unpack_pods(kubectl, name)
    assert pod["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("empty", "readdir manifests: file does not exist"),
        ("no-manifests", "found zero objects: plain+v0 bundles are required to contain at least one object"),
        (
            "subdir",
            'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: found ',
        ),
    ],
    ids=["scenario 20", "scenario 21", "scenario 33"],
)
def test_images_of_invalid_bundles(kubectl: Kubectl, tag: str, message: str) -> None:
    until_unpacked(kubectl, tag, "False", "UnpackFailed", message)
    eventually(lambda: ended(unpack_pods(kubectl, tag)), what="its pod ended, and is not made again")


def test_an_upgrade_by_force_wipes_the_ca_bundle_and_it_comes_back(release: Release, kubectl: Kubectl) -> None:
    release.upgrade("replicaCount=2", "log.level=debug", *BY_PODS, force=True)
    eventually(lambda: all(release.ca_bundles()), what="the caBundle back", seconds=30)
    eventually(lambda: IMMUTABLE in answer_to_a_change_of_spec(kubectl), what="the webhook reached", seconds=30)


def test_the_static_manifest_is_valid_and_current(release: Release, kubectl: Kubectl) -> None:
    manifest = chart.install_manifest(release.helm)
    assert (SAMPLES.parent / "install.yaml").read_text(encoding="utf-8") == manifest
    apply = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"]
    kubectl.run(*apply, stdin=manifest)


def test_scenario_48_pods_go_with_their_bundles(kubectl: Kubectl) -> None:
    kubectl.run("delete", "bundles", *IMAGES)
    eventually(lambda: not unpack_pods(kubectl), what="all pods collected", seconds=90)


def test_the_log_has_no_traceback(release: Release) -> None:
    assert "Traceback" not in release.logs()


def test_uninstall_leaves_what_the_documents_name(release: Release, kubectl: Kubectl) -> None:
    kubectl.run("delete", "bundledeployments", "--all", "--timeout=60s")
    kubectl.run("wait", "--for=delete", "configmap/hello", "deployment/sleeper", "--timeout=60s")
    eventually(lambda: not kubectl.get("bundles")["items"], what="Bundles collected")
    release.uninstall()
    where_charts_needed_it = {"Secret/rukpak-digest-key"}
    assert left_with_our_labels(kubectl) - where_charts_needed_it == {
        "CustomResourceDefinition/bundledeployments.core.rukpak.io",
        "CustomResourceDefinition/bundleinstances.core.rukpak.io",
        "CustomResourceDefinition/bundles.core.rukpak.io",
        "Secret/rukpak-ca",
        "Secret/rukpak-ca-signer",
        "Secret/rukpak-serving",
    }
    assert names(kubectl.get("leases", "--namespace", chart.NAMESPACE)) == {"Lease/core.rukpak.io"}
    eventually(lambda: not release.pods(), what="pods gone")


def test_installation_left_by_an_uninstall_is_taken_up_again(release: Release, kubectl: Kubectl) -> None:
    """Ready means that the API server trusts the webhook, with the certificates of the former installation too."""
    release.install("replicaCount=2")
    apply_sample(kubectl, "hello")
    kubectl.wait_ready("hello")
    assert_spec_cannot_change(kubectl)


def left_with_our_labels(kubectl: Kubectl) -> set[str]:
    """Objects of every kind that still have our labels."""
    kinds = kubectl.run("api-resources", "--verbs=list,delete", "--output=name").split()
    found = kubectl.get(",".join(kinds), "--all-namespaces", "--selector=app.kubernetes.io/part-of=rukpak")
    events = {"Event"}  # they expire by themselves
    return {name for name in names(found) if name.partition("/")[0] not in events}


def names(found: dict[str, Any]) -> set[str]:
    return {f"{item['kind']}/{item['metadata']['name']}" for item in found["items"]}

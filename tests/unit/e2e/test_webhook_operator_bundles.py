"""The bundles that e2e tests install: valid, and rendered to what their operator needs to run."""

import tarfile
from pathlib import Path
from typing import Any

import pytest

import rukpak_py
from e2e.webhook_operator.bundle import APIS, GadgetBundle
from tests.unit.cli.running import CommandLine
from tests.unit.rendering import names, of_kind, only, pod_of

Json = dict[str, Any]
VERSIONS = list(APIS)
CONVERTING = ["0.2.0", "0.3.0"]
NAMESPACE = "gadgets-namespace"
SERVICE = "gadgets-controller-service"
SECRET = "gadgets-controller-service-cert"


def bundle(version: str = "0.1.0", **other: Any) -> GadgetBundle:
    given = {"package": "gadgets", "group": "gadgets.example.com", "image": "localhost/operator:1", **other}
    return GadgetBundle(version=version, **given)


def rendered(folder: Path, version: str = "0.1.0", **other: Any) -> list[Json]:
    return rukpak_py.render(bundle(version, **other).write(folder), install_namespace=NAMESPACE)


def called(path: str) -> Json:
    return {"service": {"namespace": NAMESPACE, "name": SERVICE, "path": path, "port": 443}}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_valid(version: str, tmp_path: Path) -> None:
    folder = bundle(version, suggested_namespace="gadgets").write(tmp_path)
    assert rukpak_py.validate(folder, profiles=["operatorhub", "practices", "olmv1"]) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_command_line_renders_every_version(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = bundle(version).write(tmp_path)
    ran = CommandLine(capsys)("bundle", "render", folder)
    assert (ran.status, ran.err) == (0, "")
    assert "namespace: gadgets-system" in ran.out


@pytest.mark.parametrize("version", VERSIONS)
def test_webhooks_are_called_at_the_service_of_the_operator(version: str, tmp_path: Path) -> None:
    objects = rendered(tmp_path, version)
    for kind, path in {
        "ValidatingWebhookConfiguration": "/validate",
        "MutatingWebhookConfiguration": "/mutate",
    }.items():
        configuration = only(objects, kind)
        (webhook,) = configuration["webhooks"]
        assert webhook["clientConfig"] == called(path)
        assert webhook["rules"][0]["apiVersions"] == list(APIS[version].served)
        assert configuration["metadata"]["annotations"]["core.rukpak.io/inject-ca-from"] == f"{NAMESPACE}/{SECRET}"
    service = only(objects, "Service")
    assert service["metadata"]["name"] == SERVICE
    assert service["spec"] == {
        "ports": [{"name": "443", "port": 443, "targetPort": 9443}],
        "selector": only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"],
    }


def test_the_first_version_converts_nothing(tmp_path: Path) -> None:
    definition = only(rendered(tmp_path), "CustomResourceDefinition")
    assert "conversion" not in definition["spec"]
    assert [version["name"] for version in definition["spec"]["versions"]] == ["v1"]


@pytest.mark.parametrize("version", CONVERTING)
def test_two_versions_are_converted_by_the_operator(version: str, tmp_path: Path) -> None:
    definition = only(rendered(tmp_path, version), "CustomResourceDefinition")
    assert definition["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": called("/convert"), "conversionReviewVersions": ["v1"]},
    }
    assert definition["metadata"]["annotations"]["core.rukpak.io/inject-ca-from"] == f"{NAMESPACE}/{SECRET}"
    assert all(one["served"] for one in definition["spec"]["versions"])
    stored = [one["name"] for one in definition["spec"]["versions"] if one["storage"]]
    assert stored == [APIS[version].stored]


def test_the_certificate_is_mounted_where_the_operator_looks_for_it(tmp_path: Path) -> None:
    pod = pod_of(only(rendered(tmp_path), "Deployment"))
    volumes = {volume["name"]: volume["secret"] for volume in pod["volumes"]}
    (container,) = pod["containers"]
    (volume,) = [
        mount["name"]
        for mount in container["volumeMounts"]
        if mount["mountPath"] == "/tmp/k8s-webhook-server/serving-certs"
    ]
    assert volumes[volume]["secretName"] == SECRET
    assert {item["path"] for item in volumes[volume]["items"]} == {"tls.crt", "tls.key"}


def test_bundles_of_two_tests_share_no_cluster_wide_name(tmp_path: Path) -> None:
    objects = [
        rendered(tmp_path / name, "0.3.0", package=f"gadgets-{name}", group=f"{name}.example.com") for name in "ab"
    ]
    first, second = (
        {(made["kind"], made["metadata"]["name"]) for made in some if "namespace" not in made["metadata"]}
        for some in objects
    )
    assert first
    assert not first & second


def test_one_namespace_is_watched_when_it_is_asked_for(tmp_path: Path) -> None:
    objects = rendered(tmp_path, install_mode="OwnNamespace")
    for configuration in of_kind(objects, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        (expression,) = configuration["webhooks"][0]["namespaceSelector"]["matchExpressions"]
        assert expression["values"] == [NAMESPACE]


@pytest.mark.parametrize("version", CONVERTING)
def test_a_version_that_converts_watches_the_whole_cluster(version: str) -> None:
    with pytest.raises(ValueError, match="needs AllNamespaces"):
        bundle(version, install_mode="OwnNamespace")


def test_the_suggested_namespace_is_where_it_goes(tmp_path: Path) -> None:
    folder = bundle(suggested_namespace="workshop").write(tmp_path)
    assert only(rukpak_py.render(folder), "Deployment")["metadata"]["namespace"] == "workshop"


def test_an_image_holds_the_files_of_the_bundle(tmp_path: Path) -> None:
    archive = bundle().write_image("localhost/bundle:0.1.0", tmp_path / "bundle.tar")
    with tarfile.open(archive) as opened:
        (layer,) = [member for member in opened if member.name.endswith(".tar")]
        with tarfile.open(fileobj=opened.extractfile(layer)) as files:
            assert {f"/{name}" for name in files.getnames()} == {f"/{path}" for path in bundle().files()}


def test_names_are_those_of_its_own(tmp_path: Path) -> None:
    assert names(of_kind(rendered(tmp_path), "ServiceAccount", "Deployment")) == ["gadgets", "gadgets-controller"]

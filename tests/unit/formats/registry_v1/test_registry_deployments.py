"""OLM bundles in the cluster: the converted form, what they require, and what a deployment of their class may set."""

from typing import Any

import pytest
import yaml

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.format import Certificates, ContentDescription, RenderedContent, RenderOptions
from rukpak_py.formats.registry_v1.converted import ConvertedFormat
from rukpak_py.formats.registry_v1.format import DeploymentSettings, RegistryV1Format
from tests.unit.bundles import bundle, csv_document, manifest, modes, webhook

CONVERTED = ConvertedFormat()
REGISTRY = RegistryV1Format()
PREFIX = "convert registry+v1 bundle to plain+v0 bundle: "


def refusal(tree: Tree) -> str:
    with pytest.raises(ContentError) as caught:
        CONVERTED.check(tree)
    return str(caught.value)


def rendered(tree: Tree, **options: Any) -> RenderedContent:
    return REGISTRY.render(tree, RenderOptions(**options))


def test_the_converted_form_is_one_file_with_what_a_plain_deployment_installs_and_the_namespace() -> None:
    archive = CONVERTED.check(bundle())
    assert list(archive) == ["manifests/manifest.yaml"]
    namespace, *others = yaml.safe_load_all(archive["manifests/manifest.yaml"])
    assert (namespace["kind"], namespace["metadata"]["name"]) == ("Namespace", "demo-system")
    found = CONVERTED.render(bundle(), RenderOptions())
    assert others == [one.manifest() for one in found.objects]
    assert found.default_namespace == "demo-system"
    assert archive["manifests/manifest.yaml"].startswith(b"---\n")


@pytest.mark.parametrize(
    ("version", "described"),
    [("1.2.3", "1.2.3"), (None, "0.0.0")],
    ids=["a version", "none, which OLM reads so"],
)
def test_both_forms_say_what_they_are(version: str | None, described: str) -> None:
    tree = bundle(csv=csv_document("demo.v1", version=version))
    expected = ContentDescription(name="demo.v1", version=described, package="demo")
    assert rendered(tree).description == expected
    assert CONVERTED.render(tree, RenderOptions()).description == expected


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (bundle(csv=csv_document(installModes=modes("OwnNamespace"))), "AllNamespace install mode must be enabled"),
        (bundle(csv=csv_document(webhooks=[webhook("w")])), "webhookDefinitions are not supported"),
        (
            bundle(csv=csv_document(apiservicedefinitions={"owned": [{"name": "a", "kind": "A", "version": "v1"}]})),
            "apiServiceDefintions are not supported",
        ),
        (
            bundle(others=[manifest("Pod", "p")]),
            "bundle contains unsupported resource: Name: p, Kind: Pod",
        ),
        (
            bundle(csv=csv_document(installModes=modes("OwnNamespace"), webhooks=[webhook("w")])),
            "AllNamespace install mode must be enabled",
        ),
    ],
    ids=["install modes", "webhooks", "API services", "kinds", "the first only"],
)
def test_bundle_that_cannot_be_converted_is_refused_in_the_words_of_the_original(tree: Tree, text: str) -> None:
    assert refusal(tree).startswith(PREFIX + text)


def test_unreadable_bundle_is_refused_with_the_same_prefix_and_its_findings() -> None:
    assert refusal(bundle(files={"manifests/csv.yaml": "a: ["})).startswith(f"{PREFIX}manifests/csv.yaml:")
    assert refusal(bundle(package=None)).startswith(PREFIX)


def test_a_deployment_of_the_class_checks_without_converting() -> None:
    assert REGISTRY.check(bundle(csv=csv_document(installModes=modes("OwnNamespace")))) is None
    converted = REGISTRY.check(bundle())
    assert converted is not None
    assert converted.digest == CONVERTED.check(bundle()).digest


def test_a_given_namespace_is_not_the_content_s_choice() -> None:
    assert rendered(bundle()).default_namespace == "demo-system"
    assert rendered(bundle(), install_namespace="given").default_namespace == ""


def test_a_plain_deployment_cannot_choose_where_an_olm_bundle_goes() -> None:
    with pytest.raises(ContentError, match=r'remove spec.installNamespace \(it goes to "demo-system"\)'):
        CONVERTED.render(bundle(), RenderOptions(install_namespace="given"))
    with pytest.raises(ContentError, match=r"remove spec.config, or set spec.provisionerClassName"):
        CONVERTED.render(bundle(), RenderOptions(config={"aggregatedRoles": True}))


def test_a_namespace_that_cannot_be_is_not_chosen() -> None:
    odd = bundle(package="my.package")
    for form in (CONVERTED, REGISTRY):
        with pytest.raises(ContentError, match='package-system", is not a valid namespace name'):
            form.render(odd, RenderOptions())
    assert rendered(odd, install_namespace="given").objects


def test_a_bundle_whose_converted_form_is_too_large_is_served_as_it_came() -> None:
    assert REGISTRY.check(bundle(), limits=Limits(file_bytes=1000)) is None


def test_requirements_are_what_the_csv_and_the_dependencies_name() -> None:
    csv = csv_document(
        customresourcedefinitions={
            "owned": [{"name": "demos.demo.example.com", "version": "v1", "kind": "Demo"}],
            "required": [{"name": "widgets.other.example.com", "version": "v2", "kind": "Widget"}],
        },
        apiservicedefinitions={
            "required": [{"group": "metrics.example.com", "version": "v1", "kind": "Metric", "name": "metrics"}]
        },
    )
    dependencies = [
        {"type": "olm.gvk", "value": {"group": "x.example.com", "version": "v1", "kind": "X"}},
        {"type": "olm.gvk", "value": {"group": "other.example.com", "version": "v2", "kind": "Widget"}},
        {"type": "olm.package", "value": {"packageName": "another", "version": ">1"}},
    ]
    found = rendered(bundle(csv=csv, files={"metadata/dependencies.yaml": {"dependencies": dependencies}}))
    assert {one.gvk: one.file for one in found.requirements} == {
        GroupVersionKind("metrics.example.com", "v1", "Metric"): "manifests/csv.yaml",
        GroupVersionKind("other.example.com", "v2", "Widget"): "metadata/dependencies.yaml",
        GroupVersionKind("x.example.com", "v1", "X"): "metadata/dependencies.yaml",
    }
    assert found.olm is not None
    assert (found.olm.package, found.olm.csv) == ("demo", "demo.v1.2.3")


def test_aggregated_roles_are_asked_for() -> None:
    names = {one.head.name for one in rendered(bundle(), config={"aggregatedRoles": True}).objects}
    roles = {f"demos.demo.example.com-{role}" for role in ("admin", "edit", "view")}
    assert roles <= names
    assert not roles & {one.head.name for one in rendered(bundle()).objects}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, DeploymentSettings()),
        ({}, DeploymentSettings()),
        ({"certificates": None, "deploymentConfig": None, "aggregatedRoles": None}, DeploymentSettings()),
        ({"certificates": "cert-manager"}, DeploymentSettings(certificates=Certificates.CERT_MANAGER)),
        ({"deploymentConfig": {"env": []}}, DeploymentSettings(deployment_config={"env": []})),
    ],
)
def test_settings(config: dict[str, Any] | None, expected: DeploymentSettings) -> None:
    assert DeploymentSettings.read(config) == expected


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"watchNamespace": "a"}, "spec.config.watchNamespace is not known; set spec.watchNamespaces"),
        ({"deploymentConfigs": {}}, "did you mean deploymentConfig?"),
        ({"x": 1}, "the class has aggregatedRoles, certificates, deploymentConfig"),
        ({"certificates": ["operator"]}, "set one of operator, cert-manager, openshift, none"),
        ({"certificates": "none "}, "set one of operator"),
        ({"deploymentConfig": "x"}, "spec.config.deploymentConfig must be an object, got string"),
        ({"aggregatedRoles": 1}, "spec.config.aggregatedRoles must be true or false, got number"),
    ],
)
def test_wrong_settings_are_named(config: dict[str, Any], text: str) -> None:
    with pytest.raises(ContentError) as caught:
        DeploymentSettings.read(config)
    assert text in str(caught.value)


def test_webhooks_without_certificates_are_refused() -> None:
    with pytest.raises(ContentError, match="certificate provider is nil"):
        rendered(bundle(csv=csv_document(webhooks=[webhook("w")])), config={"certificates": "none"})


@pytest.mark.parametrize("format_", [CONVERTED, REGISTRY])
def test_an_object_without_a_version_is_no_kind_that_could_come(format_: ConvertedFormat | RegistryV1Format) -> None:
    """Three real bundles have one; no cluster could ever serve its kind."""
    tree = bundle(others=[{"kind": "ClusterRole", "metadata": {"name": "viewer"}, "rules": []}])
    with pytest.raises(ContentError, match=r"^manifests/other-0\.yaml: ClusterRole 'viewer' has no apiVersion\. Add"):
        format_.render(tree, RenderOptions())

"""Which package a BundleDeployment has, and what `rukpakctl catalog install --apply` changes in it."""

import msgspec
import pytest

from rukpak_py.api.names import CONTENT_DIGEST_ANNOTATION, HELM_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import UploadSource
from rukpak_py.api.upgrades import Approval, Upgrades
from rukpak_py.catalog.upgrades.installed import Installed
from rukpak_py.cli.catalogs.installing import InstallFields, is_deployment_name, manifest_of
from rukpak_py.cli.cluster.catalog_installs import (
    CatalogUpgrade,
    fields_left_alone,
    installed_package,
    upgrade_of,
)
from rukpak_py.cli.cluster.deployments import DeploymentCommandError, EditedDeployment
from rukpak_py.cli.cluster.installed_packages import PackageOfDeployment, package_of
from tests.unit.catalog.catalogs import catalog, entry, packages
from tests.unit.cli.cluster.catalog_deployments import annotations, deployment, image, owns_image, read

NEW = f"example.com/p@sha256:{'2' * 64}"


def found_in(one: EditedDeployment) -> PackageOfDeployment | None:
    return package_of(one.deployment, one.deployment.metadata.annotations)


def upgraded(one: EditedDeployment, version: str = "2.0.0") -> CatalogUpgrade:
    found = upgrade_of(one, NEW, annotations(version))
    assert found is not None
    return found


def test_annotations_name_what_is_installed_while_it_is_what_they_ask_for() -> None:
    one = read(deployment("1.0.0", installed="1.0.0", csv="odd-name", annotated=annotations("1.0.0", channel="fast")))
    assert found_in(one) == PackageOfDeployment(package="p", name="p.v1.0.0", version="1.0.0", channel="fast")


@pytest.mark.parametrize(("wanted", "annotated"), [("2.0.0", "2.0.0"), ("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_content_names_what_is_installed_while_something_else_is_asked_for(wanted: str, annotated: str) -> None:
    one = read(deployment(wanted, installed="1.0.0", csv="odd-name", annotated=annotations(annotated)))
    awaited = f"p.v{annotated}" if wanted != "1.0.0" else ""
    expected = PackageOfDeployment(package="p", name="odd-name", version="1.0.0", channel="stable", awaited=awaited)
    assert found_in(one) == expected


def test_annotations_of_another_package_count_for_nothing() -> None:
    one = read(deployment("1.0.0", installed="1.0.0", annotated=annotations("1.0.0", package="q")))
    assert found_in(one) == PackageOfDeployment(package="p", name="p.v1.0.0", version="1.0.0")


def test_package_is_that_of_the_annotation_while_nothing_is_installed() -> None:
    found = found_in(read(deployment("1.0.0", annotated=annotations("1.0.0"))))
    assert found == PackageOfDeployment(package="p", channel="stable", awaited="p.v1.0.0")
    assert not found.is_installed


def test_content_that_has_no_package_is_no_olm_bundle() -> None:
    one = deployment("1.0.0", installed="1.0.0", annotated=annotations("1.0.0"))
    assert one.status.content is not None
    chart = msgspec.structs.replace(one.status.content, package="")
    other = msgspec.structs.replace(one, status=msgspec.structs.replace(one.status, content=chart))
    assert found_in(read(other)) is None
    assert found_in(read(deployment("1.0.0"))) is None


def test_bundle_that_the_catalog_names_otherwise_is_known_by_its_version() -> None:
    index = packages(catalog({"stable": [entry("1.0.0"), entry("2.0.0", replaces="1.0.0")]}))["p"]
    assert PackageOfDeployment(package="p", name="p.v1.0.0", version="1.0.0").known_as(index).name == "p.v1.0.0"
    assert PackageOfDeployment(package="p", name="odd", version="1.0.0").known_as(index) == Installed(version="1.0.0")
    unknown = PackageOfDeployment(package="p", name="odd", version="0.9.0")
    assert unknown.known_as(index) == unknown.known_as(None) == Installed(name="odd", version="0.9.0")


def test_upgrade_changes_the_image_and_the_annotations_and_nothing_else() -> None:
    found = upgraded(read(deployment("1.0.0", installed="1.0.0", annotated={**annotations("1.0.0"), "a": "b"})))
    assert found.change == {
        "metadata": {
            "annotations": {
                "core.rukpak.io/catalog-version": "2.0.0",
                "core.rukpak.io/catalog-bundle": "p.v2.0.0",
            }
        },
        "spec": {"template": {"spec": {"source": {"image": {"ref": NEW}}}}},
    }
    assert found.manifest["kind"] == "BundleDeployment"
    assert found.manifest["metadata"]["name"] == "web"


def test_deployment_that_asks_for_the_bundle_already_is_not_changed() -> None:
    one = deployment("2.0.0", installed="1.0.0", annotated=annotations("2.0.0"))
    assert upgrade_of(read(one), image("2.0.0"), annotations("2.0.0")) is None


def test_digest_of_the_content_of_a_rollback_goes_with_its_image() -> None:
    one = deployment("1.0.0", installed="1.0.0", template_annotations={CONTENT_DIGEST_ANNOTATION: "sha256:1", "a": "b"})
    template = upgraded(read(one)).change["spec"]["template"]
    assert template["metadata"] == {"annotations": {CONTENT_DIGEST_ANNOTATION: None}}


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "kubectl", "rukpakctl"])
def test_users_own_what_they_upgrade(manager: str) -> None:
    assert upgraded(read(deployment("1.0.0", installed="1.0.0"), [owns_image(manager)])).owners == ()


def test_clients_that_would_set_the_image_again_are_named() -> None:
    labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    one = read(deployment("1.0.0", installed="1.0.0", labels=labels), [owns_image("kustomize-controller")])
    assert upgraded(one).owners == (
        "it is managed by Flux (Kustomization flux-system/apps)",
        'field manager "kustomize-controller" owns spec.template.spec.source.image.ref',
    )


def test_client_that_owns_other_fields_is_no_reason() -> None:
    suspends = {"manager": "other", "fieldsV1": {"f:spec": {"f:suspend": {}, "f:template": {"f:metadata": {}}}}}
    assert upgraded(read(deployment("1.0.0", installed="1.0.0"), [suspends])).owners == ()


def test_other_packages_and_sources_are_refused() -> None:
    one = deployment("1.0.0", installed="1.0.0")
    upload = Source(type="upload", upload=UploadSource())
    cases = [
        (read(one), "q", 'has package "p", not "q": choose another name with --name'),
        (read(deployment("1.0.0")), "p", "annotate BundleDeployment web with core.rukpak.io/catalog-package=p"),
        (read(deployment("1.0.0", installed="1.0.0", package="")), "p", "is not a bundle of OLM: choose another name"),
        (read(deployment("1.0.0", installed="1.0.0", source=upload)), "p", "has a source of type upload"),
        (read(deployment("1.0.0", installed="1.0.0", bundle_class=HELM_CLASS)), "p", f"class {HELM_CLASS}"),
    ]
    for found, package, text in cases:
        with pytest.raises(DeploymentCommandError, match=text):
            installed_package(found, package)
    assert installed_package(read(one), "p").version == "1.0.0"


def test_fields_that_an_upgrade_leaves_alone_are_named_where_they_differ() -> None:
    one = read(
        deployment(
            "1.0.0", install_namespace="shop", watch_namespaces=("a", "b"), upgrades=Upgrades(approval=Approval.MANUAL)
        )
    )
    same = InstallFields(install_namespace="shop", watch_namespaces=("b", "a"), approval="Manual", pull_secret="login")
    assert list(fields_left_alone(one, InstallFields())) == list(fields_left_alone(one, same)) == []
    others = InstallFields(
        install_namespace="other",
        create_namespace=True,
        watch_namespaces=("a",),
        service_account="x",
        approval="WhenSafe",
        pull_secret="other",
    )
    assert list(fields_left_alone(one, others)) == [
        "installNamespace",
        "createNamespace",
        "serviceAccountName",
        "watchNamespaces",
        "upgrades.approval",
        "template.spec.source.image.pullSecret",
    ]


def test_manifest_has_the_fields_that_were_chosen() -> None:
    fields = InstallFields(watch_namespaces=("",), approval="Manual", pull_secret="login")
    found = manifest_of("web", NEW, annotations("1.0.0"), fields)
    assert found["spec"] == {
        "provisionerClassName": "core-rukpak-io-registry",
        "watchNamespaces": [""],
        "upgrades": {"approval": "Manual"},
        "template": {
            "spec": {
                "provisionerClassName": "core-rukpak-io-registry",
                "source": {"type": "image", "image": {"ref": NEW, "pullSecret": "login"}},
            }
        },
    }


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a..b", "a" * 46])
def test_odd_names_of_packages_are_no_names_of_deployments(name: str) -> None:
    assert not is_deployment_name(name)
    assert is_deployment_name("a" * 45)

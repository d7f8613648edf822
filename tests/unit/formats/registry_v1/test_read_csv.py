"""registry+v1: the ClusterServiceVersion and the definitions as values, with and without parity."""

import pytest

from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.registry_v1.bundle import InstallMode, WebhookType
from rukpak_py.formats.registry_v1.read import read
from tests.unit.bundles import bundle, crd, csv_document, deployment, modes, owned_crd, permission, webhook


def test_the_values_of_a_csv_and_where_they_stand() -> None:
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    csv = csv_document(
        annotations={"a": "b"},
        installModes=modes("OwnNamespace", "AllNamespaces", "Unknown"),
        deployments=[deployment("one"), {"name": "two", "label": {"x": "y"}, "spec": {"replicas": 2}}],
        permissions=[permission("sa", rules), {"serviceAccountName": "bare"}],
        cluster_permissions=[permission("cluster", rules)],
        webhooks=[
            webhook("v", containerPort=8443, targetPort="https", webhookPath="/v"),
            webhook("c", "Conversion", conversionCRDs=["a.b"], containerPort=None),
        ],
        owned=[owned_crd("x.y", version="v2", kind="X")],
        apiservicedefinitions={"owned": [{"name": "api", "group": "g", "version": "v1", "kind": "K"}]},
    )
    found = read(bundle(csv=csv)).complete().csv
    assert (found.name, found.annotations["a"]) == ("demo.v1.2.3", "b")
    assert found.supported_modes == [InstallMode.ALL, InstallMode.OWN, "Unknown"]
    assert [mode for mode, _ in found.install_modes][:2] == ["AllNamespaces", "MultiNamespace"]

    one, two = found.deployments
    assert (one.name, one.label, one.path) == ("one", {"app": "demo"}, ("spec", "install", "spec", "deployments", 0))
    assert (two.label, two.spec["replicas"]) == ({"x": "y"}, 2)

    first, bare = found.permissions
    assert (first.service_account, first.rules) == ("sa", rules)
    assert (bare.service_account, bare.rules, bare.path[-1]) == ("bare", None, 1)
    assert found.cluster_permissions[0].path == ("spec", "install", "spec", "clusterPermissions", 0)

    validating, conversion = found.webhooks
    assert (validating.generate_name, validating.type) == ("v", WebhookType.VALIDATING)
    assert (validating.container_port, validating.target_port, validating.webhook_path) == (8443, "https", "/v")
    assert (conversion.container_port, conversion.target_port, conversion.webhook_path) == (0, None, None)
    assert conversion.conversion_crds == ["a.b"]
    assert conversion.path == ("spec", "webhookdefinitions", 1)
    assert found.webhooks_of(WebhookType.CONVERSION) == [conversion]

    (owned,) = found.owned
    assert (owned.name, owned.version, owned.kind) == ("x.y", "v2", "X")
    assert owned.path == ("spec", "customresourcedefinitions", "owned", 0)
    assert found.owned_api_services[0]["name"] == "api"


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("missing", ["metadata", "spec"])
def test_missing_part_of_a_csv_is_empty(missing: str, parity: bool) -> None:  # noqa: FBT001 a parameter of the test
    reading = read(bundle(csv={**csv_document(), missing: None}), parity=parity)
    csv = reading.complete().csv
    if missing == "metadata":
        assert (csv.name, csv.annotations) == ("", {})
    else:
        assert (csv.install_modes, csv.deployments, csv.permissions, csv.webhooks, csv.owned) == ([], [], [], [], [])


def test_entries_that_are_null_are_empty() -> None:
    csv = read(bundle(csv=csv_document(deployments=[None]))).complete().csv
    assert csv.deployments[0].name == ""


def test_only_the_kind_decides() -> None:
    tree = bundle(
        csv={**csv_document(), "apiVersion": "odd/v9"},
        crds=[{**crd(), "apiVersion": "v1"}],
        others=[{"apiVersion": "iam.services.k8s.aws/v1alpha1", "kind": "Role", "metadata": {"name": "r"}}],
    )
    found = read(tree).complete()
    assert found.csv.name == "demo.v1.2.3"
    assert [definition.name for definition in found.definitions] == ["demos.demo.example.com"]
    assert [other.kind for other in found.others] == ["Role"]


def test_of_several_csvs_the_last_counts_for_the_reference_and_none_for_us() -> None:
    tree = bundle(files={"manifests/z.yaml": csv_document("demo.v9")})
    assert read(tree, parity=True).complete().csv.name == "demo.v9"
    with pytest.raises(InvalidBundleError) as caught:
        read(tree).complete()
    (finding,) = caught.value.findings
    assert finding.rule == "RV1-906"
    assert finding.message == (
        "the bundle has 2 ClusterServiceVersions: demo.v1.2.3 in manifests/csv.yaml and demo.v9 in manifests/z.yaml"
    )


def test_definitions_of_the_old_version_stay_as_they_are_unless_the_reference_is_asked() -> None:
    old = {**crd(version="v1", validation={"openAPIV3Schema": {}}), "apiVersion": "apiextensions.k8s.io/v1beta1"}
    tree = bundle(crds=[old])
    assert read(tree).complete().definitions[0].manifest == old
    forced = read(tree, parity=True).complete().definitions[0].manifest
    assert "validation" not in forced["spec"]
    assert forced["apiVersion"] == "apiextensions.k8s.io/v1beta1"


def test_unknown_fields_are_told_and_kept_except_in_rules_and_by_the_reference() -> None:
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["a"]}]
    tree = bundle(
        csv=csv_document(
            deployments=[deployment(colour="red")], permissions=[permission("sa", rules)], miniKubeVersion="1.2"
        ),
        crds=[crd(colour="blue")],
    )
    reading = read(tree)
    found = reading.complete()
    assert found.csv.deployments[0].spec["template"]["spec"]["colour"] == "red"
    assert found.definitions[0].manifest["spec"]["colour"] == "blue"
    assert found.csv.permissions[0].rules == [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    assert {(field.document.file, field.path[-1]) for field in reading.unknown} == {
        ("manifests/csv.yaml", "colour"),
        ("manifests/csv.yaml", "namespaces"),
        ("manifests/csv.yaml", "miniKubeVersion"),
        ("manifests/demos.demo.example.com.crd.yaml", "colour"),
    }
    exact = read(tree, parity=True).complete()
    assert "colour" not in exact.csv.deployments[0].spec["template"]["spec"]
    assert "colour" not in exact.definitions[0].manifest["spec"]


def test_reading_changes_nothing_that_it_was_given() -> None:
    tree = bundle(csv=csv_document(webhooks=[webhook("w")]))
    first, second = read(tree), read(tree)
    assert first.bundle == second.bundle
    assert first.files == second.files

"""Rules for what upstream overlooks: each with what it finds, and with what it must leave alone."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding
from rukpak_py.formats.validation import Profile, validate
from tests.unit.bundles import (
    Json,
    bundle,
    crd,
    csv_document,
    deployment,
    manifest,
    modes,
    owned_crd,
    permission,
    webhook,
)

OLD = {**crd(), "apiVersion": "apiextensions.k8s.io/v1beta1"}
CHANNELS = "operators.operatorframework.io.bundle.channels.v1"
DEFAULT_CHANNEL = "operators.operatorframework.io.bundle.channel.default.v1"
SUGGESTED = "operatorframework.io/suggested-namespace"


def told(tree: Tree, rule: str, *profiles: Profile) -> list[Finding]:
    return [finding for finding in validate(tree, profiles=profiles) if finding.rule == rule]


def messages(tree: Tree, rule: str) -> list[str]:
    return [finding.message for finding in told(tree, rule)]


def with_csv(**fields: Any) -> Tree:
    return bundle(csv=csv_document(**fields))


def with_others(*others: Json) -> Tree:
    return bundle(others=others)


def test_old_definitions_are_an_error_wherever_they_are() -> None:
    (finding,) = [one for one in validate(bundle(crds=[OLD])) if one.file.endswith(".crd.yaml")]
    assert (finding.rule, finding.file, finding.line) == ("RV1-910", "manifests/demos.demo.example.com.crd.yaml", 1)
    assert finding.is_error
    (second,) = told(bundle(crds=[], files={"manifests/x.yaml": [manifest("ConfigMap", "c"), OLD]}), "RV1-910")
    assert second.line > 1
    assert told(bundle(), "RV1-910") == []


def test_unknown_fields_point_at_their_keys() -> None:
    tree = with_csv(installmodes=[], deployments=[deployment(hostnetwork=True)])
    found = told(tree, "RV1-911")
    lines = tree["manifests/csv.yaml"].decode().splitlines()
    assert [lines[finding.line - 1].strip() for finding in found] == ["hostnetwork: true", "installmodes: []"]
    assert told(bundle(), "RV1-911") == []


def test_fields_that_another_rule_tells_are_not_unknown() -> None:
    entry = {**owned_crd(), "group": "demo.example.com", "plural": "demos"}
    found = told(with_csv(owned=[entry]), "RV1-911")
    assert [finding.path for finding in found] == ["spec.customresourcedefinitions.owned[0].plural"]


def test_a_container_port_that_is_no_port() -> None:
    without = webhook("b")
    del without["containerPort"]
    tree = with_csv(
        webhooks=[webhook("a", containerPort=0), without, webhook("c")], installModes=modes("AllNamespaces")
    )
    assert messages(tree, "RV1-912") == ["the containerPort of webhook 'a' is 0: 443 is used instead"]
    of_successor = {finding.message for finding in told(tree, "RV1-912", Profile.OLM_V1)}
    assert of_successor - set(messages(tree, "RV1-912")) == {
        "webhook 'b' has no containerPort: operator-controller takes 0 for it, which a cluster refuses"
    }


def test_a_kind_that_two_definitions_define() -> None:
    (finding,) = told(bundle(crds=[crd(), crd("others")]), "RV1-003")
    assert (finding.is_error, finding.path) == (False, "spec.names.kind")
    assert finding.message == "CRD 'demos.demo.example.com' and CRD 'others.demo.example.com' define the same kind Demo"


@pytest.mark.parametrize(
    ("others", "different", "repeated"),
    [
        ([manifest("ConfigMap", "c"), manifest("ConfigMap", "c")], 0, 1),
        ([manifest("ConfigMap", "c", namespace="a"), manifest("ConfigMap", "c", namespace="b")], 0, 1),
        ([manifest("ConfigMap", "c", data={"a": "1"}), manifest("ConfigMap", "c")], 1, 0),
        ([manifest("ConfigMap", "c"), manifest("Secret", "c"), manifest("ConfigMap", "d")], 0, 0),
        ([manifest("Role", "c", api_version="a/v1"), manifest("Role", "c", api_version="b/v1")], 0, 0),
        ([manifest("PriorityClass", "c", value=1), manifest("PriorityClass", "c", value=1)], 0, 1),
        ([manifest("PriorityClass", "c", value=1), manifest("PriorityClass", "c", value=True)], 1, 0),
        (
            [
                manifest("VerticalPodAutoscaler", "c", namespace="a"),
                manifest("VerticalPodAutoscaler", "c", namespace="b"),
            ],
            0,
            0,
        ),
    ],
)
def test_different_and_repeated_objects_of_one_name_are_told(others: list[Json], different: int, repeated: int) -> None:
    tree = with_others(*others)
    assert (len(told(tree, "RV1-913")), len(told(tree, "RV1-914"))) == (different, repeated)


def test_collisions_name_both_files() -> None:
    (finding,) = told(with_others(manifest("Role", "r"), manifest("Role", "r", rules=[])), "RV1-913")
    assert finding.message == (
        "Role 'r' is defined differently in manifests/other-0.yaml and in manifests/other-1.yaml"
    )
    assert finding.file == "manifests/other-1.yaml"


def test_autoscaler_without_a_namespace_is_told() -> None:
    tree = with_others(
        manifest("VerticalPodAutoscaler", "a"), manifest("VerticalPodAutoscaler", "b", namespace="there")
    )
    assert messages(tree, "RV1-916") == ["VerticalPodAutoscaler 'a' has no namespace: the install namespace is used"]


def test_target_ports_of_one_port() -> None:
    tree = with_csv(
        deployments=[deployment("a"), deployment("b")],
        webhooks=[
            webhook("a1", deployment_name="a", targetPort=9443),
            webhook("a2", "Mutating", deployment_name="a", targetPort=9443),
            webhook("a3", deployment_name="a", containerPort=0),
            webhook("a4", deployment_name="a", containerPort=444, targetPort="https"),
            webhook("b1", deployment_name="b", targetPort=1),
            webhook("c1", deployment_name="none", targetPort=1),
            webhook("c2", deployment_name="none", targetPort=2),
        ],
    )
    assert messages(tree, "RV1-918") == [
        (
            "webhooks 'a1' and 'a3' of deployment 'a' share the port 443, but have the target ports 9443 and 443: "
            "their Service would be invalid"
        )
    ]


@pytest.mark.parametrize(
    ("package", "suggested", "is_told"),
    [
        ("demo", None, False),
        ("demo", "Bad_One", True),
        ("demo", "with.dot", True),
        ("Demo", None, False),  # RV1-931 tells
        ("Demo", "good", False),
        ("x" * 57, None, True),  # with -system one more than 63
        ("", None, False),  # RV1-005 tells
    ],
)
def test_invalid_default_install_namespace_is_told(package: str, suggested: str | None, *, is_told: bool) -> None:
    annotations = {SUGGESTED: suggested} if suggested else {}
    tree = bundle(csv=csv_document(annotations=annotations), package=package)
    assert bool(told(tree, "RV1-919")) is is_told


def test_accounts_that_the_bundle_does_not_create_are_told() -> None:
    tree = bundle(
        csv=csv_document(
            deployments=[
                deployment("a", service_account="nobody"),
                deployment("b", service_account="shipped"),
                deployment("c", service_account="default"),
                deployment("d", service_account=""),
                deployment("e", service_account="", serviceAccount="old-name"),
                deployment("f", service_account="cluster"),
                deployment("g"),
            ],
            cluster_permissions=[permission("cluster")],
        ),
        others=[manifest("ServiceAccount", "shipped")],
    )
    assert messages(tree, "RV1-920") == [
        f"deployment '{name}' runs as service account '{account}', "
        "which no permission names and the bundle does not ship"
        for name, account in [("a", "nobody"), ("e", "old-name")]
    ]


def test_accounts_that_are_shipped_as_well() -> None:
    shipped = [manifest("ServiceAccount", name) for name in ("demo-sa", "other", "default")]
    assert messages(with_others(*shipped), "RV1-921") == [
        "service account 'demo-sa' is shipped and also made from the CSV: the shipped one is emitted"
    ]


def test_a_default_channel_of_other_bundles_is_normal() -> None:
    assert validate(bundle(annotations={CHANNELS: "fast", DEFAULT_CHANNEL: "stable"})) == []


@pytest.mark.parametrize(
    ("install_modes", "severity"),
    [
        (modes("OwnNamespace"), None),
        (modes("OwnNamespace", "AllNamespace"), "warning"),
        (modes("AllNamespace"), "error"),  # nothing else is supported: it cannot be installed at all
    ],
)
def test_an_unknown_install_mode_is_told(install_modes: list[Json], severity: str | None) -> None:
    found = told(with_csv(installModes=install_modes), "RV1-923")
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert all(finding.message == "there is no install mode 'AllNamespace'" and finding.line > 1 for finding in found)
    assert all(finding.hint == "Did you mean `type: AllNamespaces`?" for finding in found)

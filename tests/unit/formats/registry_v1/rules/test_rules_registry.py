"""The CSV and the definitions together, and the other objects that a bundle may have."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats import dns
from rukpak_py.formats.registry_v1.rules import objects, owned_apis
from tests.unit.bundles import Json, bundle, crd, csv_document, manifest, owned_crd
from tests.unit.readings import findings_of, told

NAME = "demos.demo.example.com"
OF_NAME = f"CRD {NAME}, version v1, kind Demo"


def test_a_good_bundle_has_no_findings() -> None:
    tree = bundle(others=[manifest("ConfigMap", "c"), manifest("Role", "r")])
    assert told(tree, owned_apis.FAMILY, objects.FAMILY, objects.STABILITY_FAMILY) == []


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        (
            owned_crd("others.example.com"),
            "CRD others.example.com, version v1, kind Demo is not in the bundle: no file begins with this CRD",
        ),
        (owned_crd(version="v2"), f"CRD {NAME}, version v2, kind Demo is not in the bundle: the CRD has v1"),
        (owned_crd(kind="Other"), f"CRD {NAME}, version v1, kind Other is not in the bundle: the CRD is of kind Demo"),
    ],
)
def test_owned_definitions_match_by_name_version_and_kind(owned: Json, expected: str) -> None:
    assert told(bundle(csv=csv_document(owned=[owned])), owned_apis.FAMILY) == [
        ("RV1-403", f"the CSV does not own {OF_NAME}"),
        ("RV1-004", f"the owned {expected}"),
    ]


def test_an_entry_is_listed_once() -> None:
    assert told(bundle(csv=csv_document(owned=[owned_crd(), owned_crd()])), owned_apis.FAMILY) == [
        ("RV1-405", f"the owned {OF_NAME} is listed twice")
    ]


def test_a_group_in_an_entry_is_a_warning_only() -> None:
    tree = bundle(csv=csv_document(owned=[{**owned_crd(), "group": "demo.example.com"}]))
    (finding,) = findings_of(tree, owned_apis.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-402", Severity.WARNING)
    assert finding.path == "spec.customresourcedefinitions.owned[0].group"
    assert (
        finding.message == f"the entry of the owned {OF_NAME} has the field `group`, for which `opm` refuses the bundle"
    )


def test_a_definition_past_the_first_document_of_its_file_is_not_there() -> None:
    tree = bundle(crds=[], files={"manifests/x.yaml": [manifest("ConfigMap", "c"), crd()]})
    assert told(tree, owned_apis.FAMILY) == [
        ("RV1-004", f"the owned {OF_NAME} is not in the bundle: no file begins with this CRD")
    ]


def test_versions_of_old_definitions_count() -> None:
    old = crd(version="v1")
    del old["spec"]["versions"]
    assert told(bundle(crds=[{**old, "apiVersion": "apiextensions.k8s.io/v1beta1"}]), owned_apis.FAMILY) == []


def test_each_served_version_is_owned() -> None:
    served = {"v1": True, "v2": True, "v3": False}
    versions = [{"name": name, "served": served[name], "storage": name == "v1"} for name in served]
    assert told(bundle(crds=[crd(versions=versions)]), owned_apis.FAMILY) == [
        ("RV1-403", f"the CSV does not own CRD {NAME}, version v2, kind Demo")
    ]


def test_a_release_cannot_substitute() -> None:
    manifest = csv_document(annotations={"olm.substitutesFor": "demo.v1.2.2"}, release="1")
    message = (
        "the CSV has both the release 1 and the annotation olm.substitutesFor (demo.v1.2.2), which exclude each other"
    )
    assert told(bundle(csv=manifest), owned_apis.FAMILY) == [("RV1-404", message)]


def test_without_a_csv_nothing_is_compared() -> None:
    assert told(bundle(files={"manifests/csv.yaml": None}), owned_apis.FAMILY) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "there is no object in the file"),
        ("# licence\n---\nkind: ConfigMap\n", "`opm` sees only the comment above the first `---`"),
        ("kind: List\nitems: []\n", "the file begins with a list"),
        ("kind: Pod\n", "a bundle may not hold a Pod"),
    ],
)
def test_a_file_begins_with_an_object(text: str, message: str) -> None:
    assert (
        told(bundle(files={"manifests/x.yaml": "kind: ConfigMap\nmetadata: {name: a}\nitems: []\n"}), objects.FAMILY)
        == []
    )
    assert told(bundle(files={"manifests/x.yaml": text}), objects.FAMILY) == [("RV1-501", message)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [("# nothing\n", "Remove the file"), ("# licence\n---\nkind: ConfigMap\n", "Remove the `---` below the comment")],
)
def test_hint_about_a_first_document_depends_on_the_next_ones(text: str, hint: str) -> None:
    (found,) = findings_of(bundle(files={"manifests/x.yaml": text}), objects.FAMILY)
    assert (hint in found.hint, found.line, found.column) == (True, 1, 1)


BAD_KEY = dns.qualified_name("a b")[0]
BAD_VALUE = dns.label_value("c d")[0]


@pytest.mark.parametrize(
    ("metadata", "messages"),
    [
        ({}, ["metadata.name: Required value: name or generateName is required"]),
        ({"generateName": "x-"}, ["metadata.name: Required value: name or generateName is required"]),
        (
            {"name": "x", "labels": {"a b": "c d"}},
            [
                f'metadata.labels: Invalid value: "a b": {BAD_KEY}',
                f'metadata.labels: Invalid value: "c d": {BAD_VALUE}',
            ],
        ),
        ({"name": "x", "annotations": {"a b": "c d"}}, [f'metadata.annotations: Invalid value: "a b": {BAD_KEY}']),
        ({"name": "x", "annotations": {"A.io/b": "c d"}}, []),
        (
            {"name": "x", "annotations": {"a": "x" * (256 * 1024)}},
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
        ),
        ({"name": "x", "finalizers": ["a b"]}, [f'metadata.finalizers: Invalid value: "a b": {BAD_KEY}']),
        (
            {"name": "x", "generation": -1},
            ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n"}]},
            ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
        ),
    ],
)
def test_metadata_are_valid(metadata: Json, messages: list[str]) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    assert told(bundle(others=[other]), objects.FAMILY) == [("RV1-502", message) for message in messages]


@pytest.mark.parametrize(
    ("kind", "consequence"),
    [
        ("ConfigMap", "the install namespace is used instead"),
        ("VerticalPodAutoscaler", "it goes there, wherever the operator is installed"),
        ("ClusterRole", "objects of its kind have none"),
    ],
)
def test_consequence_of_a_namespace_is_told(kind: str, consequence: str) -> None:
    (finding,) = findings_of(bundle(others=[manifest(kind, "c", namespace="n")]), objects.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-503", Severity.WARNING)
    assert finding.message == f"{kind} 'c' names the namespace 'n', but {consequence}"


AWAY = "PodDisruptionBudget 'p' allows no pod to be away: {}"


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({"maxUnavailable": 0}, [AWAY.format("maxUnavailable is 0")]),
        ({"maxUnavailable": "0%"}, [AWAY.format("maxUnavailable is 0%")]),
        ({"maxUnavailable": "10%"}, []),  # upstream takes every percentage for 0
        ({"maxUnavailable": 1}, []),
        ({"maxUnavailable": False}, []),
        ({"minAvailable": "100%"}, [AWAY.format("minAvailable is 100%")]),
        ({"minAvailable": 100}, []),
        ({}, []),
    ],
)
def test_budgets_allow_some_disruption(spec: Json, messages: list[str]) -> None:
    tree = bundle(others=[manifest("PodDisruptionBudget", "p", api_version="policy/v1", spec=spec)])
    assert told(tree, objects.STABILITY_FAMILY) == [("RV1-510", message) for message in messages]


def test_a_priority_class_is_not_the_default() -> None:
    priority = manifest("PriorityClass", "p", api_version="scheduling.k8s.io/v1", globalDefault=True, value=1)
    assert told(bundle(others=[priority]), objects.STABILITY_FAMILY) == [
        ("RV1-511", "PriorityClass 'p' is the default of the whole cluster")
    ]


def rule(group: str, resource: str, verb: str, *names: str) -> Json:
    return {"apiGroups": [group], "resources": [resource], "verbs": [verb], "resourceNames": list(names)}


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        (rule("policy", "poddisruptionbudgets", "create"), [("RV1-512", Severity.WARNING)]),
        (rule("policy", "poddisruptionbudgets", "*"), [("RV1-512", Severity.WARNING)]),
        (rule("policy", "poddisruptionbudgets", "get"), []),
        (
            rule("security.openshift.io", "securitycontextconstraints", "update", "x", "privileged"),
            [("RV1-513", Severity.ERROR)],
        ),
        (rule("security.openshift.io", "securitycontextconstraints", "use", "privileged"), []),
        (rule("security.openshift.io", "securitycontextconstraints", "update", "mine"), []),
    ],
)
@pytest.mark.parametrize("kind", ["Role", "ClusterRole"])
def test_roles_do_not_endanger_a_cluster(kind: str, granted: Json, expected: list[tuple[str, Severity]]) -> None:
    role = manifest(kind, "r", api_version="rbac.authorization.k8s.io/v1", rules=[granted])
    found = findings_of(bundle(others=[role]), objects.STABILITY_FAMILY)
    assert [(finding.rule, finding.severity) for finding in found] == expected


@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}, None, True])
@pytest.mark.parametrize("field", ["metadata", "spec", "rules", "globalDefault"])
@pytest.mark.parametrize("kind", ["PodDisruptionBudget", "Role", "PriorityClass"])
def test_wrong_types_break_no_rule(kind: str, field: str, value: Any) -> None:
    tree = bundle(others=[{**manifest(kind, "x"), field: value}])
    assert isinstance(told(tree, objects.FAMILY, objects.STABILITY_FAMILY, owned_apis.FAMILY), list)

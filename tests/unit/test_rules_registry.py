"""How the CSV and the definitions fit together, and what the other objects may be."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1 import dns
from rukpak_py.formats.registry_v1.rules import objects, registry
from tests.unit.bundles import Json, bundle, crd, csv_document, manifest, owned_crd
from tests.unit.readings import findings_of, told

NAME = "demos.demo.example.com"
NOT_FOUND = 'owned CRD {} not found in bundle "demo.v1.2.3"'
NO_KIND = "a document without kind"
NOT_OWNED = 'CRD {} is present in bundle "demo.v1.2.3" but not defined in CSV'


def test_a_good_bundle_has_no_findings() -> None:
    tree = bundle(others=[manifest("ConfigMap", "c"), manifest("Role", "r")])
    assert told(tree, registry.FAMILY, objects.FAMILY, objects.STABILITY_FAMILY) == []


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        (owned_crd("others.example.com"), "others.example.com/v1"),
        (owned_crd(version="v2"), f"{NAME}/v2"),
        (owned_crd(kind="Other"), f"{NAME}/v1"),
    ],
)
def test_owned_definitions_match_by_name_version_and_kind(owned: Json, expected: str) -> None:
    assert told(bundle(csv=csv_document(owned=[owned])), registry.FAMILY) == [
        ("RV1-401", NOT_FOUND.format(expected)),
        ("RV1-403", NOT_OWNED.format(f"{NAME}/v1")),
    ]


def test_an_entry_is_listed_once() -> None:
    message = f"{NOT_FOUND.format(f'{NAME}/v1')}: it is listed twice"
    assert told(bundle(csv=csv_document(owned=[owned_crd(), owned_crd()])), registry.FAMILY) == [("RV1-405", message)]


def test_a_group_in_an_entry_is_a_warning_only() -> None:
    tree = bundle(csv=csv_document(owned=[{**owned_crd(), "group": "demo.example.com"}]))
    (finding,) = findings_of(tree, registry.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-402", Severity.WARNING)
    assert finding.path == "spec.customresourcedefinitions.owned[0].group"


def test_a_definition_past_the_first_document_of_its_file_is_not_there() -> None:
    tree = bundle(crds=[], files={"manifests/x.yaml": [manifest("ConfigMap", "c"), crd()]})
    assert told(tree, registry.FAMILY) == [("RV1-401", NOT_FOUND.format(f"{NAME}/v1"))]


def test_versions_of_old_definitions_count() -> None:
    old = crd(version="v1")
    del old["spec"]["versions"]
    assert told(bundle(crds=[{**old, "apiVersion": "apiextensions.k8s.io/v1beta1"}]), registry.FAMILY) == []


def test_each_version_that_is_not_owned_is_told() -> None:
    versions = [{"name": name, "served": True, "storage": name == "v1"} for name in ("v1", "v2")]
    assert told(bundle(crds=[crd(versions=versions)]), registry.FAMILY) == [("RV1-403", NOT_OWNED.format(f"{NAME}/v2"))]


def test_a_release_cannot_substitute() -> None:
    manifest = csv_document(annotations={"olm.substitutesFor": "demo.v1.2.2"}, release="1")
    release = 'a release version ("1")'
    message = f'bundle "demo.v1.2.3" cannot have both {release} and olm.substitutesFor annotation ("demo.v1.2.2")'
    assert told(bundle(csv=manifest), registry.FAMILY) == [("RV1-404", message)]


def test_without_a_csv_nothing_is_compared() -> None:
    assert told(bundle(files={"manifests/csv.yaml": None}), registry.FAMILY) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [("# nothing\n", NO_KIND), ("# licence\n---\nkind: ConfigMap\n", NO_KIND), ("kind: List\nitems: []\n", "List")],
)
def test_first_documents_that_are_no_supported_object_are_told(text: str, kind: str) -> None:
    found = told(bundle(files={"manifests/x.yaml": text}), objects.FAMILY)
    assert found == [("RV1-501", f"{kind} is not supported type for registryV1 bundle: manifests/x.yaml")]


@pytest.mark.parametrize(
    ("text", "hint"),
    [("# nothing\n", "remove the file"), ("# licence\n---\nkind: ConfigMap\n", "Remove the `---` below the comment")],
)
def test_what_to_do_about_a_first_document_depends_on_what_follows(text: str, hint: str) -> None:
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


def test_a_namespace_is_a_warning() -> None:
    (finding,) = findings_of(bundle(others=[manifest("ConfigMap", "c", namespace="n")]), objects.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-503", Severity.WARNING)
    assert finding.message == "metadata.namespace: Forbidden: not allowed on this type"


ZERO = "maxUnavailable field cannot be set to 0 or 0%"
ALL = "minAvailable field cannot be set to 100%"


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({"maxUnavailable": 0}, [ZERO]),
        ({"maxUnavailable": "0%"}, [ZERO]),
        ({"maxUnavailable": "10%"}, []),  # upstream takes every percentage for 0
        ({"maxUnavailable": 1}, []),
        ({"maxUnavailable": False}, []),
        ({"minAvailable": "100%"}, [ALL]),
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
        ("RV1-511", "globalDefault field cannot be set to true")
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
    assert isinstance(told(tree, objects.FAMILY, objects.STABILITY_FAMILY, registry.FAMILY), list)

"""Validation as a whole: which rules a bundle is judged by, and how what they found is arranged."""

from typing import Any, cast

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, Severity
from rukpak_py.formats.detection import FormatName, detect_format
from rukpak_py.formats.former_ids import FORMER_IDS
from rukpak_py.formats.registry_v1.reading import DEFECT_KINDS
from rukpak_py.formats.validation import (
    ALL_FAMILIES,
    Profile,
    arranged,
    validate,
)
from tests.unit.bundles import Content, bundle, crd, csv_document, deployment, manifest, owned_crd, tree_of, webhook

BOTH = (Profile.DEFAULT, Profile.OPM)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
MEDIA_TYPE = "operators.operatorframework.io.bundle.mediatype.v1"
LIST_WITH_CSV = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ClusterServiceVersion\n"
CSV_AS_TEXT = "apiVersion: v1\nkind: ConfigMap\ndata:\n  csv: |\n    kind: ClusterServiceVersion\n"


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({}, FormatName.PLAIN),
        ({"manifests/a": CONFIG_MAP}, FormatName.PLAIN),
        ({"manifests/a": CSV_AS_TEXT}, FormatName.PLAIN),
        ({"manifests/a": "kind: ClusterServiceVersion"}, FormatName.REGISTRY),
        ({"manifests/a": "'kind': 'ClusterServiceVersion'\na: [\n"}, FormatName.REGISTRY),
        ({"manifests/a": '{"kind": "ClusterServiceVersion"}'}, FormatName.REGISTRY),
        ({"manifests/a": LIST_WITH_CSV}, FormatName.REGISTRY),
        ({"other/a": "kind: ClusterServiceVersion"}, FormatName.PLAIN),
        ({"metadata/annotations.yaml": "annotations: {x: y}"}, FormatName.PLAIN),
        ({"metadata/annotations.yaml": f"annotations: {{{MEDIA_TYPE}: registry+v1}}"}, FormatName.REGISTRY),
        ({"metadata/annotations.yaml": f"annotations: {{{MEDIA_TYPE}: plain}}"}, FormatName.PLAIN),
        ({"metadata/annotations.yaml": "annotations: ["}, FormatName.REGISTRY),
        ({"metadata/annotations.yaml": "5"}, FormatName.PLAIN),
        ({"Chart.yaml": "name: x", "templates/a.yaml": "{{ x }}"}, FormatName.HELM),
        ({"Chart.yaml": "name: x", "manifests/a": "kind: ClusterServiceVersion"}, FormatName.REGISTRY),
    ],
)
def test_content_decides_about_the_format(contents: dict[str, Content | None], expected: FormatName) -> None:
    assert detect_format(tree_of(contents)) is expected


def test_a_csv_is_believed_more_than_annotations() -> None:
    assert detect_format(bundle(annotations={MEDIA_TYPE: "plain"})) is FormatName.REGISTRY


def test_a_good_bundle_has_no_errors() -> None:
    assert [finding for finding in validate(bundle()) if finding.is_error] == []


def test_the_format_can_be_given() -> None:
    tree = bundle(files={"manifests/x": "5\n"})
    assert {finding.rule for finding in validate(tree, format_name="plain")} == {"PLAIN-003"}
    with pytest.raises(ValueError, match="rpm"):
        validate(tree, format_name="rpm")


def test_charts_are_judged_as_charts() -> None:
    (finding,) = validate(tree_of({"Chart.yaml": "name: x"}))
    assert (finding.rule, finding.is_error, finding.file) == ("HELM-002", True, "Chart.yaml")


def test_findings_are_in_the_order_of_files_and_lines() -> None:
    csv = csv_document(owned=[owned_crd("z.z"), owned_crd("a.a")], webhooks=[webhook("B_")])
    found = validate(bundle(csv=csv, package=None, crds=[crd(), crd("b")], others=[manifest("Pod", "p")]))
    places = [(finding.file, finding.line, finding.column) for finding in found]
    assert places == sorted(places)
    assert {"RV1-004", "RV1-005", "RV1-009", "RV1-013"} <= {finding.rule for finding in found}


def test_at_one_place_errors_come_first() -> None:
    warning = Finding(rule="A", severity=Severity.WARNING, message="w", file="f", line=1)
    error = Finding(rule="B", severity=Severity.ERROR, message="e", file="f", line=1)
    assert arranged([warning, error, warning]) == [error, warning]


@pytest.mark.parametrize("unread", ["RV1-903", "RV1-904", "RV1-907"])
def test_consequences_of_an_unreadable_value_are_not_reported(unread: str) -> None:
    place: dict[str, Any] = {"file": "f", "severity": Severity.ERROR, "message": "m"}
    follows = Finding(rule="RV1-005", path="spec.a[1]", **place)
    for path in ("spec.a[1]", "spec.a", "spec"):
        cause = Finding(rule=unread, path=path, **place)
        assert arranged([follows, cause]) == [cause]
    for path in ("spec.a[1].name", "spec.a[10]", "spe", "other"):
        other = Finding(rule=unread, path=path, **place)
        assert len(arranged([follows, other])) == 2


def test_manifest_that_is_no_object_has_no_finding_about_its_kind() -> None:
    found = validate(bundle(files={"manifests/x.yaml": "a: 1"}))
    assert [finding.rule for finding in found if finding.is_error] == ["RV1-902"]


def test_many_defects_are_arranged_at_once() -> None:
    """Compared pair by pair these would take minutes."""
    many = [
        Finding(rule=rule, severity=Severity.ERROR, message="m", file="f", path=f"spec.a[{number}].name")
        for rule in ("RV1-004", "RV1-201", "RV1-903")
        for number in range(20_000)
    ]
    assert {finding.rule for finding in arranged(many)} == {"RV1-903"}


@pytest.mark.parametrize("annotations", [None, "annotations: []\n"])
def test_a_package_is_not_asked_for_where_nothing_can_be_read(annotations: str | None) -> None:
    found = validate(bundle(files={"metadata/annotations.yaml": annotations}))
    assert "RV1-005" not in {finding.rule for finding in found}


def test_consequences_of_a_wrong_type_are_not_reported() -> None:
    found = validate(bundle(csv=csv_document(deployments=[deployment(cast("str", 5))], webhooks=[])))
    assert [finding.rule for finding in found if "deployments[0].name" in finding.path] == ["RV1-903"]


def test_an_owned_definition_that_is_missing_is_told_once() -> None:
    found = validate(bundle(csv=csv_document(owned=[owned_crd(), owned_crd("a.a")])))
    assert [finding.rule for finding in found if "a.a" in finding.message and finding.is_error] == ["RV1-004"]


def test_ids_are_unique_and_every_rule_explains_itself() -> None:
    known = [rule for family in ALL_FAMILIES for rule in family.rules]
    ids = [*(rule.id for rule in known), *(kind.id for kind in DEFECT_KINDS)]
    assert len(ids) == len(set(ids))
    assert [rule.id for rule in known if not (rule.title and rule.hint and rule.origin)] == []


def test_former_ids_and_further_checks_are_of_rules_that_there_are() -> None:
    ids = {rule.id for family in ALL_FAMILIES for rule in family.rules} | {kind.id for kind in DEFECT_KINDS}
    assert set(FORMER_IDS.values()) <= ids
    assert ids.isdisjoint(FORMER_IDS)
    further = [rule for family in ALL_FAMILIES for rule in family.further]
    assert {rule.id for rule in further} <= ids
    assert all(rule.hint for rule in further)


@pytest.mark.parametrize(
    ("tree", "rule"),
    [
        (bundle(csv=csv_document(owned=[owned_crd(), owned_crd("a.a")])), "RV1-004"),
        (bundle(csv=csv_document(owned=[owned_crd(version="v2")])), "RV1-004"),
        (bundle(crds=[crd(), crd()]), "RV1-003"),
        (
            bundle(csv=csv_document(webhooks=[webhook("c", "Conversion", conversionCRDs=["demos.demo.example.com"])])),
            "RV1-006",
        ),
        (bundle(csv=csv_document(webhooks=[webhook("c.c.c", conversionCRDs=["demos.demo.example.com"])])), "RV1-006"),
        (bundle(package=None), "RV1-005"),
        (bundle(files={"manifests/x.yaml": "kind: Pod\nmetadata: {name: p}\n"}), "RV1-013"),
        (tree_of({"metadata/annotations.yaml": "annotations: {a: b}"}), "RV1-904"),
        (bundle(files={"metadata/annotations.yaml": None}), "RV1-904"),
    ],
)
def test_a_defect_that_several_tools_refuse_is_told_once(tree: Tree, rule: str) -> None:
    found = [finding.rule for finding in validate(tree, format_name="registry+v1", profiles=BOTH) if finding.is_error]
    assert [one for one in found if one not in {"RV1-103", "RV1-225"}] == [rule]


def test_profiles_have_names_for_the_command_line() -> None:
    names = ["default", "opm", "strict", "operatorhub", "community", "bundle-objects", "practices", "olmv1"]
    assert [profile.value for profile in Profile] == names


@pytest.mark.parametrize(
    ("tree", "rule", "refusing"),
    [
        (bundle(csv=csv_document(owned=[owned_crd(version="v2")])), "RV1-004", Profile.OPM),
        (bundle(csv=csv_document(owned=[owned_crd(), owned_crd()])), "RV1-405", Profile.OPM),
        (bundle(csv=csv_document(deployments=[deployment("a"), deployment("a")])), "RV1-001", Profile.DEFAULT),
    ],
)
def test_profile_decides_whether_a_finding_refuses_the_bundle(tree: Tree, rule: str, refusing: Profile) -> None:
    def told(*profiles: Profile) -> list[Finding]:
        return [finding for finding in validate(tree, profiles=profiles) if finding.rule == rule]

    assert [finding.is_error for finding in told()] == [refusing is Profile.DEFAULT]
    assert [finding.is_error for finding in told(Profile.OPERATORHUB)] == [refusing is Profile.DEFAULT]
    assert [finding.is_error for finding in told(Profile.OPM)] == [refusing is Profile.OPM]
    assert [finding.is_error for finding in told(*BOTH)] == [True]
    assert [finding.is_error for finding in told(Profile.OPM, Profile.STRICT)] == [True]
    assert {finding.message for finding in told()} == {finding.message for finding in told(Profile.OPM)}


@pytest.mark.parametrize("files", [{}, {"metadata/annotations.yaml": b"annotations: {a: b, a: c}"}])
def test_keys_given_again_are_told_for_every_format(files: dict[str, bytes]) -> None:
    tree = tree_of(
        {"manifests/a.yaml": b"kind: ConfigMap\nkind: Secret\napiVersion: v1\nmetadata: {name: a}\n", **files}
    )
    found = [finding for finding in validate(tree) if finding.rule == "FILE-001"]
    assert [(finding.location, finding.message) for finding in found] == [
        ("manifests/a.yaml:2:1", "key 'kind' is given again"),
        *([("metadata/annotations.yaml:1:21", "key 'a' is given again")] if files else []),
    ]
    assert {finding.severity for finding in found} == {Severity.WARNING}

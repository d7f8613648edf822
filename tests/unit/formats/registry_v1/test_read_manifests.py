"""registry+v1: which files and documents are manifests, and what is said of those that are none."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.registry_v1.read import read
from tests.unit.bundles import bundle, csv_document, manifest, tree_of


def refusal(tree: Tree) -> list[str]:
    """The rules by which the bundle is refused where the reference renderer decides."""
    with pytest.raises(InvalidBundleError) as caught:
        read(tree, parity=True).complete()
    return [finding.rule for finding in caught.value.findings]


def findings(tree: Tree, **kwargs: Any) -> list[Finding]:
    return [defect.finding for defect in read(tree, **kwargs).defects]


def only_finding(tree: Tree, **kwargs: Any) -> Finding:
    (finding,) = findings(tree, **kwargs)
    return finding


def others(tree: Tree) -> list[tuple[str, str, str, tuple[str | int, ...]]]:
    found = read(tree).complete().others
    return [(other.kind, other.name, other.file, other.inside) for other in found]


def with_file(content: Any) -> Tree:
    return bundle(files={"manifests/x.yaml": content})


def test_every_file_is_read_in_the_order_of_names_and_every_document_of_it() -> None:
    tree = bundle(
        files={
            "manifests/b": "{kind: Secret, metadata: {name: b1}}\n---\n# no\n---\nkind: Service\nmetadata: {name: b2}",
            "manifests/.a.txt": manifest("ConfigMap", "a"),
            "manifests/c.json": '{"kind": "Role", "metadata": {"name": "c1"}} {"kind": "Role"}',
            "manifests/empty.yaml": "",
            "manifests/comment.yaml": "# licence\n",
            "other/d.yaml": "a: [",
        }
    )
    assert others(tree) == [
        ("ConfigMap", "a", "manifests/.a.txt", ()),
        ("Secret", "b1", "manifests/b", ()),
        ("Service", "b2", "manifests/b", ()),
        ("Role", "c1", "manifests/c.json", ()),
        ("Role", "", "manifests/c.json", ()),
    ]
    assert [other.index for other in read(tree).complete().others] == [0, 0, 2, 0, 1]


def test_files_are_kept_with_all_their_documents() -> None:
    tree = bundle(files={"manifests/a.yaml": "# x\n---\nkind: a\n", "manifests/b.yaml": "", "manifests/c.yaml": "a: ["})
    files = {file.path: file.documents for file in read(tree).files}
    assert files["manifests/a.yaml"] == [None, {"kind": "a"}]
    assert files["manifests/b.yaml"] == []
    assert files["manifests/c.yaml"] is None


def test_lists_are_expanded_and_their_items_take_kind_and_version_from_them() -> None:
    items = [manifest("ConfigMap", "a"), {"metadata": {"name": "b"}}]
    tree = with_file({"kind": "SecretList", "apiVersion": "v1", "items": items})
    assert others(tree) == [
        ("ConfigMap", "a", "manifests/x.yaml", ("items", 0)),
        ("Secret", "b", "manifests/x.yaml", ("items", 1)),
    ]
    empty: list[Any] | None
    for empty in ([], None):
        assert others(with_file({"kind": "List", "items": empty})) == []


def test_a_csv_in_a_list_is_the_csv() -> None:
    tree = bundle(files={"manifests/csv.yaml": {"kind": "List", "items": [csv_document()]}})
    reading = read(tree)
    csv = reading.complete().csv
    assert csv.name == "demo.v1.2.3"
    assert csv.document.place("spec").path == ("items", 0, "spec")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "a document of manifests/ must be an object, got a list"),
        ("x", "a document of manifests/ must be an object, got a string"),
        ("a: <b>", "the object has no `kind`"),
        ("kind: 5", "`kind` must be a string, got number 5"),
        ('{"kind":  ""}', "the object has no `kind`"),
        ("{kind: x, apiVersion: a/b/c}", "'a/b/c'"),
        ("{kind: List, items: {}}", "items must be a list, got an object"),
        ("{kind: List, items: [{kind: x, items: []}, 5]}", "an item of a list must be an object, got a number"),
    ],
)
def test_undecodable_manifest_is_refused_with_its_file(content: str, message: str) -> None:
    assert refusal(with_file(content))[0] == "RV1-902"
    finding = findings(with_file(content))[0]
    assert (finding.rule, finding.file) == ("RV1-902", "manifests/x.yaml")
    assert message in finding.message
    assert finding.hint


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"kind": "List", "items": [manifest("Secret", "s")]}, "a list stands inside a list"),
        ({"kind": "x", "items": []}, "a list stands inside a list"),
        ({"metadata": {}}, "the object has no `kind`"),
        (None, "the object has no `kind`"),
        ({"kind": "x", "apiVersion": "a/b/c"}, "neither `version` nor `group/version`"),
        ({"kind": "x"}, "an item of a list has no apiVersion"),
    ],
)
def test_items_of_lists_that_are_no_manifests(item: Any, message: str) -> None:
    tree = with_file({"kind": "List", "items": [manifest("Secret", "s"), item]})
    assert refusal(tree) == ["RV1-902"]
    assert message in only_finding(tree).message
    finding = only_finding(tree)
    assert (finding.rule, finding.path) == ("RV1-902", "items[1]")
    assert finding.line > 1


def test_a_document_without_kind_is_not_shown_to_people() -> None:
    tree = with_file("stringData: {password: hunter2}\n")
    assert "hunter2" not in str(only_finding(tree))


@pytest.mark.parametrize(
    ("content", "at", "message", "hint"),
    [
        (
            "a: 1\nb: c: d\n",
            (2, 5),
            "cannot be parsed as YAML: mapping values are not allowed in this context",
            "quotes",
        ),
        ("kind: x\n---\na: [\n", (4, 1), "cannot be parsed as YAML: did not find expected node content", "bracket"),
        ("a: 1\n--- x\n", (2, 1), "cannot be parsed as YAML: invalid document separator: x", "`---`"),
        ('{"a": 1}{"b": 1}{"c": 1,}', (1, 25), "cannot be parsed as JSON: expected a key in double quotes", "syntax"),
        ("a:\n\tb: 1\n", (2, 1), "cannot start any token", "tab"),
        (b"a: \xe9\n", (1, 4), "UTF-8", "UTF-8"),
    ],
)
def test_syntax_errors_have_a_place_and_advice(content: str, at: tuple[int, int], message: str, hint: str) -> None:
    assert "RV1-901" in refusal(with_file(content))
    finding = next(found for found in findings(with_file(content)) if found.rule == "RV1-901")
    assert (finding.line, finding.column) == at
    assert message in finding.message
    assert hint in finding.hint


def test_documents_before_a_syntax_error_count() -> None:
    tree = with_file("kind: x\nmetadata: {name: 5}\n---\na: [\n")
    assert [finding.rule for finding in findings(tree)] == ["RV1-903", "RV1-901"]
    assert [file.documents for file in read(tree).files if file.path == "manifests/x.yaml"] == [
        [{"kind": "x", "metadata": {"name": 5}}]
    ]


def test_one_broken_file_hides_no_other() -> None:
    tree = bundle(files={"manifests/a.yaml": "a: [", "manifests/b.yaml": "5", "manifests/sub/c.yaml": ""})
    assert [finding.rule for finding in findings(tree)] == ["RV1-901", "RV1-902", "RV1-904"]
    assert read(tree).bundle is not None
    assert refusal(tree) == ["RV1-901", "RV1-902", "RV1-904"]


def test_sub_directories_are_refused() -> None:
    tree = bundle(files={"manifests/sub/x.yaml": manifest("Secret", "s")})
    text = (
        'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: '
        'found "manifests/sub"'
    )
    assert refusal(tree) == ["RV1-904"]
    finding = only_finding(tree)
    assert (finding.rule, finding.message, finding.file) == ("RV1-904", text, "manifests/sub")
    assert "Move the files of manifests/sub/ up into manifests/" in finding.hint


def test_manifests_must_be_there() -> None:
    tree = tree_of({"metadata/annotations.yaml": {"annotations": {}}})
    assert refusal(tree) == ["RV1-904"]
    assert only_finding(tree).message == "the directory manifests/ is missing"
    assert read(tree).bundle is None


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        (["demo/manifests/a.yaml"], "demo/ holds manifests/: give that directory, or an archive of what is in it."),
        (["1.0/manifests/a.yaml", "1.1/manifests/a.yaml"], "Give one bundle: 1.0/, 1.1/ hold manifests/."),
        (["a/b/manifests/a.yaml"], "a/b/ holds manifests/: give that directory, or an archive of what is in it."),
        (["a.txt"], "Give the directory that holds manifests/ and metadata/."),
    ],
)
def test_a_directory_around_bundles_is_recognised(files: list[str], hint: str) -> None:
    tree = tree_of({"metadata/annotations.yaml": {"annotations": {}}, **dict.fromkeys(files, "")})
    assert only_finding(tree).hint == hint


def test_without_a_csv_there_is_no_bundle() -> None:
    text = 'no ClusterServiceVersion found in "manifests"'
    tree = bundle(files={"manifests/csv.yaml": None})
    assert only_finding(tree).message == text
    assert refusal(tree) == ["RV1-905"]
    assert read(tree).bundle is None
    assert refusal(tree_of({"metadata/annotations.yaml": {"annotations": {}}}, "manifests")) == ["RV1-905"]


def test_a_csv_that_cannot_be_parsed_is_not_missing() -> None:
    assert only_finding(bundle(files={"manifests/csv.yaml": "a: ["})).rule == "RV1-901"


def test_limits_are_those_of_the_caller() -> None:
    finding = only_finding(with_file("a: 1\n" * 10_000), limits=Limits(yaml_bytes=40_000))
    assert "RUKPAK_LIMIT_YAML_BYTES" in finding.message
    assert finding.rule == "RV1-901"


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("a: ", ""),
        ("kind: CustomResourceDefinition\nspec: {versions: [{schema: {openAPIV3Schema: {default: ", "}}}]}"),
        ("kind: ClusterServiceVersion\nspec: {install: {spec: {deployments: ", "}}}"),
        ("kind: Secret\nmetadata: ", ""),
        ("kind: List\nitems: ", ""),
    ],
)
def test_the_deepest_nesting_that_yaml_allows_ends_in_a_refusal(opening: str, closing: str, parity: bool) -> None:  # noqa: FBT001 a parameter of the test
    for levels in (100, 480, 600):
        for left, right in ("[]", ("{a: ", "}")):
            tree = with_file(opening + left * levels + right * levels + closing)
            reading = read(tree, parity=parity)
            assert all(defect.finding.file for defect in reading.defects)


def test_properties_that_nest_deeply_are_refused_or_written() -> None:
    nested = f"properties: [{{type: a, value: {'[' * 490}{']' * 490}}}]"
    reading = read(bundle(files={"metadata/properties.yaml": nested}))
    assert {defect.finding.rule for defect in reading.defects} <= {"RV1-907"}

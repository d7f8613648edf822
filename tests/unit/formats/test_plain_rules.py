"""Plain bundles: all defects at once, with their lines, where the operator stops at the first one."""

import pytest

from rukpak_py.core.findings import Finding
from rukpak_py.formats.validation import validate
from tests.unit.bundles import Content, tree_of

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


def found_in(contents: dict[str, Content | None], *directories: str) -> list[Finding]:
    return validate(tree_of(contents, *directories), format_name="plain")


def shown(findings: list[Finding]) -> list[str]:
    assert all(finding.is_error and finding.hint for finding in findings)
    return [str(finding) for finding in findings]


def test_a_good_bundle_has_no_findings() -> None:
    assert found_in({"manifests/a.yaml": CONFIG_MAP, "manifests/empty": "# nothing\n"}) == []


def test_p1_manifests_must_be_there() -> None:
    assert shown(found_in({"a.yaml": CONFIG_MAP})) == ["manifests: readdir manifests: file does not exist [PLAIN-001]"]
    assert shown(found_in({"manifests": ""})) == ["manifests: readdir manifests: not a directory [PLAIN-001]"]


def test_p2_every_directory_is_told() -> None:
    contents: dict[str, Content | None] = {"manifests/x/a": "", "manifests/b": CONFIG_MAP, "manifests/y/a": ""}
    assert shown(found_in(contents)) == [
        f'manifests/{name}: subdirectories are not allowed within the "manifests" directory of the bundle image '
        f'filesystem: found "manifests/{name}" [PLAIN-002]'
        for name in ("x", "y")
    ]


def test_p3_every_file_and_document_is_told() -> None:
    contents: dict[str, Content | None] = {
        "manifests/README": "!.gitignore\n",
        "manifests/a.yaml": CONFIG_MAP + "---\nmetadata: {name: b}\n---\n- 1\n",
        "manifests/b.yaml": "a: [\n",
        "manifests/c.yaml": "kind: List\nitems:\n- kind: Pod\n- 5\n- {}\n- kind: PodList\n  items: 7\n",
    }
    found = [finding for finding in found_in(contents) if finding.rule == "PLAIN-003"]
    assert [(finding.file, finding.line, finding.path) for finding in found] == [
        ("manifests/README", 1, ""),
        ("manifests/a.yaml", 6, ""),
        ("manifests/a.yaml", 8, ""),
        ("manifests/b.yaml", 2, ""),
        ("manifests/c.yaml", 4, "items[1]"),
        ("manifests/c.yaml", 5, "items[2]"),
        ("manifests/c.yaml", 6, "items[3]"),
    ]
    assert [finding.message.split(": ")[0] for finding in found] == [
        'unable to decode "manifests/README"',
        'unable to decode "manifests/a.yaml"',
        'unable to decode "manifests/a.yaml"',
        "error parsing manifests/b.yaml",
        *['unable to decode "manifests/c.yaml"'] * 3,
    ]


def test_a_broken_document_is_told_as_json_tells_it() -> None:
    (finding,) = found_in({"manifests/a": "!.gitignore\n"})
    assert "json: cannot unmarshal string into Go value" in finding.message


def test_p4_there_must_be_an_object() -> None:
    for contents, directory in [({"manifests/a": "# nothing\n"}, "other"), ({}, "manifests")]:
        assert shown(found_in({**contents}, directory)) == [
            (
                "manifests: invalid bundle: found zero objects: "
                "plain+v0 bundles are required to contain at least one object [PLAIN-004]"
            )
        ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Pod\nmetadata: {name: p}\n", "manifests/b:1:1: Pod p has no apiVersion [PLAIN-005]"),
        (
            "apiVersion: v1\nkind: ServiceAccount\nmetadata: {generateName: p-}\n",
            (
                "manifests/b:3:1: an object of kind ServiceAccount has no metadata.name; generateName is not "
                "supported; set metadata.name [PLAIN-006]"
            ),
        ),
        (
            CONFIG_MAP + "data: {a: b}\n",
            "manifests/b:4:9: ConfigMap a is defined differently in manifests/a and in manifests/b [PLAIN-007]",
        ),
    ],
)
def test_manifest_that_could_not_be_applied_is_reported(text: str, expected: str) -> None:
    assert shown(found_in({"manifests/a": CONFIG_MAP, "manifests/b": text})) == [expected]


def test_identical_objects_are_one() -> None:
    assert found_in({"manifests/a": CONFIG_MAP, "manifests/b": CONFIG_MAP}) == []

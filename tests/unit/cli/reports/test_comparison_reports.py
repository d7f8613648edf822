"""A comparison of bundles for pull requests: Markdown and workflow commands, with hostile content, and its widths."""

from typing import Any

import pytest

from rukpak_py.apply.field_differences import Difference, FieldChange
from rukpak_py.cli.reports import comparison, comparison_github, comparison_markdown
from rukpak_py.cli.terminal import Style
from rukpak_py.library.diffs.comparison import RenderingComparison, compare
from tests.manifests import crd, strings
from tests.unit.cli.objects import binding, manifest, role, rule
from tests.unit.cli.streams import pipe


def risky(summary: list[Difference] | None = None) -> RenderingComparison:
    old: list[Any] = [role("r", rule("get")), binding("b", "r"), crd("apps.test", schema=strings("size", "mode"))]
    new = [role("r", rule("get list")), binding("b", "r"), crd("apps.test", schema=strings("size"))]
    return compare(old, new, summary=summary or [])


def test_markdown_has_risks_above_objects() -> None:
    version = Difference(change=FieldChange.CHANGED, path="version", old="1", new="2")
    lines = list(comparison_markdown.lines_of(risky([version])))
    headings = ["| | Summary | Old | New |", "#### Permissions gained", "#### CRD upgrade safety"]
    places = [lines.index(heading) for heading in [*headings, "<details open><summary>Objects</summary>"]]
    assert places == sorted(places)
    assert "<code>&#34;1&#34;</code> | <code>&#34;2&#34;</code>" in lines[places[0] + 2]


def test_markdown_of_content_is_never_structure() -> None:
    hostile = "| <b>@team</b> `x` [a](b)\n# title"
    change = Difference(change=FieldChange.ADDED, path="annotations.a|b", new=hostile)
    text = "\n".join(comparison_markdown.lines_of(compare([], [], summary=[change])))
    (row,) = (line for line in text.splitlines() if "annotations" in line)
    assert row.count("|") == 5
    assert [part for part in ("<b>", "@team", "`x`", "[a]", "\\n#") if part in text] == []


def test_markdown_of_equal_bundles() -> None:
    assert list(comparison_markdown.lines_of(compare([], []))) == ["### Bundle differences", "", "No differences."]


def test_each_risk_is_a_warning_of_github() -> None:
    version = Difference(change=FieldChange.CHANGED, path="version", old="1", new="2\n::error::x")
    lines = list(comparison_github.lines_of(risky([version]), "a,b"))
    assert [line.split("::")[1] for line in lines] == [
        "warning file=a%2Cb,title=permission gained",
        "warning file=a%2Cb,title=CRD upgrade safety",
        "notice file=a%2Cb,title=bundle differences",
    ]
    assert "list pods" in lines[0]
    assert "spec.mode: the field was removed" in lines[1]
    assert not any("\n" in line for line in lines)


COMMENT = 65_536  # characters that GitHub takes


def large(objects: int, *, fields: int = 3, risks: int = 1) -> RenderingComparison:
    """Many objects with many long fields, and as many permissions gained, removed fields of CRDs and annotations."""
    summary = [
        Difference(change=FieldChange.ADDED, path=f"annotations.a{number}", new="|" * 300) for number in range(risks)
    ]
    schema = strings(*(f"field{number:04}" for number in range(risks + 1)))
    old: list[Any] = [role("r", rule("get")), binding("b", "r"), crd("apps.test", schema=schema)]
    rules = [rule("list", "things", group=f"group{number:04}") for number in range(risks)]
    new = [role("r", rule("get"), *rules), binding("b", "r"), crd("apps.test", schema=strings("field0000"))]
    for number in range(objects):
        for bundle, value in ((old, "a"), (new, "b")):
            data = {f"key{key}": "`" * 200 + value for key in range(fields)}
            bundle.append(manifest("ConfigMap", f"settings-{number:05}", data=data))
    return compare(old, new, summary=summary)


@pytest.mark.parametrize(("objects", "risks"), [(1, 1), (400, 1), (400, 20), (1, 400), (3_000, 3_000)])
def test_markdown_fits_a_comment(objects: int, risks: int) -> None:
    found = large(objects, risks=risks)
    text = "\n".join(comparison_markdown.lines_of(found))
    assert len(text) <= COMMENT
    lines = text.splitlines()
    assert lines[-1].startswith("objects: 0 removed, 0 added")
    assert {"| | Summary | Old | New |", "#### Permissions gained", "#### CRD upgrade safety"} <= set(lines)
    assert text.count("<details") == text.count("</details>") == 1


def test_markdown_leaves_objects_out_before_risks() -> None:
    found = large(400, risks=20)
    lines = list(comparison_markdown.lines_of(found))
    assert [line for line in lines if "group0019" in line]
    assert [line for line in lines if "field0020" in line]
    (sentence,) = (line for line in lines if "left out" in line)
    shown = [line for line in lines if "settings-" in line]
    fields = [line for line in lines if "data" in line and "key" in line]
    expected = f"{400 - len(shown)} objects and {1200 - len(fields)} fields left out to fit a comment on GitHub."
    assert sentence == f"{expected} `rukpakctl bundle diff` without `-o` prints all."
    assert len("\n".join(lines)) > COMMENT * 9 // 10


def test_markdown_cuts_long_lines_and_keeps_their_ends() -> None:
    many = role("r", rule("get", " ".join(f"name{number:05}" for number in range(9_000))))
    lines = list(comparison_markdown.lines_of(compare([binding("b", "r")], [many, binding("b", "r")])))
    (line,) = (line for line in lines if "name00000" in line)
    assert "name08999" in line
    assert "left out" in line
    assert len("\n".join(lines)) < COMMENT


def test_github_shows_ten_warnings_and_no_risk_is_lost() -> None:
    lines = list(comparison_github.lines_of(large(1, risks=8), "new"))
    warnings = [line for line in lines if line.startswith("::warning ")]
    assert len(warnings) == 10
    assert "title=7 further risks::" in warnings[-1]
    for number in range(8):
        assert any(f"group{number:04}" in line for line in warnings)
        assert any(f"field{number + 1:04}" in line for line in warnings)


def test_github_messages_have_a_length() -> None:
    lines = list(comparison_github.lines_of(large(1, risks=2_000), "new"))
    assert max(map(len, lines)) < 10_000
    assert "without `-o` prints all." in lines[-1]
    assert "further lines" in lines[-2]


def test_removed_definition_is_a_risk_in_each_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    found = compare([crd("apps.test", schema=strings("size"))], [])
    said = "the CRD was removed: deleted, unless it has instances that are not of the bundle"
    lines = list(comparison.lines_of(found, Style(pipe())))
    assert lines[:3] == [
        "CRD upgrade safety",
        "  CustomResourceDefinition.apiextensions.k8s.io/things.apps.test",
        f"    {said}",
    ]
    assert "#### CRD upgrade safety" in list(comparison_markdown.lines_of(found))
    (warning, _) = comparison_github.lines_of(found, "new")
    assert warning == f"::warning file=new,title=CRD upgrade safety::things.apps.test: {said}"


def test_long_path_is_broken_before_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "64")
    containers = [[{"name": "operator-manager", "env": [{"name": "RELATED_IMAGE_A", "value": end}]}] for end in "12"]
    old, new = (
        manifest("Deployment", "a", api_version="apps/v1", spec={"template": {"spec": {"containers": one}}})
        for one in containers
    )
    lines = list(comparison.lines_of(compare([old], [new]), Style(pipe())))
    assert lines[2:6] == [
        "      ~ spec.template.spec.containers[name=operator-manager]",
        "          .env[name=RELATED_IMAGE_A].value:",
        '          - "1"',
        '          + "2"',
    ]


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), (None, 160)])
def test_long_values_and_paths_fit(monkeypatch: pytest.MonkeyPatch, columns: str | None, widest: int) -> None:
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    old, new = (manifest("ConfigMap", "a", data={"key" * 70: f"{'x' * 300}{end}"}) for end in "12")
    text = "\n".join(
        comparison.lines_of(compare([old], [new, manifest("Service", "s" * 200)]), Style(pipe(), piped=160))
    )
    assert max(map(len, text.splitlines()[:-1])) == widest

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

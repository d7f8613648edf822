"""Findings about charts."""

import pytest

from rukpak_py.core.findings import Finding
from rukpak_py.formats.validation import Profile, validate
from tests.hostile.texts import FIXED, Hostile
from tests.unit.charts import METADATA, chart, config_map, hook, metadata


def told(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.location) for finding in findings]


def test_a_good_chart_has_no_findings() -> None:
    assert validate(chart({"templates/a.yaml": config_map("a"), "values.yaml": "a: 1"})) == []


@pytest.mark.parametrize(
    ("files", "rule", "location"),
    [
        ({"Chart.yaml": "name: web\nversion: a: b\n"}, "HELM-002", "web/Chart.yaml:2:11"),
        ({"values.yaml": "- a\n"}, "HELM-002", "web/values.yaml"),
        ({"Chart.yaml": METADATA + "dependencies: [{name: db}]\n"}, "HELM-003", "web/Chart.yaml"),
        ({"Chart.yaml": metadata("web", type="library")}, "HELM-004", "web/Chart.yaml"),
    ],
)
def test_refused_chart_is_an_error_with_its_file(files: dict[str, str], rule: str, location: str) -> None:
    findings = validate(chart(files, root="web"))
    assert told(findings) == [(rule, location)]
    assert findings[0].is_error
    assert findings[0].hint


@pytest.mark.parametrize(
    ("files", "rule", "location"),
    [
        ({"crds/b.yaml": "", "crds/a.yaml": ""}, "HELM-101", "crds/a.yaml"),
        ({"templates/tests/a.yaml": hook("a", "test")}, "HELM-102", "templates/tests/a.yaml:3:35"),
        ({"templates/a.yaml": "annotations:\n  'helm.sh/hook': test-success\n"}, "HELM-102", "templates/a.yaml:2:3"),
        ({"templates/a.yaml": 'x: {{- (lookup "v1" "Secret" "" "x").data }}'}, "HELM-103", "templates/a.yaml:1:9"),
        (
            {"charts/db/Chart.yaml": METADATA, "charts/db/templates/_a.tpl": "{{ randAlphaNum 5 }}"},
            "HELM-104",
            "charts/db/templates/_a.tpl:1:4",
        ),
        ({"templates/a.yaml": "a: b\nc: {{ $ca := genCA `x` 5 }}"}, "HELM-104", "templates/a.yaml:2:14"),
        ({"values.schema.json": '{"$ref": "https://example.com/a.json"}'}, "HELM-105", "values.schema.json:1:1"),
    ],
)
def test_surprising_part_of_a_chart_is_a_warning(files: dict[str, str], rule: str, location: str) -> None:
    findings = validate(chart(files))
    assert told(findings) == [(rule, location)]
    assert not findings[0].is_error
    assert validate(chart(files), profiles=[Profile.STRICT])[0].is_error


@pytest.mark.parametrize(
    "template",
    [
        "{{/* lookup and randAlphaNum */}}",
        "{{- /* now */ -}}",
        "lookup: now",
        '{{ "lookup" }} {{ .Values.lookup }} {{ $now }} {{ .now }} {{ `uuidv4` }}',
        "helm.sh/hook: pre-install",
    ],
)
def test_a_word_is_no_call(template: str) -> None:
    assert validate(chart({"templates/a.yaml": template})) == []


def test_files_beside_the_templates_are_not_looked_at() -> None:
    assert validate(chart({"README.md": "{{ lookup }}", "files/a.yaml": "{{ now }}"})) == []


@pytest.mark.parametrize("attack", [Hostile.ACTIONS_OPENED, Hostile.ACTIONS_COMMENTED, Hostile.STRINGS_OPENED])
@pytest.mark.parametrize(("head", "tail"), [("", ""), ("{{", "}}"), ("{{ `", "}}")])
def test_a_hostile_template_is_read_once(attack: Hostile, head: str, tail: str) -> None:
    template = f"{head}{FIXED[attack](200_000)}{tail}"

    assert validate(chart({"templates/a.yaml": template})) == []

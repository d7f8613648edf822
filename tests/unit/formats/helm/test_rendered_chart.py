"""A chart that is validated is rendered with its default values, where helm is there, and its objects are judged."""

import pytest

from e2e.cluster import binaries
from rukpak_py.core.findings import Finding
from rukpak_py.formats.validation import validate
from tests.unit.charts import Files, chart, config_map

PORT = "{{ .Values.port }}"
SERVICE = f"apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{ports: [{{port: {PORT}}}]}}\n"


@pytest.fixture(autouse=True)
def _helm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUKPAK_HELM", str(binaries.path("helm")))


def found(files: Files, root: str = "") -> list[Finding]:
    return validate(chart(files, root=root), format_name="helm")


def test_objects_of_a_chart_are_judged_with_its_default_values() -> None:
    assert found({"templates/web.yaml": SERVICE, "values.yaml": "port: 80\n"}) == []
    (finding,) = found({"templates/web.yaml": SERVICE, "values.yaml": "port: 70000\n"})
    assert (finding.rule, finding.file, finding.is_error) == ("OBJ-005", "templates/web.yaml", True)
    assert finding.message == "Service web: spec.ports[0].port: port is 70000, and must be from 1 to 65535"


def test_error_of_a_template_is_told_at_its_line() -> None:
    (finding,) = found({"templates/a.yaml": config_map("a", ".Values.a.b")}, root="web")
    assert (finding.rule, finding.file, finding.is_error) == ("HELM-005", "web/templates/a.yaml", True)
    assert finding.line > 0
    assert "nil pointer" in finding.message


def test_output_of_a_template_that_is_no_yaml_is_told_at_its_file() -> None:
    (finding,) = found({"templates/a.yaml": "a: b: {{ .Release.Name }}\n"}, root="web")
    assert (finding.rule, finding.file, finding.line) == ("HELM-005", "web/templates/a.yaml", 0)  # a line of the output
    assert "mapping values are not allowed" in finding.message


def test_chart_that_demands_a_value_is_not_broken() -> None:
    """Helm lint does not fail for it either."""
    (finding,) = found({"templates/a.yaml": config_map("a", '(required "set a" .Values.a)')})
    assert (finding.rule, finding.is_error) == ("HELM-005", False)
    assert "set a" in finding.message


def test_values_that_their_schema_refuses_are_an_error() -> None:
    schema = '{"type": "object", "properties": {"port": {"type": "integer"}}}'
    files = {"values.yaml": "port: http\n", "values.schema.json": schema, "templates/a.yaml": config_map("a")}
    (finding,) = found(files)
    assert (finding.rule, finding.is_error) == ("HELM-005", True)
    assert "port" in finding.message


def test_without_a_helm_nothing_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUKPAK_HELM")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert found({"templates/web.yaml": SERVICE, "values.yaml": "port: 70000\n"}) == []


def test_hooks_and_definitions_are_judged_too() -> None:
    hook = (
        'apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {"helm.sh/hook": pre-install}}\n'
        "type: kubernetes.io/tls\n"
    )
    crd = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: wrong}\nspec:\n"
        "  group: example.com\n  scope: Namespaced\n  names: {plural: things, kind: Thing}\n"
        "  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"
    )
    rules = {finding.rule for finding in found({"templates/hook.yaml": hook, "crds/things.yaml": crd})}
    assert {"OBJ-002", "OBJ-012"} <= rules

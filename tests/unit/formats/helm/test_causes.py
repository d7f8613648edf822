"""The first line of what helm says: a table of what helm 3.16.4 and 3.22.0 have printed for small charts."""

import pytest

from rukpak_py.api.conditions import BRIEF_CHARACTERS, brief
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.render import cause_first
from tests.unit.charts import chart, rendered

SCHEMA = "values don't meet the specifications of the schema(s) in the following chart(s):\n"
INCLUDE = (
    'template: shop/templates/a.yaml:1:6: executing "shop/templates/a.yaml" at <include "a" .>: error calling include'
)
TPL = 'template: shop/templates/a.yaml:1:6: executing "shop/templates/a.yaml" at <tpl .Values.t .>: error calling tpl'
IN_HELPER = (
    'template: shop/templates/_h.tpl:2:10: executing "b" at <.Values.a.b.c>: nil pointer evaluating interface {}.b'
)
SCHEMAS = [
    pytest.param(
        f"{SCHEMA}shop:\n- at '': additional properties 'x' not allowed\n",
        "values: shop: additional properties 'x' not allowed",
        id="3.22, at the root",
    ),
    pytest.param(
        f"{SCHEMA}shop:\n- at '': missing property 'level'\n- at '/replicas': got string, want integer\n"
        "sub:\n- at '/size': got number, want string\n",
        "values: shop: missing property 'level'; at '/replicas': got string, want integer; "
        "sub: at '/size': got number, want string",
        id="3.22, several of two charts",
    ),
    pytest.param(
        f"{SCHEMA}shop:\n- (root): Additional property x is not allowed\n",
        "values: shop: Additional property x is not allowed",
        id="3.16, at the root",
    ),
    pytest.param(
        f"{SCHEMA}shop:\n- (root): level is required\n- (root): Additional property x is not allowed\n"
        "- replicas: Invalid type. Expected: integer, given: string\nsub:\n"
        "- size: Invalid type. Expected: string, given: integer\n",
        "values: shop: level is required; Additional property x is not allowed; "
        "replicas: Invalid type. Expected: integer, given: string; "
        "sub: size: Invalid type. Expected: string, given: integer",
        id="3.16, several of two charts",
    ),
    pytest.param(
        f'{SCHEMA}shop:\njson-pointer in "file:///values.schema.json#/definitions/none" not found',
        'values: shop: json-pointer in "file:///values.schema.json#/definitions/none" not found',
        id="a schema that is wrong itself",
    ),
]
RAISED = [
    pytest.param(
        "execution error at (shop/templates/a.yaml:1:3): PASSWORDS ERROR: set it",
        "shop/templates/a.yaml:1: PASSWORDS ERROR: set it",
        id="fail",
    ),
    pytest.param(
        "execution error at (shop/templates/NOTES.txt:55:4): \nPASSWORDS ERROR: You must provide them.\n"
        "    'auth.password' must not be empty",
        "shop/templates/NOTES.txt:55: PASSWORDS ERROR: You must provide them.\n    'auth.password' must not be empty",
        id="fail, the cause on the next line",
    ),
    pytest.param(
        "execution error at (shop/charts/part/templates/a.yaml:1:6): a value for .Values.host is needed",
        "shop/charts/part/templates/a.yaml:1: a value for .Values.host is needed",
        id="required",
    ),
    pytest.param(
        "parse error at (shop/templates/a.yaml:1): missing value for if",
        "shop/templates/a.yaml:1: parse error: missing value for if",
        id="no template",
    ),
]
CALLS = [
    pytest.param(
        'template: shop/templates/a.yaml:1:16: executing "shop/templates/a.yaml" at <.Values.a>: '
        "range can't iterate over 5",
        "shop/templates/a.yaml:1: at <.Values.a>: range can't iterate over 5",
        id="one template",
    ),
    pytest.param(
        f'{INCLUDE}: template: shop/templates/_h.tpl:1:21: executing "a" at <include "b" .>: error calling include: '
        f"{IN_HELPER}",
        "shop/templates/_h.tpl:2: at <.Values.a.b.c>: nil pointer evaluating interface {}.b\n"
        f'{INCLUDE}: template: shop/templates/_h.tpl:1:21: executing "a" at <include "b" .>: error calling include: '
        f"{IN_HELPER}",
        id="a template that is called by templates",
    ),
    pytest.param(
        f'{INCLUDE}: template: no template "a" associated with template "gotpl"',
        'shop/templates/a.yaml:1: at <include "a" .>: error calling include: '
        'template: no template "a" associated with template "gotpl"',
        id="a template that is not there",
    ),
    pytest.param(
        f'{TPL}: error during tpl function execution for "{{{{ .Values.q.r }}}}": '
        'template: gotpl:1:10: executing "gotpl" at <.Values.q.r>: nil pointer evaluating interface {}.r',
        "shop/templates/a.yaml:1: at <.Values.q.r>: nil pointer evaluating interface {}.r\n"
        f'{TPL}: error during tpl function execution for "{{{{ .Values.q.r }}}}": '
        'template: gotpl:1:10: executing "gotpl" at <.Values.q.r>: nil pointer evaluating interface {}.r',
        id="a value that is a template: the file that uses it",
    ),
]
AS_IT_IS = [
    "YAML parse error on shop/templates/a.yaml: error converting YAML to JSON: yaml: line 6: did not find expected ','",
    "chart requires kubeVersion: >=1.99.0 which is incompatible with Kubernetes v1.37.0",
    "cannot load values.yaml: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
    'validation: chart.metadata.version "x.y" is invalid',
    SCHEMA.strip(),
    "",
]


@pytest.mark.parametrize(("said", "expected"), [*SCHEMAS, *RAISED, *CALLS])
def test_the_cause_comes_first(said: str, expected: str) -> None:
    assert cause_first(said) == expected


@pytest.mark.parametrize("said", AS_IT_IS)
def test_error_with_its_cause_first_stays_as_it_is(said: str) -> None:
    assert cause_first(said) == said


def test_a_chart_that_imitates_the_forms_is_read_in_time() -> None:
    """The text of a template's own error is in there; the forms are looked for in one pass."""
    call = 'template: a:1:1: executing "a" at <'
    assert cause_first(f"x: {call * 20_000}") == f"x: {call * 20_000}"
    nested = 'template: a:1:1: executing "a" at <b>: ' * 5_000
    assert cause_first(f"{nested}why").partition("\n")[0] == "a:1: at <b>: why"


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            {"values.yaml": "x: 1\n", "values.schema.json": '{"additionalProperties": false}'},
            "values: web: additional properties 'x' not allowed",
        ),
        (
            {"templates/NOTES.txt": '\n{{ printf "\\nPASSWORDS ERROR: You must provide %s\\n" "them" | fail }}'},
            "web/templates/NOTES.txt:2: PASSWORDS ERROR: You must provide them",
        ),
        (
            {
                "templates/_g.tpl": '{{ define "a" }}{{ include "b" . }}{{ end }}',
                "templates/_h.tpl": '\n{{ define "b" }}{{ .Values.a.b }}{{ end }}',
                "templates/a.yaml": '{{ include "a" . }}',
            },
            "web/templates/_h.tpl:2: at <.Values.a.b>: nil pointer evaluating interface {}.b",
        ),
    ],
)
def test_the_first_line_of_a_rendering_that_fails(helm: HelmProgram, files: dict[str, str], line: str) -> None:
    with pytest.raises(ContentError) as refused:
        rendered(helm, chart(files))
    assert str(refused.value).partition("\n")[0] == line
    assert brief(str(refused.value)) == line
    assert len(line) < BRIEF_CHARACTERS

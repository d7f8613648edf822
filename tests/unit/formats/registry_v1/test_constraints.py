from typing import Any

import pytest

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.metadata import cel_rule
from rukpak_py.formats.registry_v1.metadata.constraints import LARGEST, constraint_flaws

GVK = {"group": "a.b", "version": "v1", "kind": "C"}
PACKAGE = {"packageName": "a", "versionRange": ">=1.0.0"}


def flaws(value: Any) -> list[tuple[Path, str]]:
    found = list(constraint_flaws(value))
    assert all(flaw.hint for flaw in found)
    return [(flaw.path, flaw.text) for flaw in found]


@pytest.mark.parametrize(
    "value",
    [
        {"failureMessage": "m", "package": PACKAGE},
        {"gvk": GVK},
        {"cel": {"rule": "true"}},
        {"all": {"constraints": [{"gvk": GVK}, {"not": {"constraints": [{"package": PACKAGE}]}}]}},
        {"any": {"constraints": []}, "gvk": None},
        {"CEL": {"Rule": "true"}},
    ],
)
def test_every_form_of_the_schema_is_accepted(value: Any) -> None:
    assert flaws(value) == []


UNPARSABLE = "couldn't parse dependency of type olm.constraint"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({}, [((), "The CEL field is missing")]),
        ([], [((), UNPARSABLE)]),
        ({"gvk": GVK, "package": PACKAGE}, [((), "the constraint has package and gvk")]),
        ({"gvk": GVK, "rule": "true"}, [(("rule",), 'unknown field "rule"')]),
        ({"gvk": GVK, "failureMessage": 5}, [(("failureMessage",), UNPARSABLE)]),
        ({"cel": {}}, [(("cel",), "The CEL expression is missing")]),
        ({"cel": {"rule": 5}}, [(("cel", "rule"), UNPARSABLE)]),
        ({"cel": 5}, [(("cel",), UNPARSABLE)]),
        ({"cel": {"rule": "1"}}, [(("cel", "rule"), "Invalid CEL expression: cel expressions must have type Bool")]),
        (
            {"package": {"packageName": "a", "version": "1.0.0"}},
            [(("package", "version"), 'unknown field "version"'), (("package",), "Package version is empty")],
        ),
        (
            {"package": {**PACKAGE, "versionRange": "^1"}},
            [(("package", "versionRange"), "Invalid semver format version")],
        ),
        ({"gvk": {**GVK, "version": 1}}, [(("gvk", "version"), UNPARSABLE)]),
        (
            {"any": {"constraints": [{"all": {"constraints": "x"}}]}},
            [(("any", "constraints", 0, "all", "constraints"), UNPARSABLE)],
        ),
        (
            {"any": {"constraints": [{"gvk": {**GVK, "kind": ""}}]}},
            [(("any", "constraints", 0, "gvk", "kind"), "API Kind is empty")],
        ),
        (
            {"cel": {"rule": "x" * LARGEST}},
            [((), f"olm.constraint value is greater than max constraint size {LARGEST} bytes")],
        ),
    ],
)
def test_what_does_not_fit_the_schema_is_told_with_its_path(value: Any, found: list[Any]) -> None:
    assert flaws(value) == found


@pytest.mark.parametrize(("levels", "fits"), [(30, True), (5000, False)])
def test_no_nesting_exhausts_the_stack(levels: int, fits: bool) -> None:  # noqa: FBT001 a column of the table
    value: Any = {"gvk": GVK}
    for _ in range(levels):
        value = {"all": {"constraints": [value]}}
    assert (flaws(value) == []) is fits


@pytest.mark.parametrize(
    "rule",
    [
        "true",
        "properties.exists(p, p.type == 'olm.gvk' && p.value == {'group': 'a', 'version': 'v1', 'kind': 'K'})",
        'properties.exists(p, p.type == "x" && semver_compare(p.value.version, "1.0.0") >= 0)',
        "properties.filter(p, p.type == r'a\\d').size() > 0 // comment",
        "!properties.all(p, properties.exists(q, q == p)) ? true : 1 in [1, 2,]",
        "[,] == [] || {} == {'a': 1}.b || -1.5e3 < .5",
        '"""a\nb""" != "\\u00e9" && b"a" == b\'a\' && 1u == 0x1Fu',
        "properties[0].type == 'a' && has(properties[0].value)",
        "timestamp('2020-01-01T00:00:00Z').getFullYear() == 2020",
        "google.protobuf.Timestamp{seconds: 1} == timestamp('2020-01-01T00:00:00Z')",
        "[true][0]",
        "(" * 200 + "true" + ")" * 200,  # too deep to be checked
    ],
)
def test_a_cel_rule_is_accepted(rule: str) -> None:
    cel_rule.check(rule)


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("1 + 1", "cel expressions must have type Bool"),
        ("properties", "cel expressions must have type Bool"),
        ("semver_compare('1', '2')", "cel expressions must have type Bool"),
        ("true ? 1 : 'x'", "cel expressions must have type Bool"),
        ("foo(", "Syntax error: unexpected '<EOF>' at column 5"),
        ("true true", "Syntax error: unexpected 'true' at column 6"),
        ("size([1],) == 1", "Syntax error: unexpected ')' at column 10"),
        ("true &", "Syntax error: nothing known begins at column 6"),
        ("'abc == 1", "Syntax error: nothing known begins at column 1"),
        (r"'\d' == 'x'", "Syntax error: nothing known begins at column 1"),
        ("x", "undeclared reference to 'x' at column 1"),
        ("properties.exists(p, q.type == 'x')", "undeclared reference to 'q' at column 22"),
        ("properties.exist(p, true)", "undeclared reference to 'exist' at column 12"),
        ("foo(1)", "undeclared reference to 'foo' at column 1"),
    ],
)
def test_a_cel_rule_is_refused(rule: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        cel_rule.check(rule)
    assert str(refused.value) == error

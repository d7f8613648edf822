"""Expressions of CEL: the slips that are found without a parser, and expressions that look like them."""

import pytest

from rukpak_py.formats.object_rules.cel import problem_of_expression
from tests.unit.formats.object_rules.judging import Json, manifest, told

REFUSED = [
    ("self.a = 1", "= is not an operator of CEL: write =="),
    ("self.a == 1 & self.b", "& is not an operator of CEL: write &&"),
    ("self.a | self.b", "| is not an operator of CEL: write ||"),
    ("self.a === 1", "= is not an operator of CEL: write =="),
    ("self.a == 1;", "the character ; has no meaning"),
    ("self.a == $b", "the character $ has no meaning"),
    ("self.a == 'x", "a string has no end"),
    ("self.a == 'x\\'", "a string has no end"),
    ("has(self.a", "the bracket ( is not closed"),
    ("has(self.a))", "the bracket ) closes nothing"),
    ("self.a[0)", "the bracket ) closes nothing"),
    ("self.a &&", "it ends with &&"),
    ("self.a ==", "it ends with =="),
    ("self.", "it ends with ."),
    ("self.a > // 1", "it ends with >"),
    ("!", "it ends with !"),
    ("self.a in", "it ends with in"),
    ("self.a and self.b", "and is not an operator of CEL: write &&"),
    ("self.size() > 0 or true", "or is not an operator of CEL: write ||"),
    ("has(self.a) self.b", "there is no operator before self"),
    ("self.a 'x'", "there is no operator before 'x'"),
    ("self.a == 1 2", "there is no operator before 2"),
]
ACCEPTED = [
    "self.a == 1",
    "self.a <= 1 || self.a >= 2 && self.a != 3",
    "!has(self.a) ? true : self.a.size() > 0",
    "self.a == ';$#@ = &'",
    'self.a == "it\'s"',
    "self.a == 'a\\'b'",
    "self.a == r'a\\'",
    "self.a == '''a'b'''",
    "self.a.all(k, k.startsWith('x')) // = & ;",
    "self.a\n  == 'x'",
    "'a' in self.b && self.a in ['x', r'y', b'z']",
    "self.a == 1.5e3 || self.b == 0x1F || self.a > -1u",
    "self.and == self.or.not",
    "{'a': 1}.all(k, k == 'a')",
    "self.a[?'x'].orValue('') == 'x'",
    "",
]


@pytest.mark.parametrize(("expression", "problem"), REFUSED)
def test_slip_is_named(expression: str, problem: str) -> None:
    assert problem_of_expression(expression) == problem


@pytest.mark.parametrize("expression", ACCEPTED)
def test_expression_without_a_slip_has_no_problem(expression: str) -> None:
    assert problem_of_expression(expression) == ""


@pytest.mark.parametrize(
    ("rule", "is_told"),
    [
        ({"rule": "self.a\n== 'x'"}, True),
        ({"rule": "self.a\n== 'x'", "message": ""}, True),
        ({"rule": "self.a\n== 'x'", "message": "a is x"}, False),
        ({"rule": "self.a == 'x'\n"}, False),
    ],
)
def test_rule_of_several_lines_has_a_message(rule: Json, *, is_told: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [rule]}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = manifest("CustomResourceDefinition", "a.example.com", "apiextensions.k8s.io/v1", spec={"versions": [version]})
    message = "message is required for a rule of several lines"
    assert [one for one in told("OBJ-002", crd) if "message" in one] == ([message] if is_told else [])

from typing import Any

import pytest

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.metadata.dependencies import LARGEST, constraint_problems
from rukpak_py.formats.rules import Place

GVK = {"group": "a.b", "version": "v1", "kind": "C"}
PACKAGE = {"packageName": "a", "versionRange": ">=1.0.0"}


def flaws(value: Any) -> list[tuple[Path, str]]:
    found = list(constraint_problems(value, Place(file="a", path=("v",))))
    assert all(problem.hint for problem in found)
    return [(problem.place.path[1:], problem.message) for problem in found if problem.place is not None]


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


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({}, [((), "the constraint says nothing")]),
        ([], [((), "a constraint must be an object")]),
        ({"gvk": GVK, "package": PACKAGE}, [((), "the constraint has package and gvk")]),
        ({"gvk": GVK, "rule": "true"}, [(("rule",), 'unknown field "rule"')]),
        ({"gvk": GVK, "failureMessage": 5}, [(("failureMessage",), "failureMessage must be a string")]),
        ({"cel": {}}, [(("cel",), "the constraint has no rule")]),
        ({"cel": {"rule": 5}}, [(("cel", "rule"), "rule must be a string")]),
        ({"cel": 5}, [(("cel",), "cel must be an object")]),
        ({"cel": {"rule": " \n"}}, [(("cel",), "the constraint has no rule")]),
        (
            {"package": {"packageName": "a", "version": "1.0.0"}},
            [(("package", "version"), 'unknown field "version"'), (("package",), "versionRange is missing")],
        ),
        (
            {"package": {**PACKAGE, "versionRange": "^1"}},
            [(("package", "versionRange"), '"^1" is not a valid version range')],
        ),
        ({"gvk": {**GVK, "version": 1}}, [(("gvk", "version"), "version must be a string")]),
        (
            {"any": {"constraints": [{"all": {"constraints": "x"}}]}},
            [(("any", "constraints", 0, "all", "constraints"), "constraints must be a list")],
        ),
        (
            {"any": {"constraints": [{"gvk": {**GVK, "kind": ""}}]}},
            [(("any", "constraints", 0, "gvk", "kind"), "kind is missing")],
        ),
        (
            {"cel": {"rule": "x" * LARGEST}},
            [((), f"the constraint has more than {LARGEST} bytes")],
        ),
    ],
)
def test_constraint_that_does_not_fit_the_schema_is_reported_with_its_path(value: Any, found: list[Any]) -> None:
    assert flaws(value) == found


@pytest.mark.parametrize(("levels", "fits"), [(30, True), (5000, False)])
def test_no_nesting_exhausts_the_stack(levels: int, fits: bool) -> None:  # noqa: FBT001 a column of the table
    value: Any = {"gvk": GVK}
    for _ in range(levels):
        value = {"all": {"constraints": [value]}}
    assert (flaws(value) == []) is fits

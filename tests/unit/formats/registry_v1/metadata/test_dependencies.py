from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content import yaml
from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.metadata.dependencies import NO_VALUE, dependency_problems, read_dependencies


def found(entry: str) -> list[tuple[Path, str]]:
    """Findings about one dependency; paths begin at its entry."""
    document = yaml.load(f"dependencies:\n- {entry}\n".encode())
    (dependency,) = read_dependencies([("metadata/dependencies.yaml", document)])
    problems = list(dependency_problems(dependency))
    assert all(problem.hint for problem in problems)
    return [(problem.place.path[2:], problem.message) for problem in problems if problem.place is not None]


@pytest.mark.parametrize(
    "entry",
    [
        "{type: olm.package, value: {packageName: a, version: '>=1.0.0 <2.0.0'}}",
        "{Type: olm.package, VALUE: {PackageName: a, Version: 1.x, other: 5}}",
        "{type: olm.gvk, value: {group: a.b, version: v1, kind: C}}",
        "{type: olm.label, value: {label: x}}",
        "{type: olm.constraint, value: {cel: {rule: 'properties.exists(p, p.type == \"x\")'}, failureMessage: m}}",
    ],
)
def test_a_sound_dependency_has_no_problem(entry: str) -> None:
    assert found(entry) == []


@pytest.mark.parametrize(
    ("entry", "problems"),
    [
        ("{type: foo, value: {}}", [((), 'the type of the dependency, "foo", is not known')]),
        ("null", [((), 'the type of the dependency, "", is not known')]),
        (
            "{type: olm.package, packageName: a, version: 1.0.0}",
            [((), "the dependency of type olm.package has no value")],
        ),
        ("{type: olm.gvk, value: []}", [(("value",), "the value must be an object")]),
        (
            "{type: olm.package, value: }",
            [(("value",), "packageName is missing"), (("value",), "version is missing")],
        ),
        (
            "{type: olm.package, value: {packageName: '', version: 1.0}}",
            [(("value", "version"), "version must be a string")],
        ),
        (
            "{type: olm.package, value: {packageName: a, version: ^1.0.0}}",
            [(("value", "version"), '"^1.0.0" is not a valid version range')],
        ),
        (
            "{type: olm.gvk, value: {group: ''}}",
            [
                (("value", "group"), "group is missing"),
                (("value",), "version is missing"),
                (("value",), "kind is missing"),
            ],
        ),
        ("{type: olm.label, value: {}}", [(("value",), "label is missing")]),
    ],
)
def test_a_broken_dependency_is_told_with_its_path(entry: str, problems: list[Any]) -> None:
    assert found(entry) == problems


def test_the_first_file_that_decodes_with_a_list_that_is_not_empty_counts() -> None:
    files: list[tuple[str, Any]] = [
        ("metadata/e.yaml", {"dependencies": [{"type": "e"}]}),
        ("metadata/d.txt", {"dependencies": [{"type": 5, "value": None}, None]}),
        ("metadata/c.yaml", {"dependencies": [5]}),
        ("metadata/b.yaml", {"dependencies": []}),
        ("metadata/a.yaml", None),
    ]
    first, second = read_dependencies(files)
    assert (first.type, first.value, first.place.file) == ("5", None, "metadata/d.txt")
    assert (second.type, second.value, second.place.path) == ("", NO_VALUE, ("dependencies", 1))
    assert read_dependencies(files[2:]) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "value", "cel", "all"]), inner)
    ),
    max_leaves=8,
)


@given(values)
def test_whatever_a_file_holds_there_are_dependencies_or_none(document: Any) -> None:
    for dependency in read_dependencies(
        [("metadata/a.yaml", {"dependencies": document}), ("metadata/b.yaml", document)]
    ):
        for problem in dependency_problems(dependency):
            assert problem.message

"""Differences that a review can do without, and those that only look alike."""

from typing import Any

import pytest

from rukpak_py.library.diffs.comparison import compare
from rukpak_py.library.diffs.insignificant import insignificant
from tests.manifests import crd
from tests.unit.cli.objects import manifest


def left_out(old: Any, new: Any, annotations: tuple[dict[str, str], dict[str, str]] = ({}, {})) -> tuple[int, int]:
    """Count the differences that are left out, and those that are shown."""
    found = compare([old], [new], is_insignificant=insignificant(*annotations))
    return found.left_out, sum(len(one.differences) for one in found.changed)


def described(**schema: Any) -> Any:
    return crd("apps.test", schema={"type": "object", **schema})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"description": "a"}, {"description": "b"}, (1, 0)),
        ({}, {"description": "b"}, (1, 0)),
        ({"properties": {"x": {"description": "a"}}}, {"properties": {"x": {"description": "b"}}}, (1, 0)),
        ({"properties": {"default": {"description": "a"}}}, {"properties": {"default": {"description": "b"}}}, (1, 0)),
        ({"default": {"description": "a"}}, {"default": {"description": "b"}}, (0, 1)),
        ({"properties": {"x": {}}}, {"properties": {"x": {}, "description": {"type": "string"}}}, (0, 1)),
        (
            {"properties": {"description": {"type": "string"}}},
            {"properties": {"description": {"type": "integer"}}},
            (0, 1),
        ),
        ({"properties": {"x": {"title": "a"}}}, {"properties": {"x": {"title": "b"}}}, (0, 1)),
    ],
)
def test_descriptions_of_schemas(old: dict[str, Any], new: dict[str, Any], expected: tuple[int, int]) -> None:
    assert left_out(described(**old), described(**new)) == expected


def deployment(**annotations: str) -> Any:
    template = {"metadata": {"annotations": annotations}}
    return manifest("Deployment", "d", api_version="apps/v1", spec={"template": template})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (deployment(a="1"), deployment(a="2"), (1, 0)),
        (deployment(a="1"), deployment(a="3"), (0, 1)),  # another value than the CSV has
        (deployment(b="1"), deployment(b="2"), (0, 1)),
        (manifest("ConfigMap", "c", data={"a": "1"}), manifest("ConfigMap", "c", data={"a": "2"}), (0, 1)),
    ],
)
def test_annotations_that_pods_have_from_the_csv(old: Any, new: Any, expected: tuple[int, int]) -> None:
    assert left_out(old, new, ({"a": "1"}, {"a": "2"})) == expected

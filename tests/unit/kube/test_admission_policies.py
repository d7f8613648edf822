"""How a policy differs from what was shipped."""

from typing import Any

import pytest

from rukpak_py.kube.admission_policies import difference_of


@pytest.mark.parametrize(
    ("live", "words"),
    [
        ({"a": [{"b": 1}], "c": {}}, ""),
        ({"a": [{"b": 1}]}, "spec.c is missing"),
        ({"a": [{"b": 1}], "c": {}, "d": 1}, "spec.d is set, and should not be"),
        ({"a": [{"b": 1}, {}], "c": {}}, "spec.a has 2 entries, and should have 1"),
        ({"a": [{"b": 2}], "c": {}}, "spec.a[0].b is 2, and should be 1"),
        (None, "spec is None, and should be {'a': [{'b': 1}], 'c': {}}"),
    ],
)
def test_the_first_difference_is_named(live: Any, words: str) -> None:
    assert difference_of({"a": [{"b": 1}], "c": {}}, live, "spec") == words

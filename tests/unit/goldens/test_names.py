"""The words of the API: labels, annotations, finalizers, field managers, names of our objects, reasons."""

from enum import EnumMeta
from typing import Any

import pytest

from rukpak_py.api import names
from tests.unit.goldens.pinned import check, subjects

SUBJECTS = [subject for subject in subjects() if subject.startswith("names: ")]
FUNCTIONS = {"canonical_class", "is_unknown_class", "field_manager", "ca_field_manager"}
IMPORTED = {"OWN_GROUP", "StrEnum"}


def value_of(name: str) -> Any:
    value = getattr(names, name, None)
    if isinstance(value, EnumMeta):
        return {member.name: member.value for member in value}  # type: ignore[var-annotated] # of any enum
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("subject", SUBJECTS)
def test_names_in_clusters(subject: str) -> None:
    check(subject, {name: value_of(name) for name in subjects()[subject]["values"]})


def test_every_name_is_pinned() -> None:
    pinned = {name for subject in SUBJECTS for name in subjects()[subject]["values"]}
    assert {name for name in vars(names) if not name.startswith("_")} - IMPORTED - FUNCTIONS - pinned == set()


def test_a_golden_that_fails_says_what_the_change_does() -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        check("Lease", {"name": "another", "holder": "core-1_10.0.0.1"})
    message = str(failed.value)
    assert "name\n  was 'core.rukpak.io'\n  is  'another'" in message
    assert "On clusters that run the former release: " + subjects()["Lease"]["changed"] in message
    assert "holder" not in message

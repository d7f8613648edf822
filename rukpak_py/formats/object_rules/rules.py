"""Rules for objects of the API server's own kinds, whatever brings them: what its validation refuses."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats.object_rules import custom_objects, images, memory, ports, rights, services, spelling
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.object_rules.kinds import kind_defect
from rukpak_py.formats.object_rules.parts import Sort
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Judged] = Family(title="What an API server refuses", origin="Kubernetes")
PREFIX: Final = "OBJ-"


_RULES: Final = (
    (
        "OBJ-001",
        Sort.TYPE,
        "The values of fields have the right types",
        "Write the value as its type demands: strings that look like numbers or booleans need quotes.",
    ),
    ("OBJ-002", Sort.REQUIRED, "Required fields are given", "Add the field."),
    ("OBJ-003", Sort.CHOICE, "Fields have one of the values that are known", "Write one of the values; case counts."),
    (
        "OBJ-004",
        Sort.REPEATED,
        "Entries of lists and names within an object are there once",
        (
            "Remove one of them, or give it another name. For server-side apply the fields that are named are the key "
            "of an entry. Of variables, container ports and pull secrets rukpak keeps the last one."
        ),
    ),
    ("OBJ-005", Sort.RANGE, "Numbers and sizes are in their range", "Write a number in the range that is named."),
    ("OBJ-006", Sort.NAME, "Names, labels and keys are valid", "Write a name of the form that is described."),
    (
        "OBJ-007",
        Sort.UNION,
        "Of fields that exclude each other one is given, and where one is needed it is there",
        "Keep one of the fields that are named, or add one.",
    ),
    ("OBJ-008", Sort.REFERENCE, "Parts of an object that refer to each other agree", "Correct one of the two places."),
    (
        "OBJ-009",
        Sort.FORM,
        "Strings have the form that their field needs",
        "Write the string in the form that is described.",
    ),
)
for _id, _sort, _title, _hint in _RULES:
    FAMILY.rule(_id, title=_title, hint=_hint, error_only_in=Profile.DEFAULT)(partial(Judged.of, sort=_sort))


@FAMILY.rule(
    "OBJ-010",
    title="Kinds of Kubernetes' own groups exist",
    hint="Correct the spelling of `kind` or of `apiVersion`.",
    error_only_in=Profile.DEFAULT,
)
def kinds_exist(judged: Judged) -> Iterator[Problem]:
    return _of_kinds(judged, is_removed=False)


@FAMILY.rule(
    "OBJ-011",
    title="Supported versions of Kubernetes serve the apiVersion",
    hint="Write the apiVersion that took its place, and adapt the fields.",
    error_only_in=Profile.DEFAULT,
)
def versions_are_served(judged: Judged) -> Iterator[Problem]:
    return _of_kinds(judged, is_removed=True)


@FAMILY.rule(
    "OBJ-012",
    title="The names, versions and parts of a CRD are valid",
    hint="Correct the field as the message says.",
    error_only_in=Profile.DEFAULT,
)
def definitions_are_valid(judged: Judged) -> Iterator[Problem]:
    return iter(judged.definitions)


def _of_kinds(judged: Judged, *, is_removed: bool) -> Iterator[Problem]:
    for one in judged.objects:
        found = kind_defect(one.document.manifest)
        if found is not None and found.is_removed is is_removed:
            problem = one.origin.problem(found.message, found.field, hint=found.hint or None, fix=found.fix)
            yield problem if found.is_certain else replace(problem, severity=Severity.WARNING)


FAMILIES: Final[tuple[Family[Judged], ...]] = (
    FAMILY,
    images.FAMILY,
    ports.FAMILY,
    rights.FAMILY,
    services.FAMILY,
    custom_objects.FAMILY,
    spelling.FAMILY,
    memory.FAMILY,
)

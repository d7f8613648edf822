"""Rules for objects of the API server's own kinds, whatever brings them: what its validation refuses."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from rukpak_py.core.findings import Profile
from rukpak_py.formats.crds.rules import problems_of
from rukpak_py.formats.documents import Document
from rukpak_py.formats.object_rules import defects
from rukpak_py.formats.object_rules.kinds import kind_defect
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.schemas import schemas
from rukpak_py.formats.rules import Family, Place, Problem, path_text

FAMILY: "Family[Judged]" = Family(title="What an API server refuses", origin="Kubernetes")
PREFIX: Final = "OBJ-"
_BETWEEN: Final = frozenset({Sort.REPEATED, Sort.REFERENCE})
_VOLUMES: Final = frozenset({"volumes", "volumeMounts"})


@dataclass(kw_only=True)
class Judged:
    """Documents that were judged, and what was found. Each document once: a rule is a sort of defects."""

    documents: list[Document] = field(default_factory=list)
    found: list[tuple[Sort, Problem]] = field(default_factory=list)
    definitions: list[Problem] = field(default_factory=list)  # of CRDs, beside their schemas

    def add(self, document: Document, *, title: str = "") -> None:
        """`title`: of an object that stands in no file, for its messages; it has no lines either."""
        self.documents.append(document)
        self.definitions += [_titled(one, title) for one in problems_of(document)]
        for one in defects.of_object(document.manifest):
            problem = _problem(one, document.place())
            self.found.append((one.sort, _titled(problem, f"{title}{path_text(one.path)}: " if title else "")))

    def add_schemas(self, document: Document) -> None:
        """The schemas of a CRD alone."""
        part = Part("CustomResourceDefinition", document.manifest, ())
        self.found += [(one.sort, _problem(one, document.place())) for one in islice(schemas(part), defects.MOST)]

    def add_part(self, value: Any, type_name: str, place: Place, *, has_volumes: bool = True) -> None:
        """`has_volumes`: else others are mounted in their place, and what refers to them says nothing."""
        for one in defects.of_part(value, type_name):
            if has_volumes or one.sort not in _BETWEEN or not _VOLUMES.intersection(one.path):
                self.found.append((one.sort, _problem(one, place)))

    def of(self, sort: Sort) -> Iterator[Problem]:
        return (problem for found, problem in self.found if found is sort)


def _titled(problem: Problem, title: str) -> Problem:
    return replace(problem, message=f"{title}{problem.message}", at=(0, 0)) if title else problem


def _problem(defect: Defect, place: Place) -> Problem:
    at = replace(place, path=(*place.path, *defect.path), on_key=defect.on_key)
    return Problem(message=defect.message, place=at, hint=defect.hint or None, fix=defect.fix)


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
    for document in judged.documents:
        found = kind_defect(document.manifest)
        if found is not None and found.is_removed is is_removed:
            place = document.place(found.field)
            yield Problem(message=found.message, place=place, hint=found.hint or None, fix=found.fix)

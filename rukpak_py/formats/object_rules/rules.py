"""Rules for objects of the API server's own kinds, whatever brings them: what its validation refuses."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from rukpak_py.core.findings import Profile
from rukpak_py.formats.manifests import Document
from rukpak_py.formats.object_rules import defects
from rukpak_py.formats.object_rules.kinds import kind_defect
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort
from rukpak_py.formats.object_rules.schemas import schemas
from rukpak_py.formats.registry_v1.kinds import DEFINITION
from rukpak_py.formats.registry_v1.rules.definition_parts import problems_of
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
        if document.kind == DEFINITION and document.api_version == "apiextensions.k8s.io/v1":
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
    return Problem(message=defect.message, place=at, hint=defect.hint or None)


@FAMILY.rule(
    "OBJ-001",
    title="The values of fields have the right types",
    hint="Write the value as its type demands: strings that look like numbers or booleans need quotes.",
    error_only_in=Profile.DEFAULT,
)
def types_are_right(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.TYPE)


@FAMILY.rule("OBJ-002", title="Required fields are given", hint="Add the field.", error_only_in=Profile.DEFAULT)
def fields_are_given(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.REQUIRED)


@FAMILY.rule(
    "OBJ-003",
    title="Fields have one of the values that are known",
    hint="Write one of the values; case counts.",
    error_only_in=Profile.DEFAULT,
)
def values_are_known(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.CHOICE)


@FAMILY.rule(
    "OBJ-004",
    title="Entries of lists and names within an object are there once",
    hint="Remove one of them, or give it another name. For server-side apply the fields that are named are the key of "
    "an entry. Of variables, container ports and pull secrets rukpak keeps the last one.",
    error_only_in=Profile.DEFAULT,
)
def entries_are_there_once(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.REPEATED)


@FAMILY.rule(
    "OBJ-005",
    title="Numbers and sizes are in their range",
    hint="Write a number in the range that is named.",
    error_only_in=Profile.DEFAULT,
)
def numbers_are_in_range(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.RANGE)


@FAMILY.rule(
    "OBJ-006",
    title="Names, labels and keys are valid",
    hint="Write a name of the form that is described.",
    error_only_in=Profile.DEFAULT,
)
def names_are_valid(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.NAME)


@FAMILY.rule(
    "OBJ-007",
    title="Of fields that exclude each other one is given, and where one is needed it is there",
    hint="Keep one of the fields that are named, or add one.",
    error_only_in=Profile.DEFAULT,
)
def unions_have_one_member(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.UNION)


@FAMILY.rule(
    "OBJ-008",
    title="Parts of an object that refer to each other agree",
    hint="Correct one of the two places.",
    error_only_in=Profile.DEFAULT,
)
def references_are_met(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.REFERENCE)


@FAMILY.rule(
    "OBJ-009",
    title="Texts have the form that their field needs",
    hint="Write the text in the form that is described.",
    error_only_in=Profile.DEFAULT,
)
def texts_have_their_form(judged: Judged) -> Iterator[Problem]:
    return judged.of(Sort.FORM)


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
            field_name = "apiVersion" if is_removed or "apiVersion" in found.message else "kind"
            yield Problem(message=found.message, place=document.place(field_name), hint=found.hint or None)

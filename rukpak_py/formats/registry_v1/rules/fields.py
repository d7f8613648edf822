"""Shipped objects of the API server's own kinds: their fields, and integers that would become others.

An integer that does not fit prevents rendering: the server takes it for another one without a word. An unknown field is
left out where we render for people; in a cluster the server decides, which may know more fields than we do. Those of
the rules of roles have a rule of their own, RV1-945.
"""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.rules import Family, Problem, path_text
from rukpak_py.formats.type_defects import RANGES

FAMILY: Family[RegistryBundle] = Family(title="Fields of shipped objects", origin="rukpak-py")
INTEGERS: Family[RegistryBundle] = Family(title="Integers of shipped objects", origin="rukpak-py")

_ROLES: Final = frozenset({"Role", "ClusterRole"})


@FAMILY.rule(
    "RV1-960",
    title="Fields of shipped objects are known",
    hint="Correct the spelling (case counts), move it to where it belongs, or remove it: it is left out.",
    severity=Severity.WARNING,
)
def fields_of_objects_are_known(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        has_rules = document.kind in _ROLES
        for path in checked(document.manifest).undeclared:
            if has_rules and path[0] == "rules" and len(path) > 1:
                continue
            yield Problem(message=f"unknown field {path_text(path)}", place=document.place(*path, on_key=True))


@INTEGERS.rule(
    "RV1-961",
    title="Integers of shipped objects fit their types",
    hint="Write a number that fits: the API server takes it for another one.",
    error_only_in=Profile.DEFAULT,
)
def integers_of_objects_fit(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        for overflow in checked(document.manifest).overflows:
            hint = RANGES[overflow.wanted]
            yield Problem(message=overflow.message, place=document.place(*overflow.path), hint=hint)

"""docs/rules.md: every rule of `rukpakctl bundle validate`, made from the rules themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rukpak_py.core.findings import Profile
from rukpak_py.formats import validation
from rukpak_py.formats.registry_v1.reading import DEFECT_KINDS
from rukpak_py.formats.registry_v1.rules import rule_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rukpak_py.formats.rules import Family, Rule, RuleOfReading

HEADER = """\
# Rules

Generated from the rules by `make generate`; do not edit. What `rukpakctl bundle validate` checks, with the id of its
findings. The meaning of an id never changes; ids in parentheses are former ones of the rule. Errors are reasons why a
bundle cannot be installed; warnings are worth a look, and are errors with `--strict` (in the library: in the profile
`strict`). A defect is reported once.

With `--profile opm`, errors are reasons why `opm alpha bundle validate` refuses a bundle. "warning, error with `opm`"
marks what only `opm` refuses, "error, warning with `opm`" what it accepts though it cannot be installed. Single
findings of other rules may be such: `opm` reads no properties, and an operator whose description has a wrong type can
be installed.
"""
READING = "Reading a bundle"
REGISTRY = "## Bundles of OLM (registry+v1)"
PLAIN = "## Plain bundles, charts, and all files"


def page() -> str:
    defects = (_row(kind.id, _severity(kind), kind.title, kind.hint, "rukpak-py") for kind in DEFECT_KINDS)
    sections = [HEADER, REGISTRY, "", *_table(READING, defects)]
    asked_for: dict[str, str] = {
        family.title: profile
        for families_of in (rule_sets.READING_FAMILIES_OF, rule_sets.REQUEST_FAMILIES_OF)
        for profile, family in families_of.items()
    }
    for family in sorted(rule_sets.ALL, key=_first_id):
        profile = asked_for.get(family.title)
        sections += _table(family.title + (f" (`--profile {profile}`)" if profile else ""), _rows(family))
    sections += [PLAIN, ""]
    for family in (*validation.PLAIN_FAMILIES, *validation.HELM_FAMILIES, validation.FILE_FAMILY):
        sections += _table(family.title, _rows(family))
    return "\n".join(sections).rstrip() + "\n"


def _first_id(family: Family[Any]) -> str:
    return min(rule.id for rule in family.rules)


def _table(title: str, rows: Iterator[str]) -> list[str]:
    head = ["| id | severity | rule | how to fix it | origin |", "| --- | --- | --- | --- | --- |"]
    return [f"### {title}", "", *head, *rows, ""]


def _rows(family: Family[Any]) -> Iterator[str]:
    for rule in sorted(family.rules, key=lambda rule: rule.id):
        severity = f"{rule.severity} or error" if rule.may_be_error else _severity(rule)
        yield _row(rule.id, severity, rule.title, rule.hint, rule.origin)


def _severity(rule: Rule[Any] | RuleOfReading) -> str:
    match rule.error_only_in:
        case Profile.OPM:
            return "warning, error with `opm`"
        case Profile.DEFAULT:
            return "error, warning with `opm`"
        case _:
            return rule.severity


def _row(rule_id: str, *described: str) -> str:
    former = [old for old, new in validation.FORMER_IDS.items() if new == rule_id]
    cells = (f"{rule_id} ({', '.join(former)})" if former else rule_id, *described)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"

"""docs/rules.md: every rule of `rukpakctl bundle validate` and of catalogs, made from the rules themselves."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from rukpak_py.catalog import read_file
from rukpak_py.catalog.checks.rules import VALIDITY_FAMILIES
from rukpak_py.catalog.lint import rules as lint_rules
from rukpak_py.cli.catalogs import directory
from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats import validation
from rukpak_py.formats.former_ids import former_ids_of
from rukpak_py.formats.object_rules import rules as object_rules
from rukpak_py.formats.registry_v1.reading import DEFECT_KINDS
from rukpak_py.formats.registry_v1.rules import rule_sets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rukpak_py.formats.rules import Family, Rule, RuleOfReading

HEADER = """\
# Rules

Generated from the rules by `make generate`; do not edit. What `rukpakctl bundle validate` checks, with the id of its
findings; [catalogs](#catalogs-of-olm) have rules of their own. The meaning of an id never changes; ids in parentheses
are former ones of the rule. Errors are reasons why a bundle cannot be installed; warnings are worth a look, and are
errors with `--strict` (in the library: in the profile `strict`). A defect is reported once.

With `--profile opm`, errors are reasons why `opm alpha bundle validate` refuses a bundle. "warning, error with `opm`"
marks what only `opm` refuses, "error, warning with `opm`" what it accepts though it cannot be installed. Single
findings of other rules may be such: `opm` reads no properties, and an operator whose description has a wrong type can
be installed.
"""
OURS = "rukpak-py"
READING = "Reading a bundle"
REGISTRY = "## Bundles of OLM (registry+v1)"
PLAIN = "## Plain bundles, charts, and all files"
CATALOGS = """\
## Catalogs of OLM

Errors are reasons why `opm validate` refuses a catalog. `rukpakctl catalog validate` reports them, and the warnings
under "Reading a catalog"; `rukpakctl catalog lint` reports all warnings, as errors with `--strict`. See
[catalogs](cli/catalog.md).
"""


_OF_READING = (*directory.RULES, *read_file.RULES)
CATALOG_FAMILIES = (*VALIDITY_FAMILIES, *lint_rules.ALL_FAMILIES)


def page() -> str:
    sections = [HEADER, REGISTRY, "", *_table(READING, _rows_of_reading(DEFECT_KINDS))]
    for family in sorted(rule_sets.ALL, key=_first_id):
        profile = rule_sets.PROFILE_OF.get(family.title)
        sections += _table(family.title + (f" (`--profile {profile}`)" if profile else ""), _rows(family))
    sections += [PLAIN, ""]
    further: tuple[Family[Any], ...] = (*validation.PLAIN_FAMILIES, *validation.HELM_FAMILIES, validation.FILE_FAMILY)
    for family in (*object_rules.FAMILIES, *further):
        sections += _table(family.title, _rows(family))
    sections += [
        CATALOGS,
        *_table(
            "Reading a catalog", _rows_of_reading((*directory.RULES, *read_file.RULES), CATALOG_FAMILIES[0].origin)
        ),
    ]
    for title, families in groupby(CATALOG_FAMILIES, key=lambda family: family.title):
        sections += _table(title, (row for family in families for row in _rows(family)))
    return "\n".join(sections).rstrip() + "\n"


def _first_id(family: Family[Any]) -> str:
    return min(rule.id for rule in family.rules)


def _table(title: str, rows: Iterator[str]) -> list[str]:
    head = ["| id | severity | rule | how to fix it | origin |", "| --- | --- | --- | --- | --- |"]
    return [f"### {title}", "", *head, *rows, ""]


def _rows_of_reading(rules: Iterable[RuleOfReading], origin: str = OURS) -> Iterator[str]:
    for rule in sorted(rules, key=lambda rule: rule.id):
        yield _row(rule.id, _severity(rule), rule.title, rule.hint, origin if rule.severity is Severity.ERROR else OURS)


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
    former = former_ids_of(rule_id)
    cells = (f"{rule_id} ({', '.join(former)})" if former else rule_id, *described)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"

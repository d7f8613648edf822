"""Rules of catalogs as reports describe them."""

from typing import TYPE_CHECKING, Any

from rukpak_py.catalog import read_file
from rukpak_py.catalog.checks.rules import VALIDITY_FAMILIES
from rukpak_py.catalog.lint import rules as lint_rules
from rukpak_py.cli.catalogs import directory
from rukpak_py.cli.reports.report import Described

if TYPE_CHECKING:
    from rukpak_py.formats.rules import Rule, RuleOfReading


def described_rules() -> dict[str, Described]:
    """All rules, by id."""
    of_reading = (*directory.RULES, *read_file.RULES)
    return {rule.id: _described(rule) for rule in of_reading} | {
        rule.id: _described(rule) for family in (*VALIDITY_FAMILIES, *lint_rules.ALL_FAMILIES) for rule in family.rules
    }


def _described(rule: "Rule[Any] | RuleOfReading") -> Described:
    return Described(title=rule.title, hint=rule.hint, severity=rule.severity)

"""Findings that a user wants to see: rules by id or the beginning of one, files by a pattern.

An entry with `/`, `*` or `?` is a pattern for the file, relative to the bundle; any other is the beginning of an id. An
entry `RULE:PATTERN` is both. What is ignored wins over what is selected. A level, `error=RULE`, decides how serious a
finding is; the last one that fits counts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

from rukpak_py.core.findings import Finding, Severity
from rukpak_py.formats.former_ids import former_ids_of

_OF_FILES = frozenset("/*?")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    prefix: str = ""
    pattern: str = ""

    @classmethod
    def of(cls, text: str) -> "_Entry":
        if _OF_FILES.isdisjoint(text):
            return cls(prefix=text.upper())
        prefix, colon, pattern = text.partition(":")
        return cls(prefix=prefix.upper(), pattern=pattern) if colon else cls(pattern=text)

    def matches(self, finding: Finding) -> bool:
        of_file = not self.pattern or fnmatchcase(finding.file, self.pattern)
        return of_file and is_named(finding.rule, self.prefix)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenRules:
    """`selected`: nothing means all."""

    selected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    def of(self, findings: Sequence[Finding]) -> Sequence[Finding]:
        if self == ALL_RULES:
            return findings
        selected, ignored = [*map(_Entry.of, self.selected)], [*map(_Entry.of, self.ignored)]
        levels = [_level_of(text) for text in self.levels]
        return [
            _with_level(one, levels)
            for one in findings
            if (not selected or any(entry.matches(one) for entry in selected))
            and not any(entry.matches(one) for entry in ignored)
        ]

    def wrong(self, known: Iterable[str]) -> str:
        """A sentence about the first entry that is none, or that no rule begins with; empty where there is none."""
        for text in self.levels:
            if text.partition("=")[0] not in _LEVELS or "=" not in text:
                return f"{text!r} is no level of a rule: use {' or '.join(f'{level}=RULE' for level in _LEVELS)}"
        rules = list(known)
        for text in (*self.selected, *self.ignored, *(level.partition("=")[2] for level in self.levels)):
            prefix = _Entry.of(text).prefix
            if not any(is_named(rule, prefix) for rule in rules):
                return no_rule(prefix, rules)
        return ""


ALL_RULES = ChosenRules()
_LEVELS = {one.value: one for one in Severity}


def _level_of(text: str) -> tuple[Severity, _Entry]:
    level, _, entry = text.partition("=")
    return _LEVELS[level], _Entry.of(entry)


def _with_level(finding: Finding, levels: Sequence[tuple[Severity, _Entry]]) -> Finding:
    for severity, entry in reversed(levels):
        if entry.matches(finding):
            return replace(finding, severity=severity)
    return finding


def is_named(rule: str, prefix: str) -> bool:
    """Whether its id begins so, or it had this id in an earlier release."""
    return rule.startswith(prefix) or prefix in former_ids_of(rule)


def no_rule(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"there is no rule {name}" + (f"; did you mean {near[0]}?" if near else "; docs/rules.md lists them")

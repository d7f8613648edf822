"""Rules: what a check is, how it says what it found, and how that becomes Findings.

A rule is one function of a subject (a parsed bundle, a reading) that yields Problems; its decorator holds what the
documentation prints: id, severity, title, advice. A Problem names a Place in the content; lines and columns are looked
up only for Problems that were found.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Generic, TypeAlias, TypeVar

from rukpak_py.content.yaml_positions import Path, Positions
from rukpak_py.content.yaml_scalars import resolve
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, Fix, Profile, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

S = TypeVar("S")

_TOKEN = re.compile(r"[^\s,\[\]{}#]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A field of a document of a file. A file alone is a place too."""

    file: str
    document: int = 0
    path: Path = ()
    on_key: bool = False  # point at the key, not at its value

    def below(self, *path: str | int) -> "Place":
        return replace(self, path=(*self.path, *path))


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A problem of a bundle before it is a Finding: its place has no line yet."""

    message: str
    place: Place | None = None
    hint: str | None = None  # instead of the rule's
    severity: Severity | None = None  # instead of the rule's
    error_only_in: Profile | None = None  # where the rule does not say it
    at: tuple[int, int] | None = None  # line and column, where a parser has told them
    other: Place | None = None  # another place, with which the message ends: its line follows
    fix: Fix | None = None  # of what is at the place


Check: TypeAlias = Callable[[S], Iterable[Problem]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule(Generic[S]):
    id: str
    severity: Severity
    title: str
    hint: str
    origin: str  # whose rule it is
    check: Check[S]
    may_be_error: bool = False  # where a single Problem is worse than the rule
    error_only_in: Profile | None = None  # DEFAULT where only `opm` accepts it, OPM where only `opm` refuses it


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleOfReading:
    """A rule that reading itself checks; `hint` is for problems that know nothing better."""

    id: str
    title: str
    hint: str
    severity: Severity = Severity.ERROR
    error_only_in: Profile | None = None


@dataclass(frozen=True, kw_only=True)
class Family(Generic[S]):
    """The rules of one file, in the order in which they run. `origin` says whose rules they are.

    A rule may look at several subjects: its other checks are `further` rules of the families of these subjects, and
    are described by the first.
    """

    title: str
    origin: str = ""
    rules: list[Rule[S]] = field(default_factory=list)
    further: list[Rule[S]] = field(default_factory=list)

    def rule(
        self,
        rule_id: str,
        *,
        title: str,
        hint: str,
        severity: Severity = Severity.ERROR,
        origin: str | None = None,
        may_be_error: bool = False,
        error_only_in: Profile | None = None,
    ) -> Callable[[Check[S]], Check[S]]:
        whose = self.origin if origin is None else origin

        def added(check: Check[S]) -> Check[S]:
            self.rules.append(
                Rule(
                    id=rule_id,
                    severity=severity,
                    title=title,
                    hint=hint,
                    origin=whose,
                    check=check,
                    may_be_error=may_be_error,
                    error_only_in=error_only_in,
                )
            )
            return check

        return added

    def further_check(
        self,
        rule_id: str,
        *,
        hint: str,
        severity: Severity = Severity.ERROR,
        error_only_in: Profile | None = None,
    ) -> Callable[[Check[S]], Check[S]]:
        """Add a check to a rule that another family describes."""

        def added(check: Check[S]) -> Check[S]:
            self.further.append(
                Rule(
                    id=rule_id,
                    severity=severity,
                    title="",
                    hint=hint,
                    origin=self.origin,
                    check=check,
                    error_only_in=error_only_in,
                )
            )
            return check

        return added


class Locator:
    """Lines and columns of Places; a file is parsed a second time only when a place in it is asked for."""

    def __init__(self, tree: Mapping[str, bytes], limits: Limits = DEFAULT_LIMITS) -> None:
        self._tree = tree
        self._limits = limits
        self._positions: dict[str, Positions] = {}
        self._lines: dict[str, list[str]] = {}

    def finding(self, rule: "Rule[S] | RuleOfReading", problem: Problem) -> Finding:
        """As it is by default; other profiles may change the severity."""
        severity = problem.severity or rule.severity
        only_in = (problem.error_only_in or rule.error_only_in) if severity is Severity.ERROR else None
        place = problem.place
        line, column = problem.at or (self.line_and_column(place) if place is not None else (0, 0))
        other = self.line_and_column(problem.other)[0] if problem.other is not None else 0
        return Finding(
            rule=rule.id,
            severity=severity_in({Profile.DEFAULT}, severity, only_in),
            message=f"{problem.message} (line {other})" if other else problem.message,
            hint=rule.hint if problem.hint is None else problem.hint,
            file=place.file if place is not None else "",
            line=line,
            column=column,
            path=path_text(place.path) if place is not None else "",
            document=place.document if place is not None else 0,
            error_only_in=only_in,
            fix=problem.fix if line else None,
        )

    def line_and_column(self, place: Place) -> tuple[int, int]:
        """Position of the place, or of the nearest field around it when it is not in the file."""
        if place.file not in self._tree:
            return 0, 0
        if place.file not in self._positions:
            self._positions[place.file] = Positions(self._tree[place.file], limits=self._limits)
        position = self._positions[place.file].of(place.document, place.path, on_key=place.on_key)
        return (position.line, position.column) if position is not None else (0, 0)

    def written(self, place: Place, value: object) -> str | None:
        """How a plain value is spelled in the file, `1.30` for 1.3; None where that cannot be told."""
        line, column = self.line_and_column(place)
        if not line:
            return None
        if place.file not in self._lines:
            self._lines[place.file] = self._tree[place.file].decode("utf-8-sig", "replace").split("\n")
        lines = self._lines[place.file][line - 1 : line]
        token = _TOKEN.match(lines[0], column - 1) if lines else None
        return token[0] if token is not None and _is_spelling(token[0], value) else None


def of_other_case(text: str, values: Iterable[str]) -> str:
    """The value that differs from the text in the case of its letters alone; empty where there is none."""
    return next((value for value in values if value.lower() == text.lower()), "")


def slip_of(name: str, names: Iterable[str], *, likeness: float) -> str:
    """The one of the names, in lower case, that was probably meant: of the same letters, as `lables`, or alike."""
    known = list(names)
    letters = sorted(name)
    same = [one for one in known if sorted(one) == letters]
    return (same or get_close_matches(name, known, n=1, cutoff=likeness) or [""])[0]


def severity_in(profiles: Collection[Profile], severity: Severity, error_only_in: Profile | None) -> Severity:
    return severity if error_only_in is None or error_only_in in profiles else Severity.WARNING


def judge(families: Sequence[Family[S]], subject: S, locator: Locator) -> Iterator[Finding]:
    for family in families:
        for rule in (*family.rules, *family.further):
            for problem in rule.check(subject):
                yield locator.finding(rule, problem)


def _is_spelling(token: str, value: object) -> bool:
    try:
        found = resolve(token)
    except (ContentError, ValueError):
        return False
    return isinstance(found, bool) == isinstance(value, bool) and found == value


def path_text(path: Path) -> str:
    """`spec.install.spec.deployments[0].name`; a key with a dot or another unusual character stands in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part and all(character.isalnum() or character in "-_" for character in part):
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return text

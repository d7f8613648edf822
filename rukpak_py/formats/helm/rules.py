"""Rules of charts: what they must be to be installed, and warnings where they behave unlike in `helm install`.

Nothing is rendered: templates are looked at as texts, so a warning about a function is about its name in an action.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, InvalidBundleError, Severity
from rukpak_py.core.limits import Limits
from rukpak_py.core.text import named
from rukpak_py.formats.helm.chart import HINTS, LOADING, MISSING, NOT_INSTALLABLE, SCHEMA, Chart, read_chart
from rukpak_py.formats.helm.layout import chart_of, chart_root, loaded_files
from rukpak_py.formats.helm.schemas import why_unchecked
from rukpak_py.formats.rules import Family, Place, Problem

_COMMENT: Final = re.compile(r"-?\s*+/\*")
_STRING: Final = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?+|`[^`]*+`?+')  # without an end: what is left of it
LOOKUPS: Final = "HELM-103"  # id of the rule
_LOOKUP: Final = re.compile(r"(?<![\w.$])lookup\b")
_VARYING: Final = re.compile(
    r"(?<![\w.$])(rand(?:AlphaNum|Alpha|Numeric|Ascii|Bytes|Int)|gen(?:CA|SelfSignedCert|SignedCert|PrivateKey)(?:WithKey)?"
    r"|uuidv4|now|shuffle|htpasswd|bcrypt|encryptAES)\b"
)
_TEST: Final = re.compile(
    r"""["']?helm\.sh/hook["']?[ \t]*:[ \t]*(["']?)test(?:-success|-failure)?\1[ \t]*(?=$|\}|#)""", re.MULTILINE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartReading:
    tree: Tree  # of the chart, as Places name its files: below `root`
    root: str
    chart: Chart | None
    refusal: Finding | None  # the first

    @classmethod
    def of(cls, tree: Tree, limits: Limits, *, is_directory: bool) -> "ChartReading":
        root = chart_root(tree)
        try:
            chart = read_chart(tree, limits, is_directory=is_directory)
            files = loaded_files(tree, is_directory=is_directory)
        except InvalidBundleError as error:
            return cls(tree=chart_of(tree), root=root, chart=None, refusal=error.findings[0])
        return cls(tree=files, root=root, chart=chart, refusal=None)

    def place(self, file: str) -> Place:
        return Place(file="/".join(filter(None, (self.root, file))))


FAMILY: Family[ChartReading] = Family(title="Charts", origin="helm, when it loads a chart")
SURPRISES: Family[ChartReading] = Family(title="Charts without helm install", origin="rukpak-py")
# What makes a rendering differ from what `helm install` applies.
RENDERING: Family[ChartReading] = Family(title="Charts rendered away from their cluster", origin="rukpak-py")


@FAMILY.rule(LOADING, title="A chart can be loaded", hint=HINTS[LOADING])
def can_be_loaded(reading: ChartReading) -> Iterator[Problem]:
    return _refused(reading, LOADING)


@FAMILY.rule(MISSING, title="Every dependency is in charts/", hint=HINTS[MISSING])
def has_its_dependencies(reading: ChartReading) -> Iterator[Problem]:
    return _refused(reading, MISSING)


@FAMILY.rule(NOT_INSTALLABLE, title="A chart is an application, not a library", hint=HINTS[NOT_INSTALLABLE])
def is_an_application(reading: ChartReading) -> Iterator[Problem]:
    return _refused(reading, NOT_INSTALLABLE)


@SURPRISES.rule(
    "HELM-101",
    title="Definitions in crds/ stay for good",
    hint="Keep this in mind for upgrades of the chart. Definitions among the templates are managed like other objects.",
    severity=Severity.WARNING,
)
def definitions_stay(reading: ChartReading) -> Iterator[Problem]:
    files = [path for path in reading.tree if path.startswith("crds/")]
    if files:
        yield Problem(message="what crds/ holds is never pruned", place=reading.place(files[0]))


@RENDERING.rule(
    "HELM-102",
    title="Tests are not run",
    hint="Run them with `helm test` elsewhere, or make them a post-install hook.",
    severity=Severity.WARNING,
)
def has_no_tests(reading: ChartReading) -> Iterator[Problem]:
    for path, text in _templates(reading):
        if found := _TEST.search(text):
            yield Problem(
                message="this hook is for tests, and is left out",
                place=reading.place(path),
                at=_at(text, found.start()),
            )


@RENDERING.rule(
    LOOKUPS,
    title="Templates do not look objects up",
    hint="In a cluster lookup finds what is there; here it finds nothing, so what is rendered may differ.",
    severity=Severity.WARNING,
)
def looks_nothing_up(reading: ChartReading) -> Iterator[Problem]:
    for path, at, _ in _called(reading, _LOOKUP):
        yield Problem(message="lookup finds nothing here", place=reading.place(path), at=at)


@RENDERING.rule(
    "HELM-104",
    title="Every rendering gives the same",
    hint="Give the chart the password or the certificate as a value, or by a Secret that exists.",
    severity=Severity.WARNING,
)
def renders_the_same(reading: ChartReading) -> Iterator[Problem]:
    for path, at, name in _called(reading, _VARYING):
        yield Problem(message=f"{name} gives something else each time", place=reading.place(path), at=at)


@RENDERING.rule(
    "HELM-105",
    title="The schema of the values is in the chart",
    hint="Write the file as JSON in UTF-8; put what it refers to into it, below `$defs`, and refer to it with `#`.",
    severity=Severity.WARNING,
)
def has_its_schema(reading: ChartReading) -> Iterator[Problem]:
    reasons = why_unchecked(reading.chart) if reading.chart else []
    if reasons:
        shown = named((reason[:200] for reason in reasons), most=3)
        message = f"nothing is fetched ({shown}), so values are not checked by schemas"
        yield Problem(message=message, place=reading.place(SCHEMA))


def _refused(reading: ChartReading, rule: str) -> Iterator[Problem]:
    refusal = reading.refusal
    if refusal is not None and refusal.rule == rule:
        place = Place(file=refusal.file) if refusal.file else None
        yield Problem(message=refusal.message, place=place, at=(refusal.line, refusal.column), hint=refusal.hint)


def _templates(reading: ChartReading) -> Iterator[tuple[str, str]]:
    """Templates of the chart and of the subcharts that are not packed."""
    for path in reading.tree:
        if path.startswith("templates/") or (path.startswith("charts/") and "/templates/" in path):
            yield path, reading.tree[path].decode(errors="replace")


def _called(reading: ChartReading, function: re.Pattern[str]) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Where a file calls one of the functions first."""
    for path, text in _templates(reading):
        for start, action in _actions(text):
            code = _STRING.sub(lambda string: " " * len(string[0]), action)
            if called := function.search(code):
                yield path, _at(text, start + called.start()), called[0]
                break


def _actions(text: str) -> Iterator[tuple[int, str]]:
    """Texts between `{{` and the next `}}`, with positions, without comments. Reads the text once in any case."""
    position = text.find("{{")
    while position >= 0:
        start = position + 2
        if text.startswith("-", start) and not _COMMENT.match(text, start + 1):
            start += 1
        elif _COMMENT.match(text, start):
            position = text.find("{{", position + 1)
            continue
        end = text.find("}}", start)
        if end < 0:
            return  # and no later one has an end
        yield start, text[start : end - 1 if end > start and text[end - 1] == "-" else end]
        position = text.find("{{", end + 2)


def _at(text: str, position: int) -> tuple[int, int]:
    line = text.count("\n", 0, position) + 1
    return line, position - text.rfind("\n", 0, position)

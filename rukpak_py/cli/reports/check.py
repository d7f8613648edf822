"""Results of `rukpakctl check`: for people by section, for programs as one object (docs/cli/check.md)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rukpak_py.cli.checks.results import CheckResult, Level
from rukpak_py.cli.reports.report import counted
from rukpak_py.cli.terminal import Style, clean, wrapped

_COLOURS = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "red"}
_INDENT = 6


def lines_of(results: Sequence[CheckResult], style: Style) -> Iterator[str]:
    for section, of_section in groupby(results, key=lambda one: one.section):
        yield style.paint(section, "bold")
        for result in of_section:
            yield from _result(result, style)
        yield ""
    yield _summary(results, style)


def document(results: Sequence[CheckResult]) -> dict[str, Any]:
    return {
        "results": [
            {
                "check": result.check,
                "level": result.level.value,
                "section": result.section.value,
                "object": result.object or None,
                "message": result.message,
                "hint": result.hint or None,
            }
            for result in results
        ],
        "errors": _count(results, Level.ERROR),
        "warnings": _count(results, Level.WARNING),
    }


def _result(result: CheckResult, style: Style) -> Iterator[str]:
    text = clean(f"{result.object}: {result.message}" if result.object else result.message)
    level = style.paint(result.level.value, _COLOURS[result.level])
    if len(f"  {result.level.value}  {text}") <= style.width:
        yield f"  {level}  {text}"
    else:
        yield f"  {level}"
        yield wrapped(text, width=style.width, first=" " * _INDENT, indent=_INDENT)
    if result.hint:
        hint = wrapped(f"hint: {clean(result.hint)}", width=style.width, first=" " * _INDENT, indent=_INDENT + 6)
        yield style.paint(hint, "cyan")


def _summary(results: Sequence[CheckResult], style: Style) -> str:
    errors, warnings = _count(results, Level.ERROR), _count(results, Level.WARNING)
    if not errors and not warnings:
        return style.paint("nothing is wrong", "green", "bold")
    found = ", ".join([counted(errors, "error"), counted(warnings, "warning")])
    return style.paint(found, "red" if errors else "yellow", "bold")


def _count(results: Sequence[CheckResult], level: Level) -> int:
    return sum(result.level is level for result in results)

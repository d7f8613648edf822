"""The plan of an upgrade for people, and for programs."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rukpak_py.apply.upgrade_document import UpgradeDocument
from rukpak_py.cli.reports import fields
from rukpak_py.cli.terminal import Style, clean, table, wrapped
from rukpak_py.diagnosis.planned import NOTHING_TO_DO, is_empty, sections, summary, title


def lines_of(plan: UpgradeDocument, style: Style) -> Iterator[str]:
    yield style.paint(wrapped(clean(title(plan)), width=style.width, indent=4), "bold")
    if is_empty(plan):
        yield f"  {NOTHING_TO_DO}"
        return
    yield from table([(name, clean(value)) for name, value in summary(plan)], width=style.width, indent=2)
    for heading, lines, name in sections(plan):
        yield from _section(heading, [f"- {line}" for line in lines], plan.left_out.get(name, 0), style)
    yield from _section("Objects", [], 0, style) if plan.objects else ()
    yield from fields.lines_of(plan.objects, style)
    yield from _more(plan.left_out.get("objects", 0))


def _section(heading: str, lines: Iterable[str], left_out: int, style: Style) -> Iterator[str]:
    yield ""
    yield style.paint(heading, "bold")
    for line in lines:
        yield wrapped(clean(line), width=style.width, first="  ", indent=6)
    yield from _more(left_out)


def _more(left_out: int) -> Iterator[str]:
    if left_out:
        yield f"  and {left_out} more"


def document(plan: UpgradeDocument) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(plan)
    return found

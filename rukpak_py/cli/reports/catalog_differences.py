"""Differences of two catalogs as lines for people, and as documents for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.catalog.differences import Change, ChangeKind
from rukpak_py.cli.terminal import Style, clean, wrapped

Json = dict[str, Any]
_SIGNS = {ChangeKind.ADDED: ("+", "green"), ChangeKind.REMOVED: ("-", "red"), ChangeKind.CHANGED: ("~", "yellow")}


def lines_of(changes: Sequence[Change], style: Style) -> Iterator[str]:
    """Lines by package, each change with its parts below it."""
    if not changes:
        yield "no differences"
    package = None
    for change in changes:
        if change.package != package:
            package = change.package
            yield style.paint(clean(f"package {package}" if package else "without a package"), "bold")
        yield from _lines(change, style, 2)


def document(change: Change) -> Json:
    return {
        "kind": change.kind,
        "subject": change.subject,
        "package": change.package or None,
        "channel": change.channel or None,
        "name": change.name or None,
        "detail": change.detail or None,
        "before": change.before or None,
        "after": change.after or None,
        "parts": [document(part) for part in change.parts],
    }


def _lines(change: Change, style: Style, indent: int) -> Iterator[str]:
    sign, colour = _SIGNS[change.kind]
    text = clean(f"{sign} {_title(change)}{_values(change)}")
    yield style.paint(wrapped(text, width=style.width, first=" " * indent, indent=indent + 4), colour)
    for part in change.parts:
        yield from _lines(part, style, indent + 2)


def _title(change: Change) -> str:
    channel = f"channel {change.channel}" if change.channel else ""
    named = [str(change.subject), change.name, change.detail]
    if change.subject == "channel":
        named = ["channel", change.channel or change.name]
        channel = ""
    return ", ".join(filter(None, [channel, " ".join(filter(None, named))]))


def _values(change: Change) -> str:
    if change.before and change.after:
        return f": {change.before} -> {change.after}"
    return f": {change.before or change.after}" if change.before or change.after else ""

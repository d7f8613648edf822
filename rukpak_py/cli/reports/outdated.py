"""OLM packages of a cluster against a catalog: a table for people, and a document for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.catalog.upgrades.outdated import State
from rukpak_py.catalog.upgrades.refusal import Cause
from rukpak_py.cli.cluster.outdated_packages import OutdatedRow
from rukpak_py.cli.reports.columns import columns
from rukpak_py.cli.reports.resolution import deprecation_text, refusal_document
from rukpak_py.cli.terminal import Style, clean, wrapped
from rukpak_py.core.text import counted, excerpt

Json = dict[str, Any]
_TITLES = ("NAME", "PACKAGE", "CHANNEL", "VERSION", "NEXT", "HEAD", "STATE")
_STATES = {
    State.UP_TO_DATE: "up to date",
    State.UPGRADABLE: "upgrade",
    State.STUCK: "no upgrade path",
    State.NOT_IN_CHANNEL: "not in channel",
    State.NOT_IN_CATALOG: "unknown bundle",
    State.UNKNOWN: "unknown",
}
_OF_CAUSES = {Cause.UNKNOWN_PACKAGE: "unknown package", Cause.UNKNOWN_CHANNEL: "channel gone"}
_BEHIND = frozenset({State.UPGRADABLE, State.STUCK, State.NOT_IN_CHANNEL, State.NOT_IN_CATALOG})
NOT_INSTALLED = "not installed"
ASKED_FOR = "asked for"


def lines_of(rows: Sequence[OutdatedRow], others: int, style: Style) -> Iterator[str]:
    """`others`: BundleDeployments that have no OLM package."""
    lines = columns(_TITLES, map(_cells, rows), width=style.room)
    for row, line in zip((None, *rows), lines if rows else (), strict=bool(rows)):
        yield style.paint(line, "bold") if row is not None and _is_behind(row) else line
        for note in _notes(row) if row is not None else ():
            yield style.paint(wrapped(clean(note), width=style.width, first="  ", indent=4), "dim")
    if not rows:
        yield "No BundleDeployment has an OLM package."
    if others:
        yield f"{counted(others, 'BundleDeployment')} without an OLM package left out."


def document(rows: Sequence[OutdatedRow], others: int) -> Json:
    return {"packages": [_row(one) for one in rows], "others": others}


def has_outdated(rows: Sequence[OutdatedRow]) -> bool:
    """Whether there is something to do. A package that the catalog does not have may be in another one."""
    return any(map(_is_behind, rows))


def state_of(row: OutdatedRow) -> str:
    found = row.comparison
    if found is None:
        return NOT_INSTALLED
    if row.is_asked_for:
        return ASKED_FOR
    if found.refusal is not None:
        return _OF_CAUSES.get(found.refusal.cause, _STATES[found.state])
    return _STATES[found.state]


def _is_behind(row: OutdatedRow) -> bool:
    found = row.comparison
    if found is None or row.is_asked_for:
        return False
    is_channel_gone = found.refusal is not None and found.refusal.cause is Cause.UNKNOWN_CHANNEL
    return bool(found.deprecations) or is_channel_gone or found.state in _BEHIND


def _cells(row: OutdatedRow) -> tuple[str, ...]:
    found = row.comparison
    known = (row.name, row.package.package, row.channel, row.package.version)
    return (*known, found.next_version if found else "", row.head, state_of(row))


def _notes(row: OutdatedRow) -> Iterator[str]:
    found = row.comparison
    if found is None:
        return
    for one in found.deprecations:
        yield deprecation_text(one)
    if found.refusal is not None and found.refusal.cause is not Cause.UNKNOWN_PACKAGE:
        yield f"{found.refusal.message}{f'; {found.refusal.remedy}' if found.refusal.remedy else ''}"


def _row(row: OutdatedRow) -> Json:
    found = row.comparison
    return {
        "name": row.name,
        "package": row.package.package,
        "channel": row.channel or None,
        "bundle": row.package.name or None,
        "version": row.package.version or None,
        "state": "AskedFor" if row.is_asked_for else found.state if found else "NotInstalled",
        "next": {"bundle": found.next, "version": found.next_version} if found and found.next else None,
        "newest": {"bundle": found.newest, "version": found.newest_version} if found and found.newest else None,
        "head": row.head or None,
        "upgradesLeft": found.upgrades_left if found else 0,
        "deprecations": [
            {"schema": one.schema, "name": one.name or None, "message": excerpt(one.message, 4096)}
            for one in (found.deprecations if found else ())
        ],
        "refusal": refusal_document(found.refusal)["refusal"] if found and found.refusal else None,
    }

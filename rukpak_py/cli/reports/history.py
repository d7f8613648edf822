"""Revisions of a BundleDeployment as a table for people, and as a document for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.cli.cluster.deployments import EditedDeployment
from rukpak_py.cli.terminal import Style, clean
from rukpak_py.diagnosis.revisions import Revision, RevisionState

Json = dict[str, Any]
DIGITS = 12  # of a digest, as `docker images` has them
VERSION_CHARACTERS = 16
_TITLES = ("REVISION", "STATE", "OUTCOME", "VERSION", "GENERATION", "TIME", "DIGEST")


def lines_of(revisions: Sequence[Revision], style: Style) -> Iterator[str]:
    rows = [_TITLES, *map(_cells, revisions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for at, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        if at == 0:
            yield line
            continue
        one = revisions[at - 1]
        yield style.paint(line, "bold") if one.state is RevisionState.INSTALLED else line
        yield style.paint(f"{' ' * (widths[0] + 2)}Bundle {clean(one.bundle)}{_lost(one)}", "dim")


def document(read: EditedDeployment, revisions: Sequence[Revision]) -> Json:
    return {
        "kind": read.resource.gvk.kind,
        "name": read.name,
        "revisions": [
            {
                "revision": one.revision,
                "state": one.state,
                "outcome": one.outcome or None,
                "bundle": one.bundle,
                "version": one.version or None,
                "generation": one.generation or None,
                "digest": one.digest,
                "time": one.time or None,
                "restorable": one.is_restorable,
            }
            for one in revisions
        ],
    }


def _cells(one: Revision) -> tuple[str, ...]:
    version = clean(one.version) or "-"
    if len(version) > VERSION_CHARACTERS:
        version = f"{version[: VERSION_CHARACTERS - 1]}…"
    return (
        str(one.revision),
        one.state,
        clean(one.outcome) or "-",
        version,
        str(one.generation or "-"),
        clean(one.time) or "-",
        clean(one.digest.removeprefix("sha256:"))[:DIGITS] or "-",
    )


def _lost(one: Revision) -> str:
    is_recorded = one.state in {RevisionState.INSTALLED, RevisionState.FORMER}
    return ", cannot be restored" if is_recorded and not one.is_restorable else ""

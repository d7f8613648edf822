"""The options of `catalog filter`, and what a filter repaired, in words."""

from collections.abc import Iterable, Mapping

import click

from rukpak_py.catalog.filtering import Note, NoteKind, WantedPackage
from rukpak_py.catalog.graph_repair import RepairKind
from rukpak_py.cli.catalogs.version_ranges import range_problem

_ENDS_OF_COMPARATORS = ("", "<", ">", "!", "^", "~")  # where the first `=` belongs to a range


def wanted_packages(
    names: Iterable[str], channels: Iterable[str], versions: Iterable[str]
) -> Mapping[str, WantedPackage]:
    """Read the options, by package; UsageError for one about another package."""
    found: dict[str, WantedPackage] = {}
    by_package: dict[str, list[str]] = {name: [] for name in names}
    ranges: dict[str, str] = {}
    for text in channels:
        package, slash, channel = text.partition("/")
        if not slash or not channel:
            raise click.UsageError(f"--channel {text!r} must have the form PACKAGE/CHANNEL")
        _demand_known(package, by_package, "--channel")
        by_package[package].append(channel)
    for text in versions:
        package, equals, wanted = text.partition("=")
        if not equals or package[-1:] in _ENDS_OF_COMPARATORS:
            example = f"{next(iter(by_package), 'p')}=>=1.2.0"
            raise click.UsageError(f"--versions {text!r} must have the form PACKAGE=RANGE, such as {example!r}")
        _demand_known(package, by_package, "--versions")
        if package in ranges:
            raise click.UsageError(f"--versions of {package} is given twice: write both conditions in one range")
        if problem := range_problem(wanted):
            raise click.UsageError(f"--versions {text!r}: {problem}")
        ranges[package] = wanted
    for name, chosen in by_package.items():
        found[name] = WantedPackage(channels=tuple(chosen) or None, version_range=ranges.get(name))
    return found


def note_text(note: Note) -> str:
    channel = f"package {note.package}" + (f", channel {note.channel}" if note.channel else "")
    match note.kind:
        case NoteKind.ENTRY_REPAIRED:
            return f"{channel}: {note.name}: {_repair(note)}"
        case NoteKind.CHANNEL_REMOVED:
            return f"{channel} is left out: no entry of it has a version in the range"
        case NoteKind.DEFAULT_CHANNEL_CHANGED:
            return f"{channel}: the default channel is {note.after}, because {note.before or 'its own'} is left out"
        case NoteKind.DEPRECATION_REMOVED:
            return f"{channel}: the deprecation of {note.name} is left out with it"
        case NoteKind.PACKAGE_ADDED:
            verb = "requires" if len(note.names) == 1 else "require"
            return f"package {note.package} is kept, because {', '.join(note.names)} {verb} it"
        case NoteKind.DEPENDENCY_MISSING:
            return f"{channel}: {note.name} requires what is left out: {note.before or ', '.join(note.names)}"


def _repair(note: Note) -> str:
    match note.repair:
        case RepairKind.BRIDGED:
            return f"replaces {note.after}, because {note.before} is left out"
        case RepairKind.DANGLING:
            return f"still replaces {note.before}, which is left out, so that it can be upgraded"
        case RepairKind.SKIPS_ADDED:
            return f"skips {', '.join(note.names)}, which would have no way to the head"
        case RepairKind.EDGE_REMOVED:
            return f"no longer replaces {note.before}, which would close a cycle"
        case RepairKind.HEAD_CHANGED | None:
            return f"is the head, because {note.before} is left out"


def _demand_known(package: str, known: Mapping[str, list[str]], option: str) -> None:
    if package not in known:
        raise click.UsageError(f"{option} is about {package!r}: give --package {package} as well")

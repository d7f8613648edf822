"""Which bundle of a catalog is installed, and why: a table for people, and a document for programs."""

from collections.abc import Iterator
from typing import Any

from rukpak_py.catalog.model import BUNDLE, CHANNEL, Deprecation
from rukpak_py.catalog.upgrades.dependencies import Dependency, Satisfaction
from rukpak_py.catalog.upgrades.refusal import Refusal
from rukpak_py.catalog.upgrades.resolution import PassedOver, Reason, Resolution
from rukpak_py.catalog.upgrades.upgrade_graph import Edge, EdgeKind
from rukpak_py.cli.reports.catalog_answers import (
    dependency_document,
    edge_document,
    requirement_text,
    satisfaction_text,
    upgrade_path_document,
)
from rukpak_py.cli.terminal import Style, clean, table
from rukpak_py.core.text import SHOWN_CHARACTERS, counted, excerpt, named, shown

Json = dict[str, Any]
_MOST_DEPENDENCIES = 20  # the same; constraints of strangers may be many
_MOST = 3  # entries of a list, unless all are asked for
_REASONS = {
    Reason.NO_BUNDLE: "the catalog has no such bundle",
    Reason.INVALID_VERSION: "its version is not valid",
    Reason.OUT_OF_RANGE: "out of range",
    Reason.NO_EDGE: "no edge leads to it from the installed bundle",
    Reason.NOT_HIGHER: "not higher than the installed bundle",
    Reason.DEPRECATED: "deprecated",
    Reason.LOWER_VERSION: "lower, or less preferred",
}


def lines_of(found: Resolution, style: Style, *, verbose: bool = False) -> Iterator[str]:
    yield style.paint(clean(found.bundle.name), "bold")
    rows = [(title, clean(text)) for title, text in _rows(found, verbose=verbose)]
    yield from table(rows, width=style.width, indent=2)


def warnings_of(found: Resolution) -> Iterator[str]:
    """Deprecations and unmet dependencies, one sentence each."""
    for one in found.deprecations:
        yield f"{found.bundle.name}: {deprecation_text(one)}"
    met = {Satisfaction.SATISFIED, Satisfaction.CONDITIONAL}
    unmet = [one for one in found.dependencies if one.satisfaction not in met]
    for dependency in unmet[:_MOST_DEPENDENCIES]:
        yield f"{found.bundle.name} requires {_dependency(dependency)}"
    if len(unmet) > _MOST_DEPENDENCIES:
        yield f"{found.bundle.name} requires {len(unmet) - _MOST_DEPENDENCIES} more that the catalog does not satisfy"


def document(found: Resolution) -> Json:
    installed = found.installed
    return {
        "package": found.package,
        "bundle": found.bundle.name,
        "version": found.version,
        "release": found.bundle.release or None,
        "image": found.bundle.image or None,
        "channels": list(found.channels),
        "installed": {
            "name": installed.name or None,
            "version": str(installed.version.version) if installed.version else None,
            "known": installed.bundle is not None,
        }
        if installed
        else None,
        "stays": found.stays,
        "edge": edge_document(found.edge) if found.edge else None,
        "skipped": list(found.skipped),
        "passedOver": [
            {"bundle": one.bundle, "version": one.version or None, "reason": one.reason, "detail": one.detail or None}
            for one in found.passed_over
        ],
        "deprecations": [
            {"schema": one.schema, "name": one.name or None, "message": one.message} for one in found.deprecations
        ],
        "dependencies": [dependency_document(one) for one in found.dependencies],
        "path": upgrade_path_document(found.path),
    }


def refusal_document(refused: Refusal) -> Json:
    return {
        "package": refused.package,
        "refusal": {
            "cause": refused.cause,
            "asked": refused.asked or None,
            "channels": list(refused.channels),
            "alternatives": list(refused.alternatives),
            "elsewhere": [{"channel": channel, "bundle": bundle} for channel, bundle in refused.elsewhere],
            "message": refused.message,
            "remedy": refused.remedy or None,
        },
    }


def _rows(found: Resolution, *, verbose: bool) -> Iterator[tuple[str, str]]:
    yield "package", found.package
    yield "version", f"{found.version}{f', release {found.bundle.release}' if found.bundle.release else ''}"
    yield "channel", named(found.channels)
    yield "image", found.bundle.image or "none: the catalog has no image of this bundle"
    if found.installed is not None:
        unknown = "" if found.installed.bundle else ", which the catalog does not have"
        yield "installed", f"{found.installed.text}{unknown}"
        yield "upgrade", edge_text(found.edge) if found.edge else "none: the installed bundle stays"
    most = len(found.skipped) if verbose else 2 * _MOST
    if found.skipped:
        yield "skipped", named(found.skipped, most)
    yield from (("deprecated", deprecation_text(one)) for one in found.deprecations)
    listed = found.dependencies if verbose else found.dependencies[:_MOST_DEPENDENCIES]
    yield from (("requires", _dependency(one)) for one in listed)
    if left := len(found.dependencies) - len(listed):
        yield "requires", f"{left} more: --verbose lists them"
    yield "then", _path(found)
    yield from (("passed over", text) for text in _passed_over(found, verbose=verbose))


def edge_text(edge: Edge) -> str:
    text = f'skipRange "{shown(edge.text)}"' if edge.kind is EdgeKind.SKIP_RANGE else f"{edge.kind} {edge.text}"
    return f"{text} (channel {edge.channel})"


def _dependency(one: Dependency) -> str:
    return f"{excerpt(_requirement(one), SHOWN_CHARACTERS)}: {satisfaction_text(one)}"


def _requirement(one: Dependency) -> str:
    """On one line, the parts of a constraint in brackets."""
    return f"{one.form} of ({', '.join(map(_requirement, one.parts))})" if one.parts else requirement_text(one)


def _path(found: Resolution) -> str:
    steps = found.path.steps
    if not steps:
        return "it is the head of its channel" if found.path.reaches_head else "no upgrade leads from it"
    left = f"{counted(len(steps), 'upgrade')} more: {named((step.target for step in steps), _MOST)}"
    if found.path.is_cycle:
        return f"{left}: upgrades that lead back to a bundle before"
    return left if found.path.reaches_head else f"{left}; none of them reaches the head"


def deprecation_text(one: Deprecation) -> str:
    subject = {BUNDLE: "this bundle", CHANNEL: f"channel {one.name}"}.get(one.schema, "the package")
    return f"{subject} is deprecated: {shown(one.message)}"


def _passed_over(found: Resolution, *, verbose: bool) -> Iterator[str]:
    """Each entry with its reason; in short one row for each reason, with some of its entries."""
    if verbose:
        for one in found.passed_over:
            yield f"{one.bundle}: {_reason(one)}"
        return
    by_reason: dict[str, list[str]] = {}
    for one in found.passed_over:
        by_reason.setdefault(_REASONS[one.reason], []).append(one.bundle)
    for reason, bundles in by_reason.items():
        yield f"{named(bundles, _MOST)}: {reason}"


def _reason(one: PassedOver) -> str:
    return f"{_REASONS[one.reason]}{f': {shown(one.detail)}' if one.detail else ''}"

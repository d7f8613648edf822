"""Answers of `rukpakctl catalog query` as lines for people, and as documents for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.catalog.upgrades.dependencies import Dependency, Satisfaction
from rukpak_py.catalog.upgrades.providers import GroupVersionKind
from rukpak_py.catalog.upgrades.query import BundleInterface, KindProvider, NewestBundle, PathsToHead, UnreachableHead
from rukpak_py.catalog.upgrades.upgrade_graph import Edge, EdgeKind
from rukpak_py.catalog.upgrades.upgrade_paths import UpgradePath
from rukpak_py.cli.reports.columns import columns
from rukpak_py.cli.terminal import clean
from rukpak_py.core.text import counted, shown

Json = dict[str, Any]
_STATES = {
    Satisfaction.SATISFIED: "Satisfied",
    Satisfaction.CONDITIONAL: "Conditional",
    Satisfaction.NOT_EVALUATED: "NotEvaluated",
    Satisfaction.MISSING: "Missing",
    Satisfaction.INVALID: "Invalid",
}


def provider_lines(found: Sequence[KindProvider], *, width: int = 0) -> Iterator[str]:
    cells = (
        (
            one.package,
            _kind(one.kind),
            one.bundles[0] if one.bundles else "",
            str(len(one.bundles)),
            ", ".join(f"{channel} ({head})" for channel, head in one.heads),
        )
        for one in found
    )
    yield from columns(
        ("PACKAGE", "KIND", "NEWEST BUNDLE", "BUNDLES", "CHANNELS (HEAD) THAT HAVE IT"), cells, width=width
    )


def path_lines(found: PathsToHead) -> Iterator[str]:
    if found.shortest is None:
        yield clean(f"no upgrade leads from {found.installed.text} to the head of {', '.join(found.channels)}")
        if found.refusal is not None and found.refusal.remedy:
            yield clean(f"hint: {found.refusal.remedy}")
    else:
        yield from _path(found.shortest)
    if found.greedy != found.shortest and found.greedy.steps:
        yield "taking the most preferred upgrade each time:"
        yield from _path(found.greedy)


def newest_lines(found: Sequence[NewestBundle]) -> Iterator[str]:
    cells = (
        (
            f"{one.channel}*" if one.is_default else one.channel,
            one.bundle,
            one.version,
            "yes" if one.is_head else "no",
            "" if one.deprecation is None else one.deprecation or "yes",
        )
        for one in found
    )
    yield from columns(("CHANNEL", "BUNDLE", "VERSION", "HEAD", "DEPRECATED"), cells)


def interface_lines(found: BundleInterface) -> Iterator[str]:
    yield clean(f"{found.bundle} ({found.version})")
    yield "provides:" if found.provides else "provides no kinds"
    for kind in found.provides:
        yield f"  {clean(_kind(kind))}"
    yield "requires:" if found.requires else "requires nothing"
    for dependency in found.requires:
        yield from dependency_lines(dependency)


def unreachable_lines(found: Sequence[UnreachableHead]) -> Iterator[str]:
    if not found:
        yield "the head of each channel can be reached from all of its bundles"
    for one in found:
        yield clean(f"{one.channel}: {', '.join(one.heads) or 'no head'} cannot be reached from")
        for bundle in one.bundles:
            yield f"  {clean(bundle)}"


def dependency_lines(one: Dependency, indent: int = 2) -> Iterator[str]:
    """A dependency, whether the catalog has a provider, and the parts of a constraint."""
    blank = " " * indent
    yield f"{blank}{clean(f'{requirement_text(one)}: {satisfaction_text(one)}')}"
    for part in one.parts:
        yield from dependency_lines(part, indent + 2)


def dependency_document(one: Dependency) -> Json:
    return {
        "type": one.form,
        "state": _STATES[one.satisfaction],
        "package": one.package or None,
        "versionRange": one.version_range or None,
        "kind": kind_document(one.kind) if one.kind else None,
        "providers": [
            {"package": provider.package, "bundle": provider.bundle, "version": provider.version}
            for provider in one.providers
        ],
        "message": one.failure_message or None,
        "problem": one.problem or None,
        "parts": [dependency_document(part) for part in one.parts],
    }


def kind_document(kind: GroupVersionKind) -> Json:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def provider_document(one: KindProvider) -> Json:
    return {
        "package": one.package,
        **kind_document(one.kind),
        "bundles": list(one.bundles),
        "heads": [{"channel": channel, "bundle": head} for channel, head in one.heads],
    }


def path_document(found: PathsToHead) -> Json:
    return {
        "from": found.installed.text,
        "channels": list(found.channels),
        "shortest": None if found.shortest is None else upgrade_path_document(found.shortest),
        "greedy": upgrade_path_document(found.greedy),
        "remedy": (found.refusal.remedy if found.refusal else None) or None,
    }


def newest_document(one: NewestBundle) -> Json:
    return {
        "channel": one.channel,
        "default": one.is_default,
        "bundle": one.bundle,
        "version": one.version,
        "head": one.is_head,
        "deprecation": one.deprecation,
    }


def interface_document(found: BundleInterface) -> Json:
    return {
        "package": found.package,
        "bundle": found.bundle,
        "version": found.version,
        "provides": [kind_document(kind) for kind in found.provides],
        "requires": [dependency_document(one) for one in found.requires],
    }


def unreachable_document(one: UnreachableHead) -> Json:
    return {"channel": one.channel, "heads": list(one.heads), "bundles": list(one.bundles)}


def edge_document(edge: Edge) -> Json:
    return {
        "from": edge.source,
        "to": edge.target,
        "kind": str(edge.kind),
        "channel": edge.channel,
        "text": edge.text,
    }


def _kind_of(edge: Edge) -> str:
    """The kind of an edge, with its range; the bundle that is replaced or skipped stands in the step before."""
    return f"{edge.kind} {shown(edge.text)}" if edge.kind is EdgeKind.SKIP_RANGE else str(edge.kind)


def _path(path: UpgradePath) -> Iterator[str]:
    if not path.steps:
        yield clean(f"{path.source}: {'is the head' if path.reaches_head else 'nothing upgrades it'}")
        return
    end = "ends in a cycle" if path.is_cycle else "" if path.reaches_head else "does not reach the head"
    yield clean(f"{path.source} -> {path.target}: {counted(len(path.steps), 'upgrade')}{f', {end}' if end else ''}")
    for edge in path.steps:
        yield clean(f"  {edge.target}  ({_kind_of(edge)}, channel {edge.channel})")


def upgrade_path_document(path: UpgradePath) -> Json:
    return {
        "steps": [edge_document(edge) for edge in path.steps],
        "reachesHead": path.reaches_head,
        "cycle": path.is_cycle,
    }


def _kind(kind: GroupVersionKind) -> str:
    version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    return f"{kind.kind} ({version})"


def requirement_text(one: Dependency) -> str:
    """The package or kind that is required; of a constraint with parts, its form alone."""
    if one.package:
        return f"package {one.package} {one.version_range}".rstrip()
    if one.kind:
        return _kind(one.kind)
    return one.form


def satisfaction_text(one: Dependency) -> str:
    """Whether the catalog has it, and in which bundle."""
    match one.satisfaction:
        case Satisfaction.SATISFIED:
            provider = one.provider
            return f"provided by {provider.bundle} (package {provider.package})" if provider else "satisfied"
        case Satisfaction.CONDITIONAL:
            return "satisfied while no other package provides it"
        case Satisfaction.NOT_EVALUATED:
            return f"not evaluated{f': {one.problem}' if one.problem else ''}"
        case Satisfaction.MISSING:
            return f"missing in the catalog{f': {one.failure_message}' if one.failure_message else ''}"
        case Satisfaction.INVALID:
            return f"invalid: {one.problem}"

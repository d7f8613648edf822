"""Packages, channels and bundles of a catalog as tables for people, and as documents for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.catalog.listing import BundleRow, ChannelRow, PackageRow
from rukpak_py.cli.reports.columns import columns

Json = dict[str, Any]


def package_lines(rows: Sequence[PackageRow], *, width: int = 0) -> Iterator[str]:
    cells = ((row.package, row.display_name, row.default_channel, _deprecated(row.deprecation)) for row in rows)
    yield from columns(("NAME", "DISPLAY NAME", "DEFAULT CHANNEL", "DEPRECATED"), cells, width=width)


def channel_lines(rows: Sequence[ChannelRow], *, width: int = 0) -> Iterator[str]:
    cells = (
        (
            row.package,
            f"{row.channel}*" if row.is_default else row.channel,
            str(row.entries),
            row.head or f"ERROR: {row.problem}",
            _deprecated(row.deprecation),
        )
        for row in rows
    )
    yield from columns(("PACKAGE", "CHANNEL", "ENTRIES", "HEAD", "DEPRECATED"), cells, width=width)


def bundle_lines(rows: Sequence[BundleRow], *, width: int = 0) -> Iterator[str]:
    cells = (
        (row.package, row.channel, row.bundle, row.replaces, ",".join(row.skips), row.skip_range, row.image)
        for row in rows
    )
    yield from columns(("PACKAGE", "CHANNEL", "BUNDLE", "REPLACES", "SKIPS", "SKIP RANGE", "IMAGE"), cells, width=width)


def package_document(row: PackageRow) -> Json:
    return {
        "package": row.package,
        "displayName": row.display_name or None,
        "defaultChannel": row.default_channel or None,
        "deprecation": row.deprecation,
    }


def channel_document(row: ChannelRow) -> Json:
    return {
        "package": row.package,
        "channel": row.channel,
        "default": row.is_default,
        "head": row.head,
        "heads": list(row.heads),
        "entries": row.entries,
        "problem": row.problem or None,
        "deprecation": row.deprecation,
    }


def bundle_document(row: BundleRow) -> Json:
    return {
        "package": row.package,
        "channel": row.channel,
        "bundle": row.bundle,
        "version": row.version or None,
        "replaces": row.replaces or None,
        "skips": list(row.skips),
        "skipRange": row.skip_range or None,
        "image": row.image or None,
        "deprecation": row.deprecation,
    }


def _deprecated(message: str | None) -> str:
    return "" if message is None else message or "yes"

"""Differences of two catalogs, as the author of an upgrade wants to read them.

Only meaning counts: files, the order of blobs, of entries, of skips and of properties make no difference. A channel
whose head moved is one change, which has the changed entries, and the bundles that came or went with them, as parts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import UNSET

from rukpak_py.catalog.model import (
    CHANNEL,
    PACKAGE_PROPERTY,
    Bundle,
    Catalog,
    CustomBlob,
    Deprecation,
    Package,
    Property,
)
from rukpak_py.catalog.package_index import PackageIndex, by_package
from rukpak_py.catalog.upgrades.choosing import is_package
from rukpak_py.core.text import named, shown


class Subject(StrEnum):
    PACKAGE = "package"
    DEFAULT_CHANNEL = "default channel"
    DESCRIPTION = "description"
    ICON = "icon"
    CHANNEL = "channel"
    HEAD = "head"
    ENTRY = "entry"
    REPLACES = "replaces"
    SKIPS = "skips"
    SKIP_RANGE = "skipRange"
    BUNDLE = "bundle"
    VERSION = "version"
    IMAGE = "image"
    RELATED_IMAGE = "related image"
    PROPERTY = "property"
    DEPRECATION = "deprecation"
    CUSTOM_BLOB = "custom blob"


class ChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """`name` is that of the entry, the bundle, the blob, or the property of a package or channel.

    `before` and `after` are texts to show, cut where they are long.
    """

    kind: ChangeKind
    subject: Subject
    package: str = ""
    channel: str = ""
    name: str = ""
    detail: str = ""  # of a bundle's properties and related images: the type, the name
    before: str = ""
    after: str = ""
    parts: "tuple[Change, ...]" = ()


_LONG: Final = 120
_CONTEXT: Final = 30
Item = tuple[str, str]  # what it is, and its content


def diff(before: Catalog, after: Catalog) -> tuple[Change, ...]:
    """Changes sorted by package; a package or a channel that came or went is one change."""
    old, new = by_package(before), by_package(after)
    found: list[Change] = []
    for name in sorted(old.keys() | new.keys()):
        found += _Package(old.get(name, PackageIndex(name=name)), new.get(name, PackageIndex(name=name))).changes()
    loose = [[_custom_item(one) for one in catalog.custom if not one.package] for catalog in (before, after)]
    found += _item_changes(Change(kind=ChangeKind.CHANGED, subject=Subject.CUSTOM_BLOB), *loose)
    return tuple(found)


def flattened(changes: Iterable[Change]) -> Iterator[Change]:
    """Every change; parts follow the change that has them."""
    for change in changes:
        yield change
        yield from flattened(change.parts)


class _Package:
    def __init__(self, old: PackageIndex, new: PackageIndex) -> None:
        self._old = old
        self._new = new
        self._told: set[str] = set()  # bundles that are parts of a moved head

    def changes(self) -> Iterator[Change]:
        old, new = self._old, self._new
        if is_package(old) and is_package(new):
            yield from self._package_changes(old.package, new.package)
            for channel in sorted(old.channels.keys() | new.channels.keys()):
                yield from self._channel_changes(channel)
            for name in sorted((old.bundles.keys() | new.bundles.keys()) - self._told):
                yield from self._bundle_changes(name)
            yield from self._deprecation_changes()
        elif is_package(new):
            yield self._change(ChangeKind.ADDED, Subject.PACKAGE, after=named(new.graphs))
        elif is_package(old):
            yield self._change(ChangeKind.REMOVED, Subject.PACKAGE, before=named(old.graphs))
        customs = [[_custom_item(one) for one in index.custom] for index in (old, new)]
        yield from _item_changes(self._change(ChangeKind.CHANGED, Subject.CUSTOM_BLOB), *customs)

    def _package_changes(self, old: Package | None, new: Package | None) -> Iterator[Change]:
        old, new = old or Package(name=self._old.name), new or Package(name=self._new.name)
        yield from self._changed(Subject.DEFAULT_CHANNEL, old.default_channel, new.default_channel)
        yield from self._changed(Subject.DESCRIPTION, old.description, new.description)
        if old.icon != new.icon:
            media_types = [one.icon.media_type if one.icon else "" for one in (old, new)]
            yield self._change(_kind(bool(old.icon), bool(new.icon)), Subject.ICON, *media_types)
        properties = self._change(ChangeKind.CHANGED, Subject.PROPERTY)
        yield from _item_changes(properties, _items(old.properties), _items(new.properties))

    def _channel_changes(self, name: str) -> Iterator[Change]:
        old, new = self._old.channels.get(name), self._new.channels.get(name)
        heads = [named(index.graphs[name].heads) if name in index.graphs else "" for index in (self._old, self._new)]
        if old is None or new is None:
            kind = _kind(old is not None, new is not None)
            yield replace(self._change(kind, Subject.CHANNEL, *heads), channel=name)
            return
        properties = replace(self._change(ChangeKind.CHANGED, Subject.PROPERTY), channel=name)
        yield from _item_changes(properties, _items(old.properties), _items(new.properties))
        entries = [replace(one, channel=name) for one in self._entry_changes(name)]
        if heads[0] == heads[1]:
            yield from entries
            return
        moved = [one.name for one in entries if one.subject is Subject.ENTRY and one.name not in self._told]
        bundles = [change for entry in moved for change in self._bundle_changes(entry)]
        self._told.update(moved)
        head = self._change(ChangeKind.CHANGED, Subject.HEAD, *heads)
        yield replace(head, channel=name, parts=(*entries, *bundles))

    def _entry_changes(self, channel: str) -> Iterator[Change]:
        old, new = self._old.graphs[channel].entries, self._new.graphs[channel].entries
        for name in sorted(old.keys() | new.keys()):
            before, after = old.get(name), new.get(name)
            if before is None or after is None:
                yield replace(self._change(_kind(before is not None, after is not None), Subject.ENTRY), name=name)
                continue
            yield from self._changed(Subject.REPLACES, before.replaces, after.replaces, name=name)
            removed, added = set(before.skips) - set(after.skips), set(after.skips) - set(before.skips)
            if removed or added:
                kind = _kind(bool(removed), bool(added))
                skips = self._change(kind, Subject.SKIPS, named(sorted(removed)), named(sorted(added)))
                yield replace(skips, name=name)
            yield from self._changed(Subject.SKIP_RANGE, before.skip_range, after.skip_range, name=name)

    def _bundle_changes(self, name: str) -> Iterator[Change]:
        old, new = self._old.bundles.get(name), self._new.bundles.get(name)
        versions = [_version(one) if one else "" for one in (old, new)]
        if old is None or new is None:
            if old is not new:
                kind = _kind(old is not None, new is not None)
                yield replace(self._change(kind, Subject.BUNDLE, *versions), name=name)
            return
        yield from self._changed(Subject.VERSION, *versions, name=name)
        yield from self._changed(Subject.IMAGE, old.image, new.image, name=name)
        of_bundle = self._change(ChangeKind.CHANGED, Subject.RELATED_IMAGE)
        images = [[(one.name, one.image) for one in bundle.related_images] for bundle in (old, new)]
        yield from _item_changes(of_bundle, *images, owner=name)
        properties = [_items(one for one in bundle.properties if not _is_version(one, bundle)) for bundle in (old, new)]
        yield from _item_changes(replace(of_bundle, subject=Subject.PROPERTY), *properties, owner=name)

    def _deprecation_changes(self) -> Iterator[Change]:
        old, new = (
            {(one.schema, one.name): one.message for one in _deprecations(index)} for index in (self._old, self._new)
        )
        for schema, name in sorted(old.keys() | new.keys()):
            before, after = old.get((schema, name)), new.get((schema, name))
            if before != after:
                kind = _kind(before is not None, after is not None)
                change = self._change(kind, Subject.DEPRECATION, before or "", after or "")
                yield replace(change, channel=name) if schema == CHANNEL else replace(change, name=name)

    def _changed(self, subject: Subject, before: str, after: str, *, name: str = "") -> Iterator[Change]:
        if before != after:
            yield replace(self._change(_kind(bool(before), bool(after)), subject, before, after), name=name)

    def _change(self, kind: ChangeKind, subject: Subject, before: str = "", after: str = "") -> Change:
        return Change(kind=kind, subject=subject, package=self._old.name, before=shown(before), after=shown(after))


def _kind(had: bool, has: bool) -> ChangeKind:  # noqa: FBT001 - the two sides
    return ChangeKind.CHANGED if had and has else ChangeKind.ADDED if has else ChangeKind.REMOVED


def _item_changes(change: Change, old: Iterable[Item], new: Iterable[Item], *, owner: str = "") -> Iterator[Change]:
    """Changes of two bags of items; one that went and one that came under the same name are one change."""
    before, after = Counter(old), Counter(new)
    removed, added = before - after, after - before
    names: dict[str, tuple[list[str], list[str]]] = {}
    for side, items in enumerate((removed, added)):
        for name, content in sorted(items.elements()):
            names.setdefault(name, ([], []))[side].append(content)
    for name, (gone, come) in sorted(names.items()):
        one = replace(change, name=owner or name, detail=name if owner else "")
        if len(gone) == len(come) == 1:
            first, second = _around_difference(gone[0], come[0])
            yield replace(one, before=shown(first), after=shown(second))
            continue
        yield from (replace(one, kind=ChangeKind.REMOVED, before=shown(text)) for text in gone)
        yield from (replace(one, kind=ChangeKind.ADDED, after=shown(text)) for text in come)


def _around_difference(before: str, after: str) -> tuple[str, str]:
    """Both texts from shortly before their first difference to shortly behind their last one."""
    if max(len(before), len(after)) <= _LONG:
        return before, after
    start = _common(before, after)
    shorter = min(len(before), len(after)) - start
    end = min(shorter, _common(before[::-1], after[::-1]))
    start, end = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    first, second = (
        f"{'…' if start else ''}{text[start : len(text) - end]}{'…' if end else ''}" for text in (before, after)
    )
    return first, second


def _common(one: str, other: str) -> int:
    """The number of characters at the start that are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (first, second) in pairs if first != second), min(len(one), len(other)))


def _items(properties: Iterable[Property]) -> list[Item]:
    return [(one.type, _text(one.value)) for one in properties]


def _custom_item(blob: CustomBlob) -> Item:
    return f"{blob.schema} {blob.name}".rstrip(), _text(blob.value)


def _text(value: Any) -> str:
    """Equal for equal values, whatever the order of their keys."""
    return "" if value is UNSET else msgspec.json.encode(value, order="sorted").decode()


def _version(bundle: Bundle) -> str:
    return f"{bundle.version} ({bundle.release})" if bundle.release else bundle.version


def _is_version(one: Property, bundle: Bundle) -> bool:
    """Whether the property says no more than the package and the version, which have a change of their own."""
    return (
        one.type == PACKAGE_PROPERTY and isinstance(one.value, dict) and one.value.get("packageName") == bundle.package
    )


def _deprecations(index: PackageIndex) -> Iterable[Deprecation]:
    return index.deprecations.entries if index.deprecations else ()

"""Advice on what a catalog lacks: often it is there, under another name or in a blob of a misspelled schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from rukpak_py.catalog.blobs import SCHEMAS
from rukpak_py.catalog.checks.whole_catalog import WholeCatalog
from rukpak_py.catalog.model import BUNDLE, CHANNEL, PACKAGE, Bundle, Channel, CustomBlob, Origin, Package
from rukpak_py.catalog.similar_names import SimilarNames, near
from rukpak_py.catalog.upgrades.bundle_order import parse_version
from rukpak_py.core.go_text import quoted
from rukpak_py.core.text import named

_RESERVED: Final = "olm."


@dataclass(frozen=True, kw_only=True)
class Advice:
    whole: WholeCatalog

    def on_package(self, package: str, origin: Origin) -> str:
        """Advice on a package that has channels or bundles, but no blob of its own."""
        if not package:
            return "Write the name of the package in `package`."
        blob = self._misspelled.get((PACKAGE, "", package))
        if blob is not None:
            return _correct_schema(blob, PACKAGE)
        meant = self._similar.meant(package, self.whole.known)
        if meant is not None:
            return f"{meant} Otherwise add an `olm.package`: `rukpakctl catalog init {package}`."
        bare = self._bare.get(origin.file, set())
        if len(bare) == 1:
            return f"The package {quoted(min(bare))} has no channels and no bundles: use one name for both."
        return f"Add an `olm.package` with this name: `rukpakctl catalog init {package}` prints one."

    def on_entry(self, channel: Channel, entry: str) -> str | None:
        """Advice on an entry without a bundle."""
        blob = self._misspelled.get((BUNDLE, channel.package, entry))
        if blob is not None:
            return _correct_schema(blob, BUNDLE)
        used = self.whole.in_channels[channel.package]
        bundles = self.whole.packages[channel.package].bundles
        found = self._similar.near(entry, (name for name in bundles if name not in used))
        return f"Did you mean {quoted(found)} for {quoted(entry)}? Otherwise add the bundle." if found else None

    def on_bundle(self, bundle: Bundle) -> str | None:
        """Advice on a bundle in no channel."""
        bundles = self.whole.packages[bundle.package].bundles
        entries = self.whole.in_channels[bundle.package]
        found = self._similar.near(bundle.name, (name for name in entries if name not in bundles))
        return f"A channel has the entry {quoted(found)}, which has no bundle: use one name." if found else None

    def on_new_bundle(self, bundle: Bundle) -> str | None:
        """Advice on a bundle in no channel that is newer than the head of the default channel."""
        index = self.whole.packages[bundle.package]
        channel = index.default_channel
        graph = index.graphs.get(channel)
        head = index.bundles.get(graph.heads[0]) if graph and len(graph.heads) == 1 else None
        old, new = parse_version(head.version) if head else None, parse_version(bundle.version)
        if not bundle.name or head is None or old is None or new is None or new <= old:
            return None
        entry = f"`- name: {bundle.name}` with `replaces: {head.name}`"
        return f"Add an entry to a channel, such as {entry} to {quoted(channel)}, or remove the bundle."

    def on_default_channel(self, package: str, default: str = "") -> str | None:
        """Advice on a default channel that is not given, or does not exist."""
        blob = self._misspelled.get((CHANNEL, package, default))
        if blob is not None:
            return _correct_schema(blob, CHANNEL)
        channels = self.whole.packages[package].channels
        names = sorted(name for name, channel in channels.items() if name and channel.entries)
        if names:
            meant = self._similar.meant(default, names) if default else None
            return " ".join(filter(None, (meant, f"Channels of the package: {named(names)}.")))
        if channels:
            return None
        index = self.whole.packages[package]
        others = self._strays.get(index.package.origin.file, set()) if index.package and not index.bundles else set()
        if len(others) == 1:
            return f"The channels are of a package {quoted(min(others))}: use one name for both."
        return "Add an `olm.channel` of the package, and name it in `defaultChannel`."

    def on_misspelled_field(self, package: Package, field: str) -> str | None:
        """Advice on a field of the package that is there under another name."""
        written = self.whole.unknown_fields.get((package.origin.file, package.origin.document), ())
        found = next((name for name in written if near(name, (field,))), None)
        return f"Write `{field}` for `{found}`." if found else None

    @cached_property
    def _similar(self) -> SimilarNames:
        return SimilarNames()

    @cached_property
    def _bare(self) -> Mapping[str, set[str]]:
        """Packages that have nothing but their own blob, by file."""
        found: dict[str, set[str]] = {}
        for one in self.whole.catalog.packages:
            index = self.whole.packages[one.name]
            if one.name and not index.channels and not index.bundles:
                found.setdefault(one.origin.file, set()).add(one.name)
        return found

    @cached_property
    def _strays(self) -> Mapping[str, set[str]]:
        """Packages that have channels, but no blob of their own, by file."""
        found: dict[str, set[str]] = {}
        for one in self.whole.catalog.channels:
            if one.package not in self.whole.known:
                found.setdefault(one.origin.file, set()).add(one.package)
        return found

    @cached_property
    def _misspelled(self) -> Mapping[tuple[str, str, str], CustomBlob]:
        """Blobs whose schema is nearly one of OLM's, by that schema, their package and their name."""
        found: dict[tuple[str, str, str], CustomBlob] = {}
        similar = SimilarNames()
        schemas = {blob.schema for blob in self.whole.catalog.custom if blob.schema.startswith(_RESERVED)}
        meant = {schema: similar.near(schema, SCHEMAS) for schema in sorted(schemas)}
        for blob in self.whole.catalog.custom:
            schema = meant.get(blob.schema)
            if schema is not None:
                found.setdefault((schema, blob.package, blob.name), blob)
        return found


def _correct_schema(blob: CustomBlob, schema: str) -> str:
    where = f" (document {blob.origin.document + 1} of {blob.origin.file})" if blob.origin.file else ""
    return f"There is a blob {quoted(blob.name)} of schema {quoted(blob.schema)}{where}: write `{schema}`."


def version_in_name(bundle: Bundle) -> str | None:
    """The version in a name `<package>.v<version>`."""
    prefix = f"{bundle.package}.v"
    text = bundle.name.removeprefix(prefix)
    return text if bundle.name.startswith(prefix) and parse_version(text) is not None else None

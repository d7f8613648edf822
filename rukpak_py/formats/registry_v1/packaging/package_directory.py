"""Package and channels of a bundle that lies in the old layout: a directory of bundles beside a package manifest.

A bundle belongs to a channel when the channel's head leads to it by `replaces` and `skips`. Messages are opm's. Where
opm fails because of a directory that is no bundle, hidden ones and `metadata` (it writes that one itself) are left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, text_of
from rukpak_py.formats.registry_v1.packaging.media_type import first_document, is_csv
from rukpak_py.formats.registry_v1.rules.first_documents import at, text, texts
from rukpak_py.formats.type_defects import Wanted, must_be


@dataclass(frozen=True, kw_only=True)
class Inferred:
    package: str
    channels: str  # separated by commas; empty when the bundle is in none
    default_channel: str
    manifest: str  # the file that says it


@dataclass(frozen=True, kw_only=True)
class _PackageManifest:
    package: str
    default_channel: str
    channels: list[tuple[str, str]]  # names with the names of their heads


def no_bundle_directory(name: str) -> bool:
    return name.startswith(".") or name == "metadata"


def infer(package: Tree, bundle: str, *, shown: str) -> Inferred:
    """`package` is the directory of the package, `bundle` the name of the bundle's directory in it."""
    try:
        return _infer(package, bundle, shown)
    except ContentError as error:
        raise ContentError(
            "please manually input channels and packageName, "
            f"error interpreting bundle from directory {shown}/{bundle}, {error}"
        ) from error


def _infer(package: Tree, bundle: str, shown: str) -> Inferred:
    try:
        csv = _csv_in(package, bundle, shown)
    except ContentError as error:
        raise ContentError(f"error loading CSV from bundle directory, {error}") from error
    try:
        csvs = [_csv_in(package, name, shown) for name in _bundles(package)]
    except ContentError as error:
        raise ContentError(f"error getting CSVs from bundles in the package directory, {error}") from error
    file, manifest = _package_manifest(package, shown)
    before = {text(one, "metadata", "name"): _before(one) for one in csvs}
    name = text(csv, "metadata", "name")
    channels = manifest.channels
    return Inferred(
        package=manifest.package,
        channels=",".join(sorted({channel for channel, head in channels if name in _reached(head, before)})),
        default_channel=manifest.default_channel or (channels[0][0] if len(channels) == 1 else ""),
        manifest=file,
    )


def _bundles(package: Tree) -> list[str]:
    return [name for name in package.names_in("") if name in package.directories and not no_bundle_directory(name)]


def _csv_in(package: Tree, directory: str, shown: str) -> Mapping[str, Any]:
    files = [f"{directory}/{name}" for name in package.names_in(directory)]
    csvs = [document for file in files if file in package and is_csv(document := first_document(package[file]))]
    if not csvs:
        raise ContentError(f"no ClusterServiceVersion object found in {shown}/{directory}")
    if len(csvs) > 1:
        raise ContentError("more than one ClusterServiceVersion is found in bundle")
    found: Mapping[str, Any] = csvs[0]
    return found


def _package_manifest(package: Tree, shown: str) -> tuple[str, _PackageManifest]:
    wrong = []
    for name in package.names_in(""):
        if name not in package:
            continue
        try:
            found = _decoded(yaml.load(package[name]))
        except ContentError as error:
            wrong.append(f"{_unparsed(name, shown)}, could not decode contents into package manifest - {error}")
            continue
        if found.package:
            return name, found
        wrong.append(f"{_unparsed(name, shown)}, name of package (packageName) is missing")
    raise ContentError(
        "error parsing package.yaml file in the package root directory, "
        f"valid PackageManifest YAML file not found in {shown}"
        + (f", {wrong[0]}" if len(wrong) == 1 else f", [{', '.join(wrong)}]" if wrong else "")
    )


def _unparsed(name: str, shown: str) -> str:
    return f"error parsing {shown}/{name} as package.yaml file"


def _decoded(document: Any) -> _PackageManifest:
    channels = _field(document, "channels")
    if not isinstance(channels, list | None):
        raise ContentError(f"channels {must_be(Wanted.LIST, channels)}")
    return _PackageManifest(
        package=_text(document, "packageName"),
        default_channel=_text(document, "defaultChannel"),
        channels=[(_text(one, "name", "channels."), _text(one, "currentCSV", "channels.")) for one in channels or []],
    )


def _text(value: Any, name: str, around: str = "") -> str:
    found = _field(value, name)
    read = "" if found is None else text_of(found)
    if read is None:
        raise ContentError(f"{around}{name} {must_be(Wanted.STRING, found)}")
    return read


def _field(value: Any, name: str) -> Any:
    """As Go finds it: in this case, or else in any."""
    if not isinstance(value, dict):
        return None
    return next((value[key] for key, _ in reversed(list(fields(value, [name])))), None)


def _before(csv: Mapping[str, Any]) -> list[str]:
    """Names of the versions before this one: those that it replaces and skips."""
    return [text(csv, "spec", "replaces"), *texts(csv, "spec", "skips")] if at(csv, "spec") else []


def _reached(head: str, before: Mapping[str, list[str]]) -> Iterator[str]:
    """The bundles of a channel: only those that are there lead any further."""
    seen: set[str] = set()
    waiting = [head]
    while waiting:
        name = waiting.pop()
        if name in before and name not in seen:
            seen.add(name)
            yield name
            waiting += before[name]

"""Package and channels of a bundle: as given, else from the package manifest beside it, else from its annotations.

The package manifest comes first, because in the old layout, versions in directories beside each other, the annotations
there are those of the version that was packaged last. Annotations with other keys are kept: catalogs choose by them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.registry_v1.metadata.annotations import (
    CHANNELS,
    DEFAULT_CHANNEL,
    PACKAGE,
    catalog_annotations,
)
from rukpak_py.formats.registry_v1.packaging import Labels, infer, no_bundle_directory

_ANNOTATIONS = "annotations"
_GIVE = "give --package and --channels (and --default, if it is not the first channel by name)"


@dataclass(frozen=True, kw_only=True)
class GivenNames:
    """Empty is not given."""

    package: str = ""
    channels: str = ""  # separated by commas
    default_channel: str = ""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The file that names were taken from."""

    file: str
    is_package: bool  # a package manifest


@dataclass(frozen=True, kw_only=True)
class FoundAnnotations:
    """An annotations file. `data` is None where there is none."""

    path: Path
    data: bytes | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)  # beside the annotations


def shown(path: Path) -> str:
    """Relative to the working directory, with `/` on every system."""
    return Path(os.path.relpath(path)).as_posix()


def read_annotations(path: Path, data: bytes | None) -> FoundAnnotations:
    """One that cannot be read is refused: what is unknown cannot be kept."""
    if data is None:
        return FoundAnnotations(path=path)
    try:
        document = yaml.load(data)
    except ContentError as error:
        raise ContentError(f"{shown(path)}: {error}\nrepair it, or remove it") from error
    if document is None:
        return FoundAnnotations(path=path, data=data)
    if not isinstance(document, dict):
        raise ContentError(f"{shown(path)} is no mapping: repair it, or remove it")
    values = catalog_annotations(document)
    if values is None and document.get(_ANNOTATIONS) is not None:
        raise ContentError(f"{shown(path)}: {_ANNOTATIONS} must be a mapping of strings: repair it, or remove it")
    members = {key: value for key, value in document.items() if key != _ANNOTATIONS}
    return FoundAnnotations(path=path, data=data, values=values or {}, members=members)


def choose_labels(
    given: GivenNames, kind: str, manifests: Path, existing: FoundAnnotations
) -> tuple[Labels, Origin | None]:
    """Labels of the bundle, and the file that said what is not given."""
    names, origin = given, None
    if not (given.package and given.channels):
        names, origin = _found(given, manifests, existing)
    labels = Labels(
        media_type=kind, package=names.package, channels=names.channels, default_channel=names.default_channel
    )
    return labels.with_others(existing.values), origin


def _found(given: GivenNames, manifests: Path, existing: FoundAnnotations) -> tuple[GivenNames, Origin]:
    try:
        found, origin = _in_package(manifests)
    except ContentError as error:
        if (said := _in_annotations(existing)) is None:
            raise ContentError(f"{error}\n{_GIVE}") from error
        found, origin = said, Origin(file=shown(existing.path), is_package=False)
    channels = given.channels or found.channels
    if not channels:
        raise ContentError(f"error interpreting channels, please manually input channels instead\n{_GIVE}")
    default_channel = given.default_channel or found.default_channel
    names = GivenNames(package=given.package or found.package, channels=channels, default_channel=default_channel)
    return names, origin


def _in_annotations(existing: FoundAnnotations) -> GivenNames | None:
    package, channels = (existing.values.get(key, "") for key in (PACKAGE, CHANNELS))
    if not (package and channels):
        return None
    return GivenNames(package=package, channels=channels, default_channel=existing.values.get(DEFAULT_CHANNEL, ""))


def _in_package(manifests: Path) -> tuple[GivenNames, Origin]:
    """Only files that lie directly in directories beside this one are looked at."""
    builder = TreeBuilder()
    for child in sorted(manifests.parent.iterdir()):
        if not child.is_dir():
            _add_file(builder, child.name, child)
        elif child == manifests or not no_bundle_directory(child.name):
            builder.add_directory(child.name)
            for file in sorted(child.iterdir()):
                _add_file(builder, f"{child.name}/{file.name}", file)
    found = infer(builder.build(), manifests.name, shown=str(manifests.parent))
    names = GivenNames(package=found.package, channels=found.channels, default_channel=found.default_channel)
    return names, Origin(file=found.manifest, is_package=True)


def _add_file(builder: TreeBuilder, path: str, file: Path) -> None:
    if file.is_file() and file.stat().st_size <= Limits.from_environment().yaml_bytes:
        builder.add(path, file.read_bytes())

"""Descriptors, which name the blobs of an image by digest and size, and blobs verified against them.

A chart in a registry, as `helm push` writes it, is a manifest like that of an image for one `helm package` archive. Its
configuration is of a type of its own, which tells it from an image. A signature may lie beside the archive.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

import msgspec

from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.limits import Limits

_DIGEST = re.compile(r"(?P<algorithm>sha256):[0-9a-f]{64}|(?P<longer>sha512):[0-9a-f]{128}")
T = TypeVar("T")


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    os: str = ""
    architecture: str = ""

    def __str__(self) -> str:
        return f"{self.os}/{self.architecture}"


class Descriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    media_type: str = ""
    digest: str
    size: int
    platform: Platform | None = None
    annotations: dict[str, str] | None = None


class Index(msgspec.Struct, frozen=True, kw_only=True):
    manifests: list[Descriptor]


class ImageManifest(msgspec.Struct, frozen=True, kw_only=True):
    config: Descriptor | None = None
    layers: list[Descriptor]


class RootFileSystem(msgspec.Struct, frozen=True, kw_only=True):
    diff_ids: list[str] = []


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of an image; what it says for containers may be anything."""

    rootfs: RootFileSystem = RootFileSystem()
    config: Any = None

    @property
    def labels(self) -> dict[str, str]:
        found = self.config.get("Labels") if isinstance(self.config, dict) else None
        return {key: text for key, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}


@dataclass(frozen=True, kw_only=True)
class ImageDetails:
    """The identity of an image that content was read from. Labels are read when they are asked for."""

    digest: str  # of the index where there is one, else of the manifest; empty: `docker save` writes neither
    labels: Callable[[], Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class WantedPlatform:
    """The platform of the image that is wanted of several; both empty: the only one that fits."""

    name: str = ""
    digest: str = ""

    def __bool__(self) -> bool:
        return bool(self.name or self.digest)

    def __str__(self) -> str:
        return f"{self.name}@{self.digest}" if self.name and self.digest else self.name or self.digest


ANY = WantedPlatform()


def verified(
    chunks: Iterable[bytes], descriptor: Descriptor, *, damaged: type[RukPakError] = ContentError
) -> Iterator[bytes]:
    """The blob as it streams by; raises `damaged` when it is not what the descriptor names."""
    digest = new_hash(descriptor.digest)
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > descriptor.size:
            raise damaged(f"blob {descriptor.digest} is larger than the {descriptor.size} bytes that were announced")
        digest.update(chunk)
        yield chunk
    if size != descriptor.size:
        raise damaged(f"blob {descriptor.digest} has {size} bytes instead of {descriptor.size}")
    check_digest(digest, descriptor.digest, damaged)


def new_hash(digest: str) -> Any:
    """A hash of the digest's algorithm; ContentError for what is not a digest, so that it may become part of a path."""
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise ContentError(f"{digest[:200]!r} is not a digest of a kind that is supported (sha256, sha512)")
    return hashlib.new(match["algorithm"] or match["longer"])


def check_digest(found: Any, digest: str, damaged: type[RukPakError] = ContentError) -> None:
    if (actual := f"{found.name}:{found.hexdigest()}") != digest:
        raise damaged(f"blob {digest} is damaged: its content has the digest {actual}")


def document(what: str, chunks: Iterable[bytes], form: type[T], limits: Limits) -> T:
    """A manifest, an index or a configuration."""
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > limits.image_manifest_bytes:
            raise limits.exceeded("image_manifest_bytes", f"the size of {what}")
    try:
        return msgspec.json.decode(bytes(data), type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContentError(f"{what} cannot be decoded: {error}") from error


def check_entries(what: str, entries: int, limits: Limits) -> None:
    if entries > limits.image_entries:
        raise limits.exceeded("image_entries", f"the number of entries of {what}")


def streaming(limits: Limits) -> Limits:
    """Limits for what only streams by: as much of it as an image may have."""
    return replace(limits, archive_bytes=limits.image_bytes, content_bytes=limits.image_bytes)


Blobs = Callable[[str], Iterable[bytes]]
"""The content of a file of an image layout or archive, by its path; ContentError when it is not there."""


CHART: Final = "application/vnd.cncf.helm.config.v1+json"
_ARCHIVES: Final = frozenset({"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"})


class Manifest(Protocol):
    @property
    def config(self) -> Descriptor | None: ...

    @property
    def layers(self) -> list[Descriptor] | None: ...


def is_chart(manifest: Manifest) -> bool:
    return manifest.config is not None and manifest.config.media_type == CHART


def chart_archive_of(manifest: Manifest, limits: Limits) -> Descriptor:
    """The one archive of a chart, within the limits as far as the manifest says."""
    layers = manifest.layers or []
    check_entries("the chart's manifest", len(layers), limits)
    archives = [layer for layer in layers if layer.media_type in _ARCHIVES]
    if len(archives) != 1:
        raise ContentError(f"the chart's manifest has {len(archives)} archives of a chart instead of one")
    if archives[0].size > limits.archive_bytes:
        raise limits.exceeded("archive_bytes", "the size of the archive")
    return archives[0]

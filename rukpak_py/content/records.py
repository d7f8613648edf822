"""Records of what the operator unpacked and for whom, on disk beside the content.

    <directory>/records/bundle-<hex>.json    of a Bundle: its content, where that came from, and by which spec
    <directory>/records/image-<hex>.json     of an image by digest: its content, and who has proved access to it

Others may be able to write the status of a Bundle, so no status decides which stored content a Bundle gets: a record
does. A Bundle has the content of its record and no other. The content of an image goes only to those who proved that
they may read the image where it came from: its name is part of the key, because a registry of the reader's own choice
proves nothing, and so is the class, which decides what is kept of an image.

A record that is missing, damaged or of a later format counts as missing. That is safe: the record of a Bundle belongs
to its uid, so without it the content is fetched anew from the source of its own spec, and accepted only with the
digest of its status. A forged status can keep that Bundle from its content; it brings other content into
no Bundle. Without the record of an image its registry is asked.

An operator from before there were records left none, and the sources of its Bundles may be gone. So the first process
that keeps records takes over what its predecessor had linked to the name of a Bundle, where the status has that digest.

Blocking: call it from threads. OSErrors come out as StoreUnavailableError.
"""

import hashlib
import os
import re
import threading
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from rukpak_py.api.reading import to_json
from rukpak_py.api.source import Source
from rukpak_py.content import disk
from rukpak_py.core.objects import canonical_json

FOLDER: Final = "records"
_VERSION: Final = 1
_NAME: Final = re.compile(r"(?P<kind>bundle|image)-[0-9a-f]{64}\.json")
_FILE_MODE: Final = 0o600
_MOST_BYTES: Final = 4 * 1024 * 1024  # a Bundle may name 256 ConfigMaps, an image may have thousands of readers


class _Kind(StrEnum):
    BUNDLE = "bundle"
    IMAGE = "image"


class BundleRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`deployment`: the uid of the BundleDeployment whose template it was unpacked for; empty: of none."""

    uid: str
    deployment: str = ""
    spec_digest: str
    digest: str
    source: Source  # resolved
    artifact_type: str = ""  # as in the status


class ImageRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`bundles` and `deployments`: the uids of those who have proved access."""

    image: str  # with its digest
    provisioner_class: str
    digest: str
    artifact_type: str = ""
    bundles: tuple[str, ...] = ()
    deployments: tuple[str, ...] = ()

    def is_proven_by(self, *, bundle: str, deployment: str) -> bool:
        return bundle in self.bundles or deployment in self.deployments


@dataclass(frozen=True, kw_only=True)
class InUse:
    """The uids of what exists, and what is installed or was: the uid of a deployment, and a digest of content."""

    bundles: AbstractSet[str]
    deployments: AbstractSet[str]
    installed: AbstractSet[tuple[str, str]]


class _Head(msgspec.Struct):
    version: int = 0


Record = TypeVar("Record", BundleRecord, ImageRecord)


class RecordStore:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()  # proofs are added to what is there

    def exists(self) -> bool:
        """Whether an operator that keeps records has used this store."""
        with disk.reporting_failures("the content store", self._directory / FOLDER):
            return (self._directory / FOLDER).exists()

    def bundles(self) -> dict[str, BundleRecord]:
        """All that can be read, by uid."""
        with self._opened() as folder:
            found = [_read(folder, name, BundleRecord) for name in _names(folder, _Kind.BUNDLE)]
        return {record.uid: record for record in found if record is not None}

    def keep_bundle(self, record: BundleRecord) -> None:
        with self._opened() as folder:
            _write(folder, _name(_Kind.BUNDLE, record.uid), record)

    def image(self, image: str, provisioner_class: str) -> ImageRecord | None:
        with self._opened() as folder:
            found = _read(folder, _name(_Kind.IMAGE, image, provisioner_class), ImageRecord)
        is_it = found is not None and (found.image, found.provisioner_class) == (image, provisioner_class)
        return found if is_it else None

    def keep_image(self, record: ImageRecord) -> None:
        """With the proofs that are there already."""
        with self._lock:
            known = self.image(record.image, record.provisioner_class) or record
            merged = msgspec.structs.replace(
                record,
                bundles=tuple(sorted({*known.bundles, *record.bundles} - {""})),
                deployments=tuple(sorted({*known.deployments, *record.deployments} - {""})),
            )
            if merged == known and known is not record:
                return
            with self._opened() as folder:
                _write(folder, _name(_Kind.IMAGE, record.image, record.provisioner_class), merged)

    def sweep(self, in_use: InUse) -> None:
        """Remove the records of Bundles that are gone, the proofs of all that is gone, and what cannot be read."""
        with self._lock, self._opened() as folder:
            for name in _names(folder, _Kind.BUNDLE):
                bundle = _read(folder, name, BundleRecord)
                if bundle is None or not is_in_use(bundle, in_use):
                    _remove(folder, name)
            for name in _names(folder, _Kind.IMAGE):
                image = _read(folder, name, ImageRecord)
                left = _with_living_proofs(image, in_use) if image is not None else None
                if left is None:
                    _remove(folder, name)
                elif left != image:
                    _write(folder, name, left)

    def remove_temporary(self) -> None:
        """Remove what a crash left behind."""
        with self._opened() as folder:
            disk.remove_temporary(folder)

    def _opened(self) -> AbstractContextManager[int]:
        return disk.private_folder(self._directory, FOLDER, what="the content store")


def is_in_use(record: BundleRecord, in_use: InUse) -> bool:
    """Its Bundle exists, or its deployment may need what is installed although the Bundle is gone."""
    return record.uid in in_use.bundles or (record.deployment, record.digest) in in_use.installed


def _with_living_proofs(record: ImageRecord, in_use: InUse) -> ImageRecord | None:
    """None: no proof is left."""
    bundles = tuple(uid for uid in record.bundles if uid in in_use.bundles)
    deployments = tuple(uid for uid in record.deployments if uid in in_use.deployments)
    if not bundles and not deployments:
        return None
    return msgspec.structs.replace(record, bundles=bundles, deployments=deployments)


def _names(folder: int, kind: _Kind) -> list[str]:
    matches = map(_NAME.fullmatch, disk.names(folder))
    return sorted(match[0] for match in matches if match is not None and match["kind"] == kind)


def _name(kind: _Kind, *key: str) -> str:
    """File name for a key, which may be any text."""
    return f"{kind}-{hashlib.sha256(canonical_json([kind, *key])).hexdigest()}.json"


def _write(folder: int, name: str, record: BundleRecord | ImageRecord) -> None:
    disk.write(folder, name, [canonical_json({"version": _VERSION, **to_json(record)})], _FILE_MODE)


def _read(folder: int, name: str, kind: type[Record]) -> Record | None:
    if not disk.is_file(folder, name):
        return None
    with disk.open_file(folder, name) as file:
        data = file.read(_MOST_BYTES)
    try:
        if msgspec.json.decode(data, type=_Head).version != _VERSION:
            return None
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError):
        return None


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)

"""An image layout written to disk: as a directory, or as a tar archive where the name ends in .tar.

Only a file, an empty directory or a layout of one image is replaced. A layout of several images is a collection that
a user keeps, and any other directory holds a user's work. Files and directories are there completely, under their
names, or not at all.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import msgspec

from rukpak_py.content.canonical import write_tar
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError


class WriteOutcome(StrEnum):
    WROTE = "wrote"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


def write(path: Path, content: bytes, *, mode: int = 0o644) -> WriteOutcome:
    """Directories around it are made; a file with the same content is left alone. Failures name the file itself."""
    existed = path.exists()
    if existed and path.is_file() and path.read_bytes() == content:
        return WriteOutcome.UNCHANGED
    path.parent.mkdir(parents=True, exist_ok=True)
    with _named(path):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with _named(path), os.fdopen(descriptor, "wb") as file:
            file.write(content)
        with _named(path):
            temporary.chmod(mode)
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return WriteOutcome.REPLACED if existed else WriteOutcome.WROTE


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Report errors with this path instead of a temporary name, which users do not know."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A directory to fill that takes the name, and the place of what has it, when the block ends well."""
    with _named(path):
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        new, old = temporary / "new", temporary / "old"
        new.mkdir()
        yield new
        if path.exists():
            path.rename(old)
        try:
            new.rename(path)
        except BaseException:
            if old.exists() and not path.exists():
                old.rename(path)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


_OTHER_ARCHIVES = {".tgz", ".gz", ".bz2", ".xz", ".zst", ".zip", ".tbz", ".txz"}


class _Index(msgspec.Struct):
    manifests: list[object]


def check_output(path: Path) -> None:
    """Before anything is done, whether it may be written."""
    if path.suffix.lower() in _OTHER_ARCHIVES:
        raise ContentError(f"{path}: an image is written to a directory or to an uncompressed archive, FILE.tar")
    if not path.parent.is_dir():
        raise ContentError(f"{path}: there is no directory {path.parent}")
    if _is_archive(path):
        if path.is_dir():
            raise ContentError(f"{path} is a directory: a name that ends in .tar is for an archive")
    elif path.exists() and (not path.is_dir() or not _may_be_replaced(path)):
        raise ContentError(f"{path} already exists and is not an image layout of one image: it is not replaced")


def check_apart(path: Path, places: Iterable[Path]) -> None:
    """That it is not one of these places, in one, or around one: it would become part of the bundle, or replace it."""
    resolved = path.resolve()
    for place in (place.resolve() for place in places):
        if resolved.is_relative_to(place) or place.is_relative_to(resolved):
            raise ContentError(f"{path} would be part of the bundle or replace it: choose an output outside of {place}")


def write_layout(layout: Tree, path: Path) -> WriteOutcome:
    if _is_archive(path):
        return write(path, b"".join(write_tar(layout)))
    outcome = WriteOutcome.REPLACED if path.exists() else WriteOutcome.WROTE
    with new_directory(path) as directory:
        for name, content in layout.items():
            write(directory / name, content)
    return outcome


def _is_archive(path: Path) -> bool:
    return path.suffix == ".tar"


def _may_be_replaced(directory: Path) -> bool:
    if not any(directory.iterdir()):
        return True
    try:
        index = msgspec.json.decode((directory / "index.json").read_bytes(), type=_Index)
    except (OSError, msgspec.DecodeError):
        return False
    return (directory / "oci-layout").is_file() and len(index.manifests) <= 1

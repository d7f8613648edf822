"""Files and directories that are there completely, under their names, or not at all; and what became of each."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path


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

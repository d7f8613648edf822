"""A compressed archive that is complete, read to its tree. For a worker process, which loads nothing that downloads."""

import io
from functools import partial
from pathlib import Path
from typing import BinaryIO

from rukpak_py.content.inflate import CutOffError
from rukpak_py.content.tar import read_archive
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import Limits

_READ_AT_ONCE = 256 * 1024
_GZIP = b"\x1f\x8b\x08"


def read_gzipped_tar(
    content: bytes | Path, limits: Limits, *, not_gzip: str = "", not_tar: str = "", has_known_end: bool = True
) -> Tree:
    try:
        with _opened(content) as file:
            return _read(file, limits, not_gzip=not_gzip, not_tar=not_tar, has_known_end=has_known_end)
    except OSError as error:
        raise UnavailableError(f"the archive cannot be read: {error.strerror or error}") from error


def _opened(content: bytes | Path) -> BinaryIO:
    return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def _read(file: BinaryIO, limits: Limits, *, not_gzip: str, not_tar: str, has_known_end: bool) -> Tree:
    head = file.read(len(_GZIP))
    if head != _GZIP:
        text = f"{not_gzip}gzip: invalid header"
        raise damaged(text, has_known_end=has_known_end or not _GZIP.startswith(head))
    file.seek(0)
    chunks = iter(partial(file.read, _READ_AT_ONCE), b"")
    try:
        return read_archive(chunks, limits=limits)
    except CutOffError as error:
        raise damaged(f"{not_tar}{error}", has_known_end=has_known_end) from error
    except ContentError as error:
        raise ContentError(f"{not_tar}{error}") from error


def damaged(text: str, *, has_known_end: bool) -> RukPakError:
    """The error for a damaged archive. Only a known end proves that there is nothing more."""
    if has_known_end:
        return ContentError(text)
    return UnavailableError(f"{text}; the server does not say how long the archive is, so it may have broken off")

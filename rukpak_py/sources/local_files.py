"""Files that are no archive and no image: what they are by their first bytes, and what to give instead."""

import codecs
import re
from pathlib import Path

from rukpak_py.core.errors import ContentError

_HEAD = 4096
# The first bytes, what they mean, and what to do.
_KINDS = (
    (b"PK\x03\x04", "is a zip archive", "unpack it with `unzip`, and give the directory"),
    (b"PK\x05\x06", "is an empty zip archive", "give the directory of a bundle"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "unpack it with `7z x`, and give the directory"),
    (b"\xfd7zXZ\0", "is compressed with xz", "unpack it first with `xz -d`"),
    (b"BZh", "is compressed with bzip2", "unpack it first with `bzip2 -d`"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "unpack it first with `zstd -d`"),
    (b"\x04\x22\x4d\x18", "is compressed with lz4", "unpack it first with `lz4 -d`"),
)
_DOCUMENT = re.compile(r"""(---|\{|\[|- |["']?[\w./-]+["']?\s*:(\s|$))""", re.ASCII)


def refuse_what_is_no_archive(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise ContentError("the file is empty")
    for start, what, advice in _KINDS:
        if head.startswith(start):
            raise ContentError(f"{what}, which is not supported: {advice}")
    if (text := _text(head)) is not None:
        what = "a YAML file" if _is_document(text) else "a text file"
        raise ContentError(f"is {what}; give the directory of the bundle, the one that holds manifests/{_there(path)}")


def _text(head: bytes) -> str | None:
    """The header of a tar holds NULs. The last character may be cut in two."""
    if b"\0" in head:
        return None
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return None


def _is_document(text: str) -> bool:
    lines = (
        line for line in text.removeprefix("\ufeff").splitlines() if line.strip() and not line.startswith(("#", "%"))
    )
    return _DOCUMENT.match(next(lines, "").lstrip()) is not None


def _there(path: Path) -> str:
    return f", here {str(path.parent.parent)!r}" if path.parent.name == "manifests" else ""

"""C1: archives that attack, lie or break. Each is refused with a message, none is extracted, none crashes."""

import gzip
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.tar import read_archive
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import MIB, Limits

FILE, HARD, SOFT, DIRECTORY = tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE


def info(name: str, kind: bytes = FILE, link: str = "", **pax: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    made.pax_headers = {key.replace("sparse", "GNU.sparse.major"): value for key, value in pax.items()}
    return made


def archive(*members: tarfile.TarInfo, content: bytes = b"", dialect: int = tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=dialect) as tar:
        for made in members:
            made.size = len(content) if made.type == FILE else 0
            tar.addfile(made, io.BytesIO(content))
    return file.getvalue()


def patched(data: bytes, place: slice, value: bytes) -> bytes:
    """The first header with a field changed and the checksum made right."""
    header = bytearray(data[:512])
    header[place] = value.ljust(place.stop - place.start, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data[512:]


GOOD = archive(info("a"), content=b"content", dialect=tarfile.GNU_FORMAT)

MANY = {f"k{number}": "v" for number in range(2001)}
REFUSED = {
    "parent": (archive(info("../a")), 'contains ".."'),
    "parent inside": (archive(info("a/../../b")), 'contains ".."'),
    "absolute": (archive(info("/etc/passwd")), "is absolute"),
    "backslash": (archive(info("a\\..\\b")), "backslash"),
    "nul in a pax path": (archive(info("a", path="a\0b")), "NUL"),
    "file without a name": (archive(info(".")), "has no name"),
    "path too long": (archive(info("a" * 2000)), "RUKPAK_LIMIT_PATH_BYTES"),
    "path beyond PATH_MAX": (archive(info("a/" * 3000 + "b")), "RUKPAK_LIMIT_PATH_BYTES"),
    "path too deep": (archive(info("a/" * 40 + "b")), "RUKPAK_LIMIT_PATH_DEPTH"),
    "pax path overrides": (archive(info("harmless", path="../../etc/passwd")), 'contains ".."'),
    "twice": (archive(info("a"), info("./a")), "is there twice"),
    "file and directory": (archive(info("a"), info("a/b")), "both a file and a directory"),
    "soft link out": (archive(info("l", SOFT, "../../etc/passwd")), "points out of the archive"),
    "soft link absolute": (archive(info("l", SOFT, "/etc/passwd")), "points out of the archive"),
    "soft link empty": (patched(archive(info("l", SOFT, "x")), slice(157, 257), b""), "points out of the archive"),
    "soft link to the root": (archive(info("d/l", SOFT, "..")), "not a file of the archive"),
    "soft link to itself": (archive(info("l", SOFT, "l")), "never ends at a file"),
    "soft links in a circle": (archive(info("l", SOFT, "m"), info("m", SOFT, "l")), "never ends at a file"),
    "soft link to a directory": (archive(info("d", DIRECTORY), info("l", SOFT, "d")), "not a file of the archive"),
    "dangling soft link": (archive(info("l", SOFT, "nowhere")), "not a file of the archive"),
    "write through a soft link": (archive(info("l", SOFT, "a"), info("l/b"), info("a")), "both a file and a directory"),
    "write through a soft link out": (archive(info("l", SOFT, "/tmp"), info("l/b")), "points out of the archive"),
    "hard link out": (archive(info("l", HARD, "../a")), 'contains ".."'),
    "hard link absolute": (archive(info("l", HARD, "/etc/shadow")), "points out of the archive"),
    "hard link dot": (archive(info("l", HARD, ".")), "not a file of the archive"),
    "hard link to a soft link out": (archive(info("s", SOFT, ".."), info("l", HARD, "s")), "points out of the archive"),
    "link twice": (archive(info("l", SOFT, "a"), info("l", SOFT, "b"), info("a")), "link 'l' is there twice"),
    "link and file": (archive(info("l", SOFT, "a"), info("l"), info("a")), "is there twice"),
    "link by pax": (archive(info("l", SOFT, "a", linkpath="../../x"), info("a")), "points out of the archive"),
    "character device": (archive(info("dev", tarfile.CHRTYPE)), "device or a FIFO"),
    "block device": (archive(info("dev", tarfile.BLKTYPE)), "device or a FIFO"),
    "fifo": (archive(info("fifo", tarfile.FIFOTYPE)), "device or a FIFO"),
    "gnu sparse": (patched(GOOD, slice(156, 157), b"S"), "not supported"),
    "pax sparse": (archive(info("a", sparse="1")), "sparse files"),
    "volume": (patched(GOOD, slice(156, 157), b"V"), "not supported"),
    "global path": (patched(archive(info("a", path="b")), slice(156, 157), b"g"), "global header"),
    "pax size lies": (archive(info("a", size="-1"), content=b"x"), "size that is not a number"),
    "pax size is huge": (archive(info("a", size="9" * 19), content=b"x"), "RUKPAK_LIMIT_FILE_BYTES"),
    "pax record malformed": (archive(info("a", path="b" * 200)).replace(b"210 path=", b"999 path="), "malformed"),
    "too many pax records": (archive(info("a", FILE, "", **MANY)), "more than 2000 records"),
    "too many extended headers": (archive(info("a", path="b"))[:1024] * 17, "more than 16 extended headers"),
    "a pax record without a length": (archive(info("a", k="v")).replace(b"6 k=v\n", b"k=v\n6 "), "malformed"),
    "a pax record of no bytes": (archive(info("a", k="v")).replace(b"6 k=v\n", b"0 k=v\n"), "malformed"),
    "ten gigabytes that are not there": (patched(GOOD, slice(124, 136), b"\x80" + (10**10).to_bytes(11)), "RUKPAK_LIMIT_FILE"),  # noqa: E501 one row each
    "negative size": (patched(GOOD, slice(124, 136), b"\xff" * 12), "out of range"),
    "size is not a number": (patched(GOOD, slice(124, 136), b"12x"), "is not a number"),
    "name is not UTF-8": (patched(GOOD, slice(0, 100), b"\xff"), "not UTF-8"),
    "checksum": (b"b" + GOOD[1:], "wrong checksum"),
    "not a tar": (b"<html>" + b"x" * 2000, "checksum"),
    "empty": (b"", "cut off"),
    "cut in a header": (GOOD[:300], "cut off"),
    "cut in content": (GOOD[:515], "cut off"),
    "cut before the end mark": (GOOD[:1024], "cut off"),
    "lone zero block, then data": (GOOD[:1536] + GOOD[:512], "data follows its end"),
    "data behind the end": (GOOD + b"x", "data follows its end"),
    "second archive behind the end": (GOOD + GOOD, "data follows its end"),
    "gzip cut": (gzip.compress(GOOD)[:-9], "no end"),
    "gzip damaged": (gzip.compress(GOOD)[:20] + b"\xff" * 40, "not valid gzip|no end"),
    "gzip with a wrong checksum": (gzip.compress(GOOD)[:-8] + b"\xff" * 8, "not valid gzip"),
    "gzip, then garbage": (gzip.compress(GOOD) + b"garbage", "data follows its end"),
    "gzip, then a bad member": (gzip.compress(GOOD) + b"\x1f\x8bxxxxxxxxxxxxxx", "not valid gzip"),
    "gzip of gzip": (gzip.compress(gzip.compress(GOOD)), "checksum|cut off"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "problem"), REFUSED.values(), ids=REFUSED)
def test_c1_hostile_archives_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ContentError, match=problem):
        read_archive([data])


def test_a_lone_zero_block_ends_an_archive() -> None:
    assert dict(read_archive([GOOD[:1536]])) == {"a": b"content"}


def test_c1_a_gzip_bomb_stops_at_the_ratio() -> None:
    bomb = gzip.compress(bytes(64 * MIB))
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_INFLATION_RATIO"):
        read_archive([bomb])


def test_archive_that_inflates_beyond_the_limit_is_refused() -> None:
    limits = Limits(content_bytes=MIB, inflation_ratio=10**6)
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_CONTENT_BYTES"):
        read_archive([gzip.compress(archive(info("a"), content=bytes(2 * MIB)))], limits=limits)
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_CONTENT_BYTES"):
        read_archive([gzip.compress(GOOD + bytes(64 * MIB))], limits=limits)


def test_small_archives_may_compress_well() -> None:
    data = gzip.compress(archive(info("a"), content=bytes(MIB - 20_000)))
    assert len(read_archive([data])["a"]) == MIB - 20_000


def test_compressed_size_is_bounded() -> None:
    endless = (b"\x1f\x8b" + bytes(1000) for _ in iter(int, 1))
    with pytest.raises(ContentError, match=r"RUKPAK_LIMIT_ARCHIVE_BYTES|not valid gzip"):
        read_archive(endless)
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_ARCHIVE_BYTES"):
        read_archive([GOOD[:1024], *[bytes(MIB)] * 3], limits=Limits(archive_bytes=2 * MIB))


def test_entries_are_counted_even_when_they_repeat() -> None:
    members = [info("d", DIRECTORY) for _ in range(30)]
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_CONTENT_FILES"):
        read_archive([archive(*members)], limits=Limits(content_files=20))


def test_copies_for_links_count() -> None:
    members = [info("a"), *[info(f"l{number}", SOFT, "a") for number in range(5)]]
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_CONTENT_BYTES"):
        read_archive([archive(*members, content=b"x" * 100)], limits=Limits(content_bytes=500))


def test_extended_headers_are_bounded() -> None:
    data = patched(GOOD, slice(156, 157), b"L")
    with pytest.raises(ContentError, match="larger than 1 MiB"):
        read_archive([patched(data, slice(124, 136), b"%011o" % (2 * MIB))])


@given(st.binary(max_size=2000))
def test_c1_any_bytes_are_trees_or_content_errors(data: bytes) -> None:
    for wrapped in (data, gzip.compress(data)):
        try:
            read_archive([wrapped])
        except ContentError as error:
            assert str(error)  # noqa: PT017 the property is that nothing else is raised


@given(st.integers(0, len(GOOD) - 1), st.binary(min_size=1, max_size=20))
def test_c1_any_damage_is_a_tree_or_a_content_error(place: int, damage: bytes) -> None:
    try:
        read_archive([GOOD[:place] + damage + GOOD[place + len(damage) :]])
    except ContentError as error:
        assert str(error)  # noqa: PT017 see above

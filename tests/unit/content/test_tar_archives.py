"""Archives that are welcome: every dialect of tar, gzipped or not, in chunks of any size; and the canonical one."""

import contextlib
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.tar import read_archive, write_tar, write_tgz
from rukpak_py.content.tree import Tree, TreeBuilder, clean_path
from rukpak_py.core.errors import ContentError

FILES = {
    "manifests/a.yaml": b"kind: x\n" * 200,
    "manifests.txt": b"",
    "manifests/" + "n" * 120 + "/" + "m" * 90: b"prefix does",
    "d/" * 20 + "z" * 99: b"prefix does not",
    "y" * 101: b"nor here",
    "\u00e9/\u00fc": b"not ASCII",
    "block": b"b" * 512,
}


def tree_of(files: dict[str, bytes], *directories: str) -> Tree:
    builder = TreeBuilder()
    for path, content in files.items():
        builder.add(path, content)
    for directory in directories:
        builder.add_directory(directory)
    return builder.build()


def tar_of(members: list[tuple[tarfile.TarInfo, bytes]], dialect: int = tarfile.GNU_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=dialect) as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def split(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("dialect", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["gnu", "pax"])
@pytest.mark.parametrize("style", [str, lambda path: f"./{path}"], ids=["bare", "dotted"])
def test_foreign_archives_are_read(dialect: int, style: Callable[[str], str]) -> None:
    members = [(member(style(path)), content) for path, content in FILES.items()]
    members += [(member("empty/inner/", tarfile.DIRTYPE), b""), (member("./", tarfile.DIRTYPE), b"")]
    assert read_archive([tar_of(members, dialect)]) == tree_of(FILES, "empty/inner")


@pytest.mark.parametrize("size", [1, 511, 513, 100_000])
@pytest.mark.parametrize("packed", [False, True], ids=["tar", "gzip"])
def test_chunks_may_have_any_size(size: int, *, packed: bool) -> None:
    tree = tree_of(FILES)
    data = b"".join(write_tgz(tree) if packed else write_tar(tree))
    assert read_archive([b"", *split(data, size), b""]) == tree


def test_gzip_members_in_a_row_are_one_archive() -> None:
    tree = tree_of(FILES)
    data = b"".join(write_tar(tree))
    archive = gzip.compress(data[:700]) + gzip.compress(data[700:]) + bytes(100)
    assert read_archive([archive]) == tree
    assert read_archive(split(archive, 1)) == tree


def test_old_tars_write_directories_as_files_with_a_slash() -> None:
    assert read_archive([tar_of([(member("d/", tarfile.AREGTYPE), b"")])]).empty_directories == {"d"}


def test_base_256_sizes() -> None:
    data = bytearray(tar_of([(member("a"), b"content")]))
    data[124:136] = b"\x80" + (7).to_bytes(11, "big")
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    assert read_archive([bytes(data)]) == tree_of({"a": b"content"})


def test_global_pax_comments_are_ignored() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "0" * 40}) as tar:
        tar.addfile(member("a"))
    assert read_archive([file.getvalue()]) == tree_of({"a": b""})


def test_links_become_copies() -> None:
    members = [
        (member("m/a"), b"1"),
        (member("m/hard", tarfile.LNKTYPE, "./m/a"), b""),
        (member("m/soft", tarfile.SYMTYPE, "../m/./a"), b""),
        (member("chain", tarfile.SYMTYPE, "m/forward"), b""),
        (member("m/forward", tarfile.SYMTYPE, "hard"), b""),
    ]
    assert read_archive([tar_of(members)]) == tree_of(
        dict.fromkeys(["m/a", "m/hard", "m/soft", "chain", "m/forward"], b"1")
    )


def test_the_canonical_tar_as_others_see_it() -> None:
    data = b"".join(write_tar(tree_of({"b/a": b"12", "b.txt": b""}, "c")))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = [(info.name, info.type, info.mode, info.size) for info in tar]
        assert all((info.mtime, info.uid, info.gid, info.uname, info.gname) == (0, 0, 0, "", "") for info in tar)
    assert found == [
        (".", tarfile.DIRTYPE, 0o755, 0),
        ("b", tarfile.DIRTYPE, 0o755, 0),
        ("b/a", tarfile.REGTYPE, 0o644, 2),
        ("b.txt", tarfile.REGTYPE, 0o644, 0),
        ("c", tarfile.DIRTYPE, 0o755, 0),
    ]
    assert len(data) == 512 * (5 + 1 + 2)  # headers, one block of content, end mark: no pax, no padding to a record


def test_gzip_says_neither_time_nor_name() -> None:
    header = b"".join(write_tgz(tree_of({"a": b""})))[:10]
    assert header[:8] == b"\x1f\x8b\x08\x00" + bytes(4)


def test_every_process_writes_the_same() -> None:
    program = (
        "import hashlib; from rukpak_py.content.tree import *; from rukpak_py.content.tar import *; b = TreeBuilder()\n"
        "for n in {'a', 'b/c', 'b/d', 'e'}: b.add(n, n.encode())\n"
        "print(b.build().digest, hashlib.sha256(b''.join(write_tgz(b.build()))).hexdigest())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


PATHS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=70), min_size=1, max_size=6)


@given(st.dictionaries(PATHS.map("/".join), st.binary(max_size=600), max_size=6), PATHS.map("/".join))
def test_any_tree_comes_back(files: dict[str, bytes], directory: str) -> None:
    builder = TreeBuilder()
    for path, content in files.items():
        try:
            builder.add(path, content)
        except ContentError:
            continue
    with contextlib.suppress(ContentError):
        builder.add_directory(clean_path(directory))
    tree = builder.build()
    data = b"".join(write_tar(tree))
    assert f"sha256:{hashlib.sha256(data).hexdigest()}" == tree.digest
    again = read_archive([data])
    assert again == tree
    assert again.digest == tree.digest
    assert read_archive(write_tgz(tree)) == tree
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert {info.name for info in tar if info.isfile()} == set(tree)

"""Whatever an archive or a layer is made of, it becomes a Tree within the limits or a ContentError.

Members are made of what attacks are made of: headers of every kind, names and links that lead out, sizes that lie, pax
records and long names that contradict them, damage anywhere, and chunks that end anywhere.
"""

import gzip
from collections.abc import Callable, Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from rukpak_py.content.tar import read_archive, write_tgz
from rukpak_py.content.tree import Tree, clean_path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import KIB, Limits
from rukpak_py.sources.image.layers import below, everything, tree_of_image
from tests.fuzzing import Choices, choices, fuzzed
from tests.unit.images import zstd_compressed

BLOCK = 512
LIMITS = Limits(
    archive_bytes=256 * KIB, content_bytes=64 * KIB, file_bytes=16 * KIB, content_files=12, path_bytes=100, path_depth=5
)
NAMES = ["a", "b", "manifests", "c", "d"]
PARTS = ["..", ".", "", "/", "\\", "\0", "a" * 90, ".wh.", ".wh..wh..opq", "é", "\n"]
LIES = [
    *(b"%011o\0" % size for size in (0, 1, 511, 512, 513, 16 * KIB + 1)),
    *(b"\x80" + (10**10).to_bytes(11), b"\xff" * 12, b"12x\0", b"7" * 12, b" 1 \0", b"-1\0", b"\x80" + bytes(11)),
]
FILE = b"0"
KINDS = [bytes([kind]) for kind in b"\x00346 7xgLKSVDMN"]
KEYS = ["path", "path", "linkpath", "size", "GNU.sparse.major", "comment", ""]
VALUES = ["0", "-1", "9" * 30, "1", "../x", "/x", "a", "a\0b"]
MAGIC = [b"ustar  \0", b"\0" * 8]
PREFIXES = [b"a/b", b"../..", b"/"]
END = bytes(2 * BLOCK)
ENDS = [bytes(20 * BLOCK), bytes(BLOCK), b"", b"x", bytes(BLOCK) + b"x"]


def archive(chosen: Choices) -> bytes:
    data = bytearray(b"".join(member(chosen) for _ in range(chosen.number % 7)))
    data += chosen.seldom(ENDS, END)
    if chosen.seldom([True], usual=False):
        place = chosen.number * 16 + chosen.number
        data[place : place + 1] = bytes([chosen.number])
    return bytes(data)


def member(chosen: Choices) -> bytes:
    pax = b"".join(record(chosen) for _ in range(chosen.seldom([1, 1, 2], 0)))
    kind = chosen.seldom(KINDS, chosen.one([FILE, FILE, FILE, b"5", b"2", b"1"]))
    content = bytes([chosen.number]) * (chosen.number * 3 if kind == FILE else 0)
    front = header(chosen, b"x", b"pax", len(pax)) + padded(pax) if pax else b""
    return front + header(chosen, kind, text(chosen).encode(), len(content)) + padded(content)


def header(chosen: Choices, kind: bytes, name: bytes, size: int) -> bytes:
    digits = chosen.seldom(LIES, b"%011o\0" % size)
    head = name[:100].ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + digits.ljust(12, b"\0")
    head += b"%011o\0" % 0 + b" " * 8 + kind + text(chosen).encode()[:100].ljust(100, b"\0")
    head += chosen.seldom(MAGIC, b"ustar\x0000") + bytes(80) + chosen.seldom(PREFIXES, b"")
    head = head.ljust(BLOCK, b"\0")
    return head[:148] + b"%06o\0 " % sum(head) + head[156:]


def record(chosen: Choices) -> bytes:
    body = f" {chosen.one(KEYS)}={chosen.one(VALUES)}\n".encode()
    return b"%02d" % (len(body) + 2 + chosen.seldom([-1, 1, 90], 0)) + body


def text(chosen: Choices) -> str:
    parts = [chosen.seldom(PARTS, chosen.one(NAMES)) for _ in range(chosen.number % 3 + 1)]
    return "/".join(parts)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def packed(chosen: Choices) -> bytes:
    data = archive(chosen)
    match chosen.one(["", "gzip", "members", "zstd", chosen.seldom(["cut"], "")]):
        case "gzip":
            return gzip.compress(data, 1)
        case "members":
            return gzip.compress(data[: len(data) // 2], 1) + gzip.compress(data[len(data) // 2 :], 1) + bytes(7)
        case "cut":
            return gzip.compress(data, 1)[:-5]
        case "zstd":
            return zstd_compressed(data)
    return data


def chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def tree_or_refusal(read: Callable[[], Tree]) -> Tree | str:
    """Nothing else is ever raised."""
    try:
        return read()
    except ContentError as error:
        return str(error)


def check(tree: Tree) -> None:
    assert all(path and path == clean_path(path, LIMITS) for path in (*tree, *tree.directories))
    assert tree.total_bytes <= LIMITS.content_bytes
    assert len(tree) + len(tree.directories) <= LIMITS.content_files
    assert read_archive(write_tgz(tree)) == tree


@fuzzed
@given(choices.map(packed), st.integers(1, 1500))
@example(b"", 1)
def test_c1_any_archive_is_a_tree_or_a_content_error(data: bytes, size: int) -> None:
    """The same, however the bytes arrive."""
    found = tree_or_refusal(lambda: read_archive([data], limits=LIMITS))
    assert found == tree_or_refusal(lambda: read_archive(chunks(data, size), limits=LIMITS))
    if isinstance(found, Tree):
        check(found)


@fuzzed
@given(st.lists(choices.map(packed), max_size=3), st.sampled_from([everything, below("manifests"), below("a", "b")]))
def test_c2_any_layers_are_a_tree_or_a_content_error(layers: list[bytes], keep: Callable[[str], bool]) -> None:
    found = tree_or_refusal(lambda: tree_of_image(lambda: [[data] for data in layers], keep=keep, limits=LIMITS))
    if isinstance(found, Tree):
        check(found)
        assert all(keep(path) for path in found)

"""What a rendering is when it is kept: one line that says which objects last, and one line for each object.

The same objects in the same order give the same lines, so their SHA-256 is the digest of the rendering. What else
`RenderedContent` may have, no format has whose renderings are kept.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import orjson

from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import RenderedContent

MARKS_BYTES = 1024  # of a key in the first line, at most; a name has 253 characters


def rendering(objects: Sequence[Object], lasting: frozenset[ObjectKey]) -> RenderedContent:
    """With its digest."""
    digest = hashlib.sha256()
    for line in _lines(objects, lasting):
        digest.update(line)
    return RenderedContent(objects=objects, lasting=lasting, digest=f"sha256:{digest.hexdigest()}")


def lines_of(content: RenderedContent) -> list[bytes]:
    return list(_lines(content.objects, content.lasting))


def read_lines(data: bytes) -> RenderedContent:
    """Of what we wrote ourselves."""
    first, *rest = data.splitlines()
    lasting = frozenset(ObjectKey(*key) for key in orjson.loads(first))
    return rendering([Object.from_manifest(orjson.loads(line)) for line in rest], lasting)


def _lines(objects: Iterable[Object], lasting: Iterable[ObjectKey]) -> Iterator[bytes]:
    yield orjson.dumps([list(key) for key in sorted(lasting)]) + b"\n"
    for one in objects:
        yield one.json + b"\n"

"""How deeply JSON nests. The API server takes ten thousand levels, and decoders fail at one thousand.

So text of the API server is cut at `DEEPEST` before a decoder that must not fail reads it. Code that acts on values
refuses those that may have been cut (`nests_deeper`, with `ACCEPTED`): they are not what their author wrote.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

DEEPEST = 500
ACCEPTED = 400  # less than what is left of `DEEPEST` inside of an event or a list

_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_STRING = rb'"(?:[^"\\]++|\\.)*+"?'
_NO_BRACKETS = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")++", re.DOTALL)
_BRACKET_OR_STRING = re.compile(rb"[\[\]{}]|" + _STRING, re.DOTALL)


def cut(text: bytes) -> bytes:
    """The JSON with null in the place of what nests deeper than `DEEPEST`; mostly the same bytes."""
    if sum(text.count(bracket) for bracket in (b"{", b"[")) <= DEEPEST:
        return text
    brackets = _NO_BRACKETS.sub(b"", text)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) <= DEEPEST:
        return text
    return b"".join(_cut_pieces(text))


def decoded(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    """Text of the API server, cut where it nests too deeply for the decoder."""
    try:
        return decoder.decode(text)
    except RecursionError:
        return decoder.decode(cut(text))


def nests_deeper(value: Any, than: int) -> bool:
    """Level by level: no value is too deep for it."""
    level = [value]
    for _ in range(than):
        level = [inner for one in level for inner in _containers_in(one)]
        if not level:
            return False
    return True


def _cut_pieces(text: bytes) -> Iterator[bytes]:
    kept, depth = 0, 0
    for match in _BRACKET_OR_STRING.finditer(text):
        step = _STEPS.get(match[0][0], 0)
        depth += step
        if step > 0 and depth == DEEPEST + 1:
            yield text[kept : match.start()]
        elif step < 0 and depth == DEEPEST:
            yield b"null"
            kept = match.end()
    yield text[kept:]


def _containers_in(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in inner if isinstance(one, dict | list)]

"""Takes secret values out of texts, in the forms that a template or a server gives them.

A mask is made of the values of one deployment, and is asked about its texts where they leave for a status, an Event or
the log. It knows a value as it is, in any case, by line, trimmed, quoted (JSON, YAML, Go, Python), in URLs, in Base64
(both alphabets, with and without padding, also in the middle of something longer) and in hexadecimal digits.

* A value of fewer than `SHORTEST` characters is no secret: it would hide half of every message.
* The first `WINDOW` characters of a longer value count as the value: names are cut at 63.
* A text that was cut before it came here may hold half of a value at a mark of a cut (`…`); that goes, too.
* The text is read once, whatever the number of values.
"""

import base64
import json
import re
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TypeAlias
from urllib.parse import quote, quote_plus

from rukpak_py.core import go_text

SHORTEST = 4
WINDOW = 24
MOST_VALUES = 2_000  # of one mask; the longest of them
MASK = "***"
Value: TypeAlias = str | int | float

_SHORTEST_ENCODED = 6  # of Base64 in the middle of something; fewer characters are found by chance
_CUT = re.compile(r"…|\.\.\.|characters left out\)|\(cut\)")
_URL_ALPHABET = str.maketrans("+/", "-_")
_LONGEST_TAIL = 4_096  # characters behind a cut that may be the end of a value


class Mask:
    """`public`: words that are no secret although they are values, such as the name of the deployment."""

    def __init__(self, values: Iterable[Value], public: Collection[str] = ()) -> None:
        known = {_folded(word) for word in public}
        chosen = sorted(set(values), key=lambda value: (-len(str(value)), str(value)))[:MOST_VALUES]
        literals = {_folded(form) for value in chosen for form in _forms(value)}
        self._by_start: defaultdict[str, _Bucket] = defaultdict(_Bucket)
        for literal in literals - known:
            self._by_start[literal[:SHORTEST]].add(literal)
        self._ends = frozenset(literal[-SHORTEST:] for literal in literals - known)
        self._forwards = sorted(literals - known)
        self._backwards = sorted(literal[::-1] for literal in self._forwards)

    def __bool__(self) -> bool:
        return bool(self._by_start)

    def hide(self, text: str) -> str:
        """The text with `***` for each secret value."""
        if not self._by_start or len(text) < SHORTEST:
            return text
        shown: list[str] = []
        end = 0  # of what was hidden last
        folded = _folded(text)
        for start, stop in sorted([*self._whole(folded), *self._halves(folded)]):
            if start >= end:
                shown += [text[end:start], MASK]
            end = max(end, stop)
        shown.append(text[end:])
        return "".join(shown)

    def _whole(self, text: str) -> Iterator[tuple[int, int]]:
        position, get = 0, self._by_start.get
        while position <= len(text) - SHORTEST:
            bucket = get(text[position : position + SHORTEST])
            length = bucket.length_at(text, position) if bucket is not None else 0
            if length:
                yield position, position + length
            position += length or 1

    def _halves(self, text: str) -> Iterator[tuple[int, int]]:
        """At marks of a cut: the beginning of a value in front of it, the end of one behind it."""
        cuts = [found.span() for found in _CUT.finditer(text)]
        ends = [start for start, _ in cuts[1:]]  # of what is behind each of them
        for (before, behind), end in zip(cuts, [*ends, len(text)], strict=False):
            before -= text.startswith(" ", before - 1) if before else 0  # noqa: PLW2901 - the mark has blanks around it
            for start in range(max(before - WINDOW, 0), before - SHORTEST + 1):
                if text[start : start + SHORTEST] in self._by_start and _begins(self._forwards, text[start:before]):
                    yield start, before
                    break
            start = behind + text.startswith(" ", behind)
            longest = min(end, start + _LONGEST_TAIL)
            for stop in range(longest, start + SHORTEST - 1, -1):
                is_end = text[stop - SHORTEST : stop] in self._ends
                if is_end and _begins(self._backwards, text[start:stop][::-1]):
                    yield start, stop
                    break


class _Bucket:
    """Values that begin with the same characters."""

    def __init__(self) -> None:
        self._literals: dict[str, list[str]] = {}  # by their first characters
        self._lengths: list[int] = []  # of those, the longest first

    def add(self, literal: str) -> None:
        start = literal[:WINDOW]
        insort(self._literals.setdefault(start, []), literal)
        if len(start) not in self._lengths:
            self._lengths = sorted([*self._lengths, len(start)], reverse=True)

    def length_at(self, text: str, position: int) -> int:
        """How many characters there are a value, or the beginning of a long one; 0: none."""
        for length in self._lengths:
            literals = self._literals.get(text[position : position + length])
            if literals is not None:
                rest = text[position : position + max(map(len, literals))] if len(literals) > 1 else ""
                at = bisect_left(literals, rest)  # what goes on like the text for longest stands beside it
                return max(_common(text, position, literal) for literal in literals[max(at - 1, 0) : at + 1])
        return 0


def _begins(literals: Sequence[str], part: str) -> bool:
    """Whether any of the sorted literals begins so."""
    at = bisect_left(literals, part)
    return at < len(literals) and literals[at].startswith(part)


def _common(text: str, position: int, literal: str) -> int:
    """How far the text goes as the literal does."""
    if text.startswith(literal, position):
        return len(literal)
    low, high = 0, len(literal)
    while high - low > 1:  # by halves: comparing strings is fast, comparing characters is not
        middle = (low + high) // 2
        if text.startswith(literal[low:middle], position + low):
            low = middle
        else:
            high = middle
    return low


def _folded(text: str) -> str:
    """In lower case, character by character: positions stay what they are."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(character.lower() if len(character.lower()) == 1 else character for character in text)


def _forms(value: Value) -> Iterator[str]:
    found = _of_number(value) if isinstance(value, int | float) else _of_text(value)
    return (form for form in found if len(form) >= SHORTEST)


def _of_number(value: float) -> set[str]:
    """Go prints numbers of values as floats: 12345678 is 1.2345678e+07."""
    texts = {str(value), f"{value:,}"}
    with suppress(OverflowError):  # of an integer that no float holds
        mantissa, _, exponent = f"{Decimal(repr(float(value))).normalize():e}".partition("e")
        texts |= {f"{value:g}", f"{mantissa}e{exponent[:1]}{exponent[1:].zfill(2)}"}
    return texts | set(_encoded(str(value)))


def _of_text(text: str) -> set[str]:
    if len(text.strip()) < SHORTEST:
        return set()
    parts = {text, text.strip(), *(line.strip() for line in text.splitlines())}
    forms: set[str] = set()
    for part in (one for one in parts if len(one) >= SHORTEST):
        forms |= {part, *_quoted(part), *_encoded(part)}
    return forms


def _quoted(text: str) -> Iterator[str]:
    inside = json.dumps(text)[1:-1]
    yield inside
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield inside.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")  # as Go writes JSON
    yield repr(text)[1:-1]
    yield go_text.quoted(text)[1:-1]
    yield text.replace("'", "''")  # in single quotes of YAML
    data = text.encode(errors="surrogatepass")
    yield quote(data, safe="")
    yield quote(data)
    yield quote_plus(data)


def _encoded(text: str) -> Iterator[str]:
    data = text.encode(errors="replace")
    yield data.hex()
    for before in range(3):  # bytes in front of it, in the same group of three
        code = base64.b64encode(bytes(before) + data).decode()
        start = -(-before * 8 // 6)  # the first character that is of the value alone
        middle = code[start : (before + len(data)) * 8 // 6]
        whole = [code, code.rstrip("=")] if before == 0 else []
        for form in (*whole, *([middle] if len(middle) >= _SHORTEST_ENCODED else ())):
            yield form
            yield form.translate(_URL_ALPHABET)

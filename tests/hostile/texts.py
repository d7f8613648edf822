"""Texts that are made to keep a reader busy: for any pattern, and for the programs and formats that we read from.

* `shapes_of` builds them from the pattern itself. Each repeat is pumped with each kind of character that the pattern
  tells apart, with what its body matches, and with what comes before it; the text that leads to it is put in front,
  and what the pattern cannot match behind. So is every part of a sequence, because a search that fails late begins
  again at each of them.
* `FIXED` are texts by name that were sent to the product or could be. Each is a function of the length.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import product
from typing import Any, NamedTuple, TypeVar

from tests.backtracking import ONE_CHARACTER, REPEATS, CharacterTest, Node, parsed

_CANDIDATES = "aAz0x_- \t\n\r\"'`./:,;=@#%&!?*+<>()[]{}|\\^~$\x00\x07\x7f\x80é\u2028Éλ\ud800\U0001f600"
_MOST_KINDS = 12  # of characters; the first of them are tried in pairs, too
_PAIRED = 5
_MOST_SAMPLES = 3  # of one node
_LONGEST_PUMP = 200
_TURNS = 2  # of a repeat that is led through

T = TypeVar("T", str, bytes)


class Shape(NamedTuple):
    """A text of any length: what leads to the pump, the pump, and what comes behind."""

    head: str
    pump: str
    tail: str

    def text(self, size: int) -> str:
        return f"{self.head}{self.pump * max(size // len(self.pump), 2)}{self.tail}"


class Hostile(StrEnum):
    GIT_REPOSITORY = "git's stderr: `repository .*not found` begins at every word"
    GIT_TRANSPORT = "git's stderr: `transport '.*' not allowed` begins at every word"
    GIT_CONNECT = "ssh's stderr: `connect to host .* port` begins at every word"
    BLANKS = "white space alone"
    LINE_BREAKS = "line breaks alone"
    CHALLENGE_COMMAS = "WWW-Authenticate of commas and blanks"
    CHALLENGE_PARAMETERS = "WWW-Authenticate of parameters whose quotes stay open"
    REFUSED_UPDATE = "an API server's refusal: `update to .*forbidden` begins at every word"
    REFUSED_FIELDS = "an API server's refusal: a path after the other, without an end"
    REFUSED_BRACKETS = "an API server's refusal: a value of brackets that are never closed"
    REFUSED_QUOTES = "an API server's refusal: quotes and backslashes"
    REFUSED_MAPS = "an API server's refusal: `map[` that is never closed"
    EMAIL_WITHOUT_AT = "an e-mail address of words and hyphens without an @"
    EMAIL_OF_DOTS = "an e-mail address of one-letter labels"
    ACTIONS_OPENED = "a template of {{ alone"
    ACTIONS_COMMENTED = "a template of comments that are never closed"
    STRINGS_OPENED = "quotes of all kinds"
    DIGITS = "digits alone"
    LETTERS = "one letter alone"
    NULS = "NUL alone"


FIXED: dict[Hostile, Callable[[int], str]] = {
    Hostile.GIT_REPOSITORY: lambda size: _filled("repository ", size),
    Hostile.GIT_TRANSPORT: lambda size: _filled("transport '", size),
    Hostile.GIT_CONNECT: lambda size: _filled("connect to host a ", size),
    Hostile.BLANKS: lambda size: " " * size,
    Hostile.LINE_BREAKS: lambda size: _filled("\r\n", size),
    Hostile.CHALLENGE_COMMAS: lambda size: _filled("Bearer ,  ", size),
    Hostile.CHALLENGE_PARAMETERS: lambda size: "Bearer " + _filled('realm="a\\",', size),
    Hostile.REFUSED_UPDATE: lambda size: _filled("update to ", size),
    Hostile.REFUSED_FIELDS: lambda size: _filled(": .spec.a.b ", size),
    Hostile.REFUSED_BRACKETS: lambda size: "Invalid value: " + "{[" * (size // 2),
    Hostile.REFUSED_QUOTES: lambda size: 'Invalid value: "' + _filled('\\"', size),
    Hostile.REFUSED_MAPS: lambda size: "Invalid value: " + _filled("map[[1]", size),
    Hostile.EMAIL_WITHOUT_AT: lambda size: _filled("the-operators-team-of-example-dot-com", size),
    Hostile.EMAIL_OF_DOTS: lambda size: "a@" + _filled("a.", size) + "!",
    Hostile.ACTIONS_OPENED: lambda size: _filled("{{", size),
    Hostile.ACTIONS_COMMENTED: lambda size: _filled("{{- /* ", size),
    Hostile.STRINGS_OPENED: lambda size: _filled("\"'`", size),
    Hostile.DIGITS: lambda size: "0" * size,
    Hostile.LETTERS: lambda size: "a" * size,
    Hostile.NULS: lambda size: "\0" * size,
}


def shapes_of(pattern: re.Pattern[Any]) -> list[Shape]:
    """Texts that make the pattern read again and again what it has read; each once."""
    shapes = dict.fromkeys(Shape(*parts) for parts in _Reader(pattern).shapes())
    return [shape for shape in shapes if shape.pump and len(shape.pump) < _LONGEST_PUMP]


def as_read_by(pattern: re.Pattern[T], text: str) -> T:
    """As the pattern takes it: patterns of bytes read bytes."""
    is_bytes = isinstance(pattern.pattern, bytes)
    return text.encode("latin-1", "replace") if is_bytes else text  # type: ignore[return-value]  # T is what the pattern is


class _Reader:
    """Examples of texts that the nodes of a parsed pattern match."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._is_bytes = isinstance(pattern.pattern, bytes)
        self._tree = parsed(pattern)
        self._flags = self._tree.state.flags
        tests = list(self._tests(list(self._tree), self._flags))
        kinds: dict[tuple[bool, ...], str] = {}
        for character in (one for one in _CANDIDATES if not self._is_bytes or ord(one) < 0x100):
            kinds.setdefault(tuple(self._fits(test, character) for test in tests), character)
        none = (False,) * len(tests)
        self.failing = [kinds[none]] if none in kinds else []
        self.characters = [character for kind, character in kinds.items() if kind != none][:_MOST_KINDS]

    def shapes(self) -> Iterator[tuple[str, str, str]]:
        """Texts that lead to a pump, the pump, and the text after it."""
        tails = ["", *self.failing, "\n"]
        whole = self._samples(list(self._tree), self._flags)
        pumps = dict.fromkeys([*self.characters, *map("".join, product(self.characters[:_PAIRED], repeat=2))])
        for pump, tail in product(pumps, tails):
            yield "", pump, tail
        for sample in whole:
            for pump in dict.fromkeys((sample, sample[:-1], sample[:-2])):
                for tail in tails:
                    yield "", pump, tail
        for before, body, after in self._repeats(list(self._tree), self._flags, [""], [""]):
            single = [one for one in self.characters if one != body]
            for head, tail in product(before[:2], dict.fromkeys((*tails, *(one[:-1] for one in after[:1])))):
                for pump in (body, *single):
                    yield head, pump, tail
                yield "", head + body * _TURNS, tail
                yield "", head + body * _TURNS + tail[:-1], tail

    def _tests(self, nodes: Sequence[Node], flags: int) -> Iterator[CharacterTest]:
        for node in nodes:
            if node[0] in ONE_CHARACTER:
                yield self._test(node, flags)
            for body, inner in self._bodies(node, flags):
                yield from self._tests(body, inner)

    def _bodies(self, node: Node, flags: int) -> Iterator[tuple[list[Node], int]]:
        kind, argument = node
        match str(kind):
            case "SUBPATTERN":
                yield list(argument[3]), (flags | argument[1]) & ~argument[2]
            case "BRANCH":
                yield from ((list(one), flags) for one in argument[1])
            case "ASSERT" | "ASSERT_NOT":
                yield list(argument[1]), flags
            case "ATOMIC_GROUP":
                yield list(argument), flags
            case "GROUPREF_EXISTS":
                yield from ((list(one), flags) for one in argument[1:] if one is not None)
            case _ if kind in REPEATS:
                yield list(argument[2]), flags

    def _samples(self, nodes: Sequence[Node], flags: int) -> list[str]:
        samples = [""]
        for node in nodes:
            parts = self._samples_of_one(node, flags)[:_MOST_SAMPLES]
            samples = [start + part for part, start in product(parts, samples)][:_MOST_SAMPLES]
        return list(dict.fromkeys(samples))

    def _samples_of_one(self, node: Node, flags: int) -> list[str]:
        kind, argument = node
        if kind in ONE_CHARACTER:
            return [self._example(node, flags)]
        if kind in REPEATS:
            least, most, body = argument
            turns = min(max(least, 1), most)
            return [sample * turns for sample in self._samples(list(body), flags)]
        if str(kind) in {"ASSERT", "ASSERT_NOT", "AT", "GROUPREF"}:
            return [""]
        found = [sample for body, inner in self._bodies(node, flags) for sample in self._samples(body, inner)[:2]]
        return found[: 2 * _MOST_SAMPLES] or [""]

    def _example(self, node: Node, flags: int) -> str:
        kind, argument = node
        test = self._test(node, flags)
        if str(kind) == "LITERAL":
            return chr(argument)
        return next((one for one in (*self.characters, *_CANDIDATES) if self._fits(test, one)), "a")

    def _repeats(
        self, nodes: Sequence[Node], flags: int, before: list[str], after: list[str]
    ) -> Iterator[tuple[list[str], str, list[str]]]:
        """Texts before each repeat, texts that its body matches, and texts after it."""
        for number, node in enumerate(nodes):
            head = _joined(before, self._samples(nodes[:number], flags))
            tail = _joined(self._samples(nodes[number + 1 :], flags), after)
            bodies = list(self._bodies(node, flags))
            if node[0] in REPEATS:
                for sample in self._samples(bodies[0][0], flags):
                    yield head, sample, tail
                yield from self._repeats(bodies[0][0], flags, head, tail)
                continue
            for body, inner in bodies:
                yield from self._repeats(body, inner, head, tail)

    def _test(self, node: Node, flags: int) -> CharacterTest:
        return CharacterTest([node], flags, is_bytes=self._is_bytes)

    def _fits(self, test: CharacterTest, character: str) -> bool:
        if not self._is_bytes:
            return test(character)
        return ord(character) < 0x100 and test(character.encode("latin-1"))


def _joined(starts: list[str], ends: list[str]) -> list[str]:
    return list(dict.fromkeys(start + end for start, end in product(starts, ends)))[:_MOST_SAMPLES]


def _filled(part: str, size: int) -> str:
    return part * max(size // len(part), 1)

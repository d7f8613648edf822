"""A backtracking matcher that counts its steps: how long a pattern takes, without a clock.

It runs the parsed form of a pattern (`re._parser`) as Python's own engine does: the same order of alternatives, one
attempt at each start of a search, no memory of what failed before. A step is one instruction, or one character that a
repeated character class takes. What takes more steps than the budget raises `TooManyStepsError`.

Python's engine skips some of these steps (it looks for a literal prefix in C), so this count is never too small. It is
a model of the engine and not the engine: `tests/unit/test_backtracking.py` compares the two.
"""

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")
_constants: Any = importlib.import_module("re._constants")

Text: TypeAlias = str | bytes
Node: TypeAlias = tuple[Any, Any]
Registers: TypeAlias = tuple[int, ...]

UNBOUNDED: int = _constants.MAXREPEAT
ONE_CHARACTER = frozenset(
    {_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN, _constants.RANGE, _constants.CATEGORY}
)
REPEATS = frozenset({_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT})
_ASSERTIONS = (_constants.ASSERT, _constants.ASSERT_NOT)


class TooManyStepsError(Exception):
    """The budget is used up."""


@dataclass(kw_only=True)
class Budget:
    most: int
    spent: int = 0

    def spend(self, steps: int) -> None:
        self.spent += steps
        if self.spent > self.most:
            raise TooManyStepsError


class Match(NamedTuple):
    start: int
    end: int
    registers: Registers


class CharacterTest:
    """Whether one character fits; asked of Python's engine once for each character."""

    def __init__(self, nodes: list[Node], flags: int, *, is_bytes: bool) -> None:
        state = _parser.State()
        state.flags = flags
        state.str = b"" if is_bytes else ""
        self._pattern: re.Pattern[Any] = _compiler.compile(_parser.SubPattern(state, nodes), flags)
        self._known: dict[Text, bool] = {}

    def __call__(self, character: Text) -> bool:
        known = self._known.get(character)
        if known is None:
            known = self._known[character] = self._pattern.fullmatch(character) is not None
        return known


def parsed(pattern: re.Pattern[Any]) -> Any:
    return _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)  # the parser sets that one by itself


class _Match(NamedTuple):
    """The end of a program."""


class _One(NamedTuple):
    test: CharacterTest


class _Jump(NamedTuple):
    to: int


class _Split(NamedTuple):
    to: tuple[int, ...]  # in the order in which they are tried


class _Mark(NamedTuple):
    register: int


class _At(NamedTuple):
    holds: Callable[[Text, int], bool]


class _Run(NamedTuple):
    """A character class that is repeated greedily: one instruction, as in Python's engine."""

    test: CharacterTest
    least: int
    most: int


class _Enter(NamedTuple):
    counter: int


class _Loop(NamedTuple):
    counter: int  # the register after it holds where the last turn began
    least: int
    most: int
    is_greedy: bool
    body: int


class _Inner(NamedTuple):
    """A program of its own: an assertion, or a group that is not entered again once it is left."""

    program: "Program"
    kind: str  # "atomic", "ahead", "not ahead", "behind", "not behind"
    width: int = 0  # of what is behind


class _Again(NamedTuple):
    group: int


class _If(NamedTuple):
    group: int
    otherwise: int


@dataclass(kw_only=True)
class Program:
    instructions: list[Any] = field(default_factory=list)


class Matcher:
    """`pattern` by another engine. Spans are those of `re`; captured groups are kept for back references alone."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._is_bytes = isinstance(pattern.pattern, bytes)
        tree = parsed(pattern)
        self._flags = tree.state.flags
        self._registers = 2 * tree.state.groups
        self._program = self._compiled(list(tree), self._flags)
        self._first: Registers = (-1,) * self._registers  # of the groups, then of the loops

    def match(self, text: Text, budget: Budget, start: int = 0) -> Match | None:
        return self._attempt(text, start, budget, is_full=False)

    def fullmatch(self, text: Text, budget: Budget) -> Match | None:
        return self._attempt(text, 0, budget, is_full=True)

    def search(self, text: Text, budget: Budget, start: int = 0) -> Match | None:
        for begin in range(start, len(text) + 1):
            found = self._attempt(text, begin, budget, is_full=False)
            if found is not None:
                return found
        return None

    def finditer(self, text: Text, budget: Budget) -> Iterator[Match]:
        """All of them; where an empty one is found, the search goes on behind it."""
        start = 0
        while start <= len(text):
            found = self.search(text, budget, start)
            if found is None:
                return
            yield found
            start = found.end if found.end > found.start else found.end + 1

    def _attempt(self, text: Text, start: int, budget: Budget, *, is_full: bool) -> Match | None:
        ended = _run(self._program, text, start, self._first, budget, end=len(text) if is_full else None)
        return None if ended is None else Match(start, *ended)

    def _compiled(self, nodes: list[Node], flags: int) -> Program:
        program = Program()
        self._emit(program, nodes, flags)
        program.instructions.append(_Match())
        return program

    def _counter(self) -> int:
        counter: int = self._registers
        self._registers += 2
        return counter

    def _emit(self, program: Program, nodes: list[Node], flags: int) -> None:
        for node in nodes:
            self._emit_one(program, node, flags)

    def _emit_one(self, program: Program, node: Node, flags: int) -> None:  # noqa: C901, PLR0912 - one table
        kind, argument = node
        out = program.instructions
        if kind in ONE_CHARACTER:
            out.append(_One(self._test(node, flags)))
        elif kind is _constants.AT:
            out.append(_At(_position_test(argument, flags, is_bytes=self._is_bytes)))
        elif kind is _constants.SUBPATTERN:
            group, added, removed, body = argument
            if group is not None:
                out.append(_Mark(2 * group))
            self._emit(program, list(body), (flags | added) & ~removed)
            if group is not None:
                out.append(_Mark(2 * group + 1))
        elif kind is _constants.BRANCH:
            self._emit_branch(program, [list(one) for one in argument[1]], flags)
        elif kind is _constants.POSSESSIVE_REPEAT:
            least, most, body = argument
            inner = Program()
            self._emit_repeat(inner, least, most, list(body), flags, is_greedy=True)
            inner.instructions.append(_Match())
            out.append(_Inner(inner, "atomic"))
        elif kind in REPEATS:
            least, most, body = argument
            self._emit_repeat(program, least, most, list(body), flags, is_greedy=kind is _constants.MAX_REPEAT)
        elif kind is _constants.ATOMIC_GROUP:
            out.append(_Inner(self._compiled(list(argument), flags), "atomic"))
        elif kind in _ASSERTIONS:
            direction, body = argument
            sort = f"{'not ' if kind is _constants.ASSERT_NOT else ''}{'behind' if direction < 0 else 'ahead'}"
            width = body.getwidth()[0] if direction < 0 else 0
            out.append(_Inner(self._compiled(list(body), flags), sort, width))
        elif kind is _constants.GROUPREF:
            out.append(_Again(argument))
        elif kind is _constants.GROUPREF_EXISTS:
            self._emit_condition(program, argument, flags)
        else:  # pragma: no cover - a new kind of node needs an instruction of its own
            raise NotImplementedError(str(kind))

    def _emit_branch(self, program: Program, branches: list[list[Node]], flags: int) -> None:
        out = program.instructions
        split, ends, starts = len(out), [], []
        out.append(None)
        for branch in branches:
            starts.append(len(out))
            self._emit(program, branch, flags)
            ends.append(len(out))
            out.append(None)
        out[split] = _Split(tuple(starts))
        for end in ends:
            out[end] = _Jump(len(out))

    def _emit_repeat(
        self, program: Program, least: int, most: int, body: list[Node], flags: int, *, is_greedy: bool
    ) -> None:
        out = program.instructions
        if is_greedy and len(body) == 1 and body[0][0] in ONE_CHARACTER:
            out.append(_Run(self._test(body[0], flags), least, most))
            return
        counter = self._counter()
        out.append(_Enter(counter))
        loop = len(out)
        out.append(None)
        over = len(out)
        out.append(None)
        start = len(out)
        self._emit(program, body, flags)
        out.append(_Jump(loop))
        out[loop] = _Loop(counter, least, most, is_greedy, start)
        out[over] = _Jump(len(out))

    def _emit_condition(self, program: Program, argument: Any, flags: int) -> None:
        group, yes, no = argument
        out = program.instructions
        begin = len(out)
        out.append(None)
        self._emit(program, list(yes), flags)
        end = len(out)
        out.append(None)
        out[begin] = _If(group, len(out))
        self._emit(program, list(no or []), flags)
        out[end] = _Jump(len(out))

    def _test(self, node: Node, flags: int) -> CharacterTest:
        return CharacterTest([node], flags, is_bytes=self._is_bytes)


def _run(  # noqa: C901, PLR0912, PLR0915 - one machine, one loop
    program: Program, text: Text, start: int, registers: Registers, budget: Budget, *, end: int | None
) -> tuple[int, Registers] | None:
    """Where the first match ends, and its registers. `end`: where it has to."""
    code, size = program.instructions, len(text)
    # Where to go on after a failure: instruction, position, registers, and of a run the position it may go back to.
    waiting: list[tuple[int, int, Registers, int]] = []
    at, position = 0, start
    while True:
        budget.spend(1)
        failed = False
        match code[at]:
            case _One(test):
                failed = position >= size or not test(text[position : position + 1])
                at, position = at + 1, position + 1
            case _Run(test, least, most):
                reached, stop = position, min(size, position + most)
                while reached < stop and test(text[reached : reached + 1]):
                    reached += 1
                budget.spend(reached - position)
                failed = reached < position + least
                if reached > position + least:
                    waiting.append((at + 1, reached - 1, registers, position + least))
                at, position = at + 1, reached
            case _Split(to):
                waiting.extend((one, position, registers, position) for one in reversed(to[1:]))
                at = to[0]
            case _Jump(to):
                at = to
            case _Mark(register):
                registers = _with(registers, register, position)
                at += 1
            case _At(holds):
                failed = not holds(text, position)
                at += 1
            case _Enter(counter):
                registers = _with(registers, counter, 0, -1)
                at += 1
            case _Loop(counter, least, most, is_greedy, body):
                turns = registers[counter]
                entered = _with(registers, counter, turns + 1, position)
                if turns < least:
                    at, registers = body, entered
                elif turns >= most or registers[counter + 1] == position:
                    at += 1
                elif is_greedy:
                    waiting.append((at + 1, position, registers, position))
                    at, registers = body, entered
                else:
                    waiting.append((body, position, entered, position))
                    at += 1
            case _Inner(inner, kind, width):
                begin = position - width
                ended = _run(inner, text, begin, registers, budget, end=None) if begin >= 0 else None
                failed = (ended is None) != kind.startswith("not ")
                if ended is not None:
                    registers = ended[1]
                    position = ended[0] if kind == "atomic" else position
                at += 1
            case _Again(group):
                begin, over = registers[2 * group], registers[2 * group + 1]
                again = text[begin:over]
                budget.spend(len(again))
                failed = over < 0 or text[position : position + len(again)] != again
                at, position = at + 1, position + len(again)
            case _If(group, otherwise):
                at = at + 1 if registers[2 * group + 1] >= 0 else otherwise
            case _:
                if end is None or position == end:
                    return position, registers
                failed = True
        if failed:
            if not waiting:
                return None
            at, position, registers, least = waiting.pop()
            if position > least:
                waiting.append((at, position - 1, registers, least))


def _with(registers: Registers, index: int, *values: int) -> Registers:
    return (*registers[:index], *values, *registers[index + len(values) :])


def _position_test(kind: Any, flags: int, *, is_bytes: bool) -> Callable[[Text, int], bool]:
    newline: Text = b"\n" if is_bytes else "\n"
    is_multiline = bool(flags & re.MULTILINE)

    def is_word(character: Text) -> bool:
        return bool(character) and _word(is_bytes, flags & re.ASCII)(character)

    def is_boundary(text: Text, position: int) -> bool:
        return is_word(text[max(position - 1, 0) : position]) != is_word(text[position : position + 1])

    def is_line_start(text: Text, position: int) -> bool:
        return position == 0 or (is_multiline and text[position - 1 : position] == newline)

    def is_line_end(text: Text, position: int) -> bool:
        left = len(text) - position
        if left == 0 or (left == 1 and text[position:] == newline):
            return True
        return is_multiline and text[position : position + 1] == newline

    return {
        _constants.AT_BEGINNING: is_line_start,
        _constants.AT_BEGINNING_STRING: lambda _text, position: position == 0,
        _constants.AT_END: is_line_end,
        _constants.AT_END_STRING: lambda text, position: position == len(text),
        _constants.AT_BOUNDARY: is_boundary,
        _constants.AT_NON_BOUNDARY: lambda text, position: not is_boundary(text, position),
    }[kind]


@cache
def _word(is_bytes: bool, flags: int) -> CharacterTest:  # noqa: FBT001 - a key of the cache
    pattern = re.compile(rb"\w") if is_bytes else re.compile(r"\w", flags)
    return CharacterTest(list(parsed(pattern)), pattern.flags, is_bytes=is_bytes)

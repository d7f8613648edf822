"""Corrections that need no thought, made in the files of a bundle: of findings that are told, and have a fix.

One correction may uncover the next defect of the same value, so the files are checked again after each round, in
memory. They are written only when a user has seen the difference, and only if they are still as they were read.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final

from rukpak_py.cli.packaging import layouts
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_edits import Edit, differences, edited, possible
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding
from rukpak_py.library.opened import OpenedBundle

_MOST_ROUNDS: Final = 10
_CONTEXT: Final = 3  # lines around a changed one


@dataclass(frozen=True, kw_only=True, slots=True)
class FixedFile:
    path: Path
    before: bytes
    after: bytes

    def difference(self) -> Iterator[str]:
        """As `diff -u` writes it. Lines are replaced one by one, so their numbers stay."""
        before, after = _lines(self.before), _lines(self.after)
        yield f"--- {self.path}"
        yield f"+++ {self.path}"
        changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
        for first, last in _hunks(changed):
            start, end = max(0, first - _CONTEXT), min(len(before), last + _CONTEXT + 1)
            yield f"@@ -{start + 1},{end - start} +{start + 1},{end - start} @@"
            yield from _hunk(before[start:end], after[start:end])

    @property
    def corrections(self) -> int:
        return differences(self.before, self.after)

    def demand_unchanged(self) -> None:
        if not self.path.is_file() or self.path.read_bytes() != self.before:
            raise ContentError(f"{self.path} has changed since it was read: nothing is written, run the command again")

    def write(self) -> None:
        target = self.path.resolve()  # the file that a link leads to
        layouts.write(target, self.after, mode=target.stat().st_mode & 0o7777)


def fixed_files(
    opened: OpenedBundle, directory: Path, told: Callable[[OpenedBundle], Sequence[Finding]]
) -> list[FixedFile]:
    """The files of a bundle that change. `told`: its findings that are to be corrected where they can be."""
    tree = opened.tree
    for _ in range(_MOST_ROUNDS):
        changed = _corrected(tree, told(replace(opened, tree=tree)))
        if not changed:
            break
        tree = tree.with_files(changed)
    return [
        FixedFile(path=directory / name, before=opened.tree[name], after=tree[name])
        for name in tree
        if tree[name] != opened.tree[name]
    ]


def without_impossible(findings: Sequence[Finding], tree: Tree) -> Sequence[Finding]:
    """The findings; those that `--fix` would not correct, as values with an anchor, have no fix any more."""
    places = {
        (name, line, column)
        for name, wanted in _edits(tree, findings).items()
        for line, column in possible(tree[name], wanted)
    }
    return [
        one if one.fix is None or (one.file, one.line, one.column) in places else replace(one, fix=None)
        for one in findings
    ]


def _edits(tree: Tree, findings: Sequence[Finding]) -> dict[str, list[Edit]]:
    edits: dict[str, list[Edit]] = defaultdict(list)
    for one in findings:
        if one.fix is not None and one.line and one.column and one.file in tree:
            edits[one.file].append(Edit(one.line, one.column, one.fix.text, one.fix.is_string))
    return edits


def _corrected(tree: Tree, findings: Sequence[Finding]) -> dict[str, bytes]:
    made = {name: edited(tree[name], wanted) for name, wanted in _edits(tree, findings).items()}
    return {name: data for name, data in made.items() if data != tree[name]}


def _lines(data: bytes) -> list[str]:
    """Without their ends; the last one, where it has none, with a second line that says so, as `diff` does."""
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _hunks(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last changed line of each run whose contexts touch."""
    first = last = None
    for number in numbers:
        if first is None or last is None:
            first = number
        elif number - last > 2 * _CONTEXT:
            yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last


def _hunk(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Neighbouring changed lines as a block: all old ones, then all new ones."""
    pairs = zip(before, after, strict=True)
    for is_same, block in groupby(pairs, key=lambda pair: pair[0] == pair[1]):
        old, new = zip(*block, strict=True)
        for mark, lines in ((" ", old),) if is_same else (("-", old), ("+", new)):
            for line in lines:
                yield from f"{mark}{line}".split("\n")

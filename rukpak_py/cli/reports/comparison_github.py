"""A comparison of two bundles as workflow commands of GitHub Actions: each risk is a warning, the rest one notice.

GitHub shows ten warnings of a step beside the files, and cuts long ones: what is more is in the tenth, by its number.
"""

from collections.abc import Iterator
from typing import Final

from rukpak_py.apply.crd_safety.verdicts import Verdict
from rukpak_py.cli.reports.comparison import count_line, definition_lines, gained_lines, left_out_lines, values_of
from rukpak_py.cli.reports.github import command
from rukpak_py.cli.reports.report import counted
from rukpak_py.cli.terminal import clean
from rukpak_py.core.text import excerpt
from rukpak_py.library.diffs.comparison import RenderingComparison

_MOST_WARNINGS: Final = 10
_LONGEST: Final = 4_000  # characters of one message, which is a few lines of a page
_MORE: Final = "`rukpakctl bundle diff` without `-o` prints all."


def lines_of(found: RenderingComparison, path: str) -> Iterator[str]:
    """`path`: the new bundle, beside which GitHub shows them."""
    risks = [("permission gained", line) for line in gained_lines(found)]
    risks += [("CRD upgrade safety", line) for line in definition_lines(found, least=Verdict.WARN)]
    alone = risks if len(risks) <= _MOST_WARNINGS else risks[: _MOST_WARNINGS - 1]
    for title, line in alone:
        yield command("warning", {"file": path, "title": title}, excerpt(clean(line), _LONGEST))
    if further := risks[len(alone) :]:
        title = counted(len(further), "further risk")
        yield command("warning", {"file": path, "title": title}, _joined([f"{name}: {line}" for name, line in further]))
    lines = [count_line(found) if not found.is_empty else "no differences", *left_out_lines(found)]
    for difference in found.summary:
        old, new = values_of(difference)
        lines.append(f"{difference.path}: {old or 'none'} → {new or 'none'}")
    yield command("notice", {"file": path, "title": "bundle differences"}, _joined(lines))


def _joined(lines: list[str]) -> str:
    """The lines that fit a message, and how many do not."""
    shown: list[str] = []
    room = _LONGEST
    for line in (excerpt(clean(line), _LONGEST // 4) for line in lines):
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"{counted(left, 'further line')}. {_MORE}"] if left else [])])

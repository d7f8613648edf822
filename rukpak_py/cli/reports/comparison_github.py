"""A comparison of two bundles as workflow commands of GitHub Actions: each risk is a warning, the rest one notice."""

from collections.abc import Iterator

from rukpak_py.apply.crd_safety.verdicts import Verdict
from rukpak_py.cli.reports.comparison import count_line, definition_lines, gained_lines, left_out_lines, values_of
from rukpak_py.cli.reports.github import command
from rukpak_py.cli.terminal import clean
from rukpak_py.library.diffs.comparison import RenderingComparison


def lines_of(found: RenderingComparison, path: str) -> Iterator[str]:
    """`path`: the new bundle, beside which GitHub shows them."""
    for line in gained_lines(found):
        yield command("warning", {"file": path, "title": "permission gained"}, clean(line))
    for line in definition_lines(found, least=Verdict.WARN):
        yield command("warning", {"file": path, "title": "CRD upgrade safety"}, clean(line))
    lines = [count_line(found) if not found.is_empty else "no differences", *left_out_lines(found)]
    for difference in found.summary:
        old, new = values_of(difference)
        lines.append(clean(f"{difference.path}: {old or 'none'} → {new or 'none'}"))
    yield command("notice", {"file": path, "title": "bundle differences"}, "\n".join(lines))

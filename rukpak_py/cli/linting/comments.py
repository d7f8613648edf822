"""Comments in manifests that leave findings out: `# rukpakctl: ignore RV1-210 reason`.

One counts for its own line and, where nothing else stands in its line, for the next line that is no comment. An entry
is a rule or the beginning of one; several are separated by commas.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from rukpak_py.cli.linting.chosen_rules import is_named
from rukpak_py.core.findings import Finding

_MARK: Final = b"rukpakctl:"
_COMMENT: Final = re.compile(r"(?:^|\s)#\s{0,8}rukpakctl:\s{0,8}ignore\s{1,8}([A-Za-z0-9,-]{1,200})", re.ASCII)


def without_ignored(findings: Sequence[Finding], files: Mapping[str, bytes]) -> Sequence[Finding]:
    named = {one.file for one in findings if one.line}
    ignored = {name: _ignored_in(files[name]) for name in named if _MARK in files.get(name, b"")}
    return [
        one
        for one in findings
        if not any(is_named(one.rule, rule) for rule in ignored.get(one.file, {}).get(one.line, ()))
    ]


def _ignored_in(data: bytes) -> dict[int, tuple[str, ...]]:
    """Beginnings of rules by line, from 1."""
    found: dict[int, tuple[str, ...]] = {}
    above: tuple[str, ...] = ()
    for number, line in enumerate(data.decode(errors="replace").split("\n"), start=1):
        match = _COMMENT.search(line)
        rules = tuple(filter(None, match[1].upper().split(","))) if match else ()
        if line.lstrip().startswith("#"):
            above += rules
            continue
        if above or rules:
            found[number] = above + rules
        above = ()
    return found

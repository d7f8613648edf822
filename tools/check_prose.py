"""The prose that no other check of `make lint` reads: docstrings, comments, names.

    python -m tools.check_prose

A sentence has its subject first, and the subject is a thing with a name (CONTRIBUTING.md). Strings are not read: what
a user sees is pinned by tests. A line that needs a word says `# noqa: PROSE001` and why; for a docstring that stands
behind its end.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOLDERS = ("rukpak_py", "tests", "tools", "e2e", "bench")

_WORD = re.compile(r"(?<![A-Za-z])(nobody|somebody|whoever)(?![a-z])", re.IGNORECASE)
_OPENING = re.compile(r"\s*(What|Who|Whose|Of|By)\b")
_PRONOUN = re.compile(r"test_(it|its|they|their|them|what|who|whose|whom|that|this|those|these|one_that)(?=_|$)")
_ALLOWED = re.compile(r"#\s*noqa:\s*PROSE001\s+\S")
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Finding(NamedTuple):
    line: int
    message: str


def check(text: str) -> list[Finding]:
    """The findings of one file, in the order of its lines."""
    tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    allowed = {token.start[0] for token in tokens if token.type == tokenize.COMMENT and _ALLOWED.search(token.string)}
    found = {*_in_tokens(tokens, allowed), *_in_nodes(ast.parse(text), allowed)}
    return sorted(found)


def _in_tokens(tokens: list[tokenize.TokenInfo], allowed: set[int]) -> Iterator[Finding]:
    for token in tokens:
        if token.type in {tokenize.COMMENT, tokenize.NAME} and token.start[0] not in allowed:
            kind = "comment" if token.type == tokenize.COMMENT else f"name {token.string}"
            yield from _words(kind, token.string, token.start[0])


def _in_nodes(tree: ast.Module, allowed: set[int]) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if not isinstance(node, _Documented):
            continue
        if not isinstance(node, ast.Module) and node.lineno not in allowed and (name := _PRONOUN.match(node.name)):
            yield Finding(node.lineno, f'{node.name}: "{name[1]}" is no subject: name it, the situation and the result')
        docstring = ast.get_docstring(node, clean=False)
        if docstring is None or (literal := node.body[0]).end_lineno in allowed:
            continue
        if opening := _OPENING.match(docstring):
            yield Finding(literal.lineno, f'docstring begins with "{opening[1]}": use an imperative or a noun')
        for offset, line in enumerate(docstring.splitlines()):
            yield from _words("docstring", line, literal.lineno + offset)


def _words(kind: str, text: str, line: int) -> Iterator[Finding]:
    for word in _WORD.finditer(text):
        yield Finding(line, f'{kind}: "{word[1]}" names no subject')


def main() -> None:
    failed = False
    for path in sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")):
        for finding in check(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(ROOT).as_posix()}:{finding.line}: {finding.message}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()

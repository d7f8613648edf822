"""No code of the controllers or of the engine reads a text for people to decide anything: over the syntax trees."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rukpak_py

ROOT = Path(rukpak_py.__file__).parent
TEXTS = frozenset(
    {"message", "messages", "text", "texts", "why", "words", "line", "lines", "brief", "answer", "sentence", "said"}
)
TESTS = frozenset(
    {"startswith", "endswith", "find", "index", "count", "removeprefix", "removesuffix", "match", "search"}
)

# Where two texts are compared all the same, and why that decides nothing that a text is made of.
EXPLAINED = {
    "apply/results.py: str(key) in message": "whether a text names its object already; only the text changes",
    "controllers/deployment/kept_renderings.py: _SECRET in line": "lines of manifests: whether they have a Secret",
}


def found_in(source: str) -> Iterator[str]:
    """Comparisons, memberships, matches and string tests with an operand that is a text by its name, or of an error."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(ops=ops, left=left, comparators=others):
                decides = any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops)
                if decides and any(map(_is_text, (left, *others))) and not _is_about_emptiness(others):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args) if name in TESTS:
                if _is_text(value) or any(map(_is_text, args)):
                    yield ast.unparse(node)
            case ast.Match(subject=subject) if _is_text(subject):
                yield ast.unparse(subject)


def _is_text(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in TEXTS
        case ast.Subscript(value=value):
            return _is_text(value)
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id="error")]):
            return True
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            return name in TEXTS or _is_text(value)
        case _:
            return False


def _is_about_emptiness(others: list[ast.expr]) -> bool:
    return all(isinstance(one, ast.Constant) and one.value in {"", None} for one in others)


def all_found() -> set[str]:
    files = [path for folder in ("controllers", "apply") for path in sorted((ROOT / folder).rglob("*.py"))]
    return {f"{path.relative_to(ROOT).as_posix()}: {one}" for path in files for one in found_in(path.read_text())}


def test_no_text_decides_anything() -> None:
    assert all_found() == set(EXPLAINED)


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("if line.startswith('could not prune'): retry()", True),
        ("if 'not found' in str(error): retry()", True),
        ("if report.message == REFUSED: retry()", True),
        ("if condition.message.splitlines()[0] != text: emit()", True),
        ("match failure.message:\n    case 'no': retry()", True),
        ("if PATTERN.search(message): retry()", True),
        ("if message == '': retry()", False),
        ("if failure.kind is FailureKind.CONTENT: retry()", False),
        ("if name.startswith('x'): retry()", False),
        ("self.said = text", False),
    ],
)
def test_a_text_that_decides_is_found(source: str, *, is_found: bool) -> None:
    assert bool(list(found_in(source))) is is_found

"""Sizes and shapes of the code: what one can compare before and after a change.

    python -m tools.measure_code [PATH] [--json]

PATH is the root of a checkout (default: this one): `rukpak_py/` in it is the product, `tests/` are the tests. Nothing
is imported or run, so any commit can be measured; the same files give the same figures. `--help` says how each of them
is counted.
"""

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

PRODUCT, TESTS = "rukpak_py", "tests"
SHORT_FILE = 30
RESULT_ROOMS = ("controllers", "apply")
RESULT_SUFFIXES = ("Conclusion", "Outcome", "Progress", "Report", "Result", "Summary", "Verdict")
HELP = f"""\
lines           code: has a token that is neither a comment nor part of a docstring. text: comments and docstrings, with
                the blank lines in them. blank: the others
files           those that are not empty; short ones have fewer than {SHORT_FILE} lines
imports         lines of import statements, anywhere; their share is one of all lines
median, p90     by nearest rank; a function ends with its last line and begins with `def`, methods and inner ones too
private         functions and methods with one leading underscore. One caller: their name stands at one place of the
                file, beside their own body; of methods with the same name, at one place of their class
collaborators   of a class with an `__init__`: its parameters, and the attributes that it assigns. A parameter that is
                kept under its own name, with or without an underscore, counts once
forgetting      methods that are called forget*, drop*, end or gone
result types    classes of the product whose name ends with {", ".join(RESULT_SUFFIXES)}
                and stands in the annotated return type of a function in {" or ".join(RESULT_ROOMS)}
room edges      pairs of rooms, which lie directly in {PRODUCT}/, of which one imports the other; imports across rooms
                are the statements that do so
"""
_BLANK_TOKENS = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    path: str  # from the root, with slashes
    text: str
    nodes: Sequence[ast.AST]  # the module itself is the first

    @property
    def functions(self) -> list[_Function]:
        return [node for node in self.nodes if isinstance(node, _Function)]

    @property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.nodes if isinstance(node, ast.ClassDef)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    code: int
    text: int
    blank: int

    @property
    def all(self) -> int:
        return self.code + self.text + self.blank


@dataclass(frozen=True, kw_only=True, slots=True)
class Measures:
    code_lines: int
    text_lines: int
    blank_lines: int
    files: int
    short_files: int
    import_lines: int
    import_percent: float
    file_lines_median: int
    file_lines_p90: int
    functions: int
    function_lines_median: int
    function_lines_p90: int
    private_functions: int
    private_with_one_caller: int
    private_with_one_caller_percent: float
    most_collaborators: int
    class_with_most_collaborators: str
    forgetting_methods: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """Figures of the product alone."""

    result_types: list[str]
    room_edges: dict[str, int]  # "one -> other": import statements


def sources(root: Path, folder: str) -> list[Source]:
    found = []
    for path in sorted((root / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if text.strip():
            nodes = [*ast.walk(ast.parse(text))]
            found.append(Source(path=path.relative_to(root).as_posix(), text=text, nodes=nodes))
    return found


def measure(files: Sequence[Source]) -> Measures:
    lines = [lines_of(file) for file in files]
    sizes, lengths = [one.all for one in lines], [_length(one) for file in files for one in file.functions]
    imports = sum(_length(node) for file in files for node in _imports(file))
    callers = [count for file in files for count in callers_of_private(file)]
    once = callers.count(1)
    crowded = max(
        ((collaborators(one), file.path, one.name) for file in files for one in file.classes), default=(0, "", "")
    )
    return Measures(
        code_lines=sum(one.code for one in lines),
        text_lines=sum(one.text for one in lines),
        blank_lines=sum(one.blank for one in lines),
        files=len(files),
        short_files=sum(size < SHORT_FILE for size in sizes),
        import_lines=imports,
        import_percent=_percent(imports, sum(sizes)),
        file_lines_median=rank(sizes, Fraction(1, 2)),
        file_lines_p90=rank(sizes, Fraction(9, 10)),
        functions=len(lengths),
        function_lines_median=rank(lengths, Fraction(1, 2)),
        function_lines_p90=rank(lengths, Fraction(9, 10)),
        private_functions=len(callers),
        private_with_one_caller=once,
        private_with_one_caller_percent=_percent(once, len(callers)),
        most_collaborators=crowded[0],
        class_with_most_collaborators=f"{crowded[2]} ({crowded[1]})" if crowded[0] else "",
        forgetting_methods=sum(map(forgets, (name for file in files for name in _methods(file)))),
    )


def shape(files: Sequence[Source]) -> Shape:
    edges = Counter(edge for file in files for edge in _edges(file))
    return Shape(result_types=result_types(files), room_edges=dict(sorted(edges.items())))


def lines_of(file: Source) -> Lines:
    docstrings = _docstring_lines(file)
    comments: set[int] = set()
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
        span = set(range(token.start[0], token.end[0] + 1))
        if token.type == tokenize.COMMENT:
            comments |= span
        elif token.type not in _BLANK_TOKENS and not (token.type == tokenize.STRING and span <= docstrings):
            code |= span
    text = (docstrings | comments) - code
    return Lines(code=len(code), text=len(text), blank=len(file.text.splitlines()) - len(code | text))


def callers_of_private(file: Source) -> list[int]:
    """For each private function, at how many places of the file its name stands."""
    private = [(scope, node) for scope, node in _scoped_functions(file.nodes[0]) if _is_private(node.name)]
    shared = Counter(node.name for _, node in private)
    mentions: dict[str, list[ast.AST]] = {name: [] for name in shared}
    for node in file.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            mentions.get(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)
    found = []
    for scope, node in private:
        places, own = {id(one) for one in mentions[node.name]}, {id(one) for one in ast.walk(node)}
        if scope is not None and shared[node.name] > 1:
            places &= {id(one) for one in ast.walk(scope)}
        found.append(len(places - own))
    return found


def collaborators(node: ast.ClassDef) -> int:
    inits = [one for one in node.body if isinstance(one, _Function) and one.name == "__init__"]
    names: set[str] = set()
    for init in inits:
        given = init.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        own = (given.posonlyargs + given.args)[0].arg if given.posonlyargs + given.args else ""
        names |= {one.arg.strip("_") for one in parameters if one is not None and one.arg != own}
        attributes = (one for one in ast.walk(init) if isinstance(one, ast.Attribute))
        names |= {one.attr.strip("_") for one in attributes if _is_assigned(one, own)}
    return len(names)


def forgets(method: str) -> bool:
    return method.startswith(("forget", "drop")) or method in {"end", "gone"}


def result_types(files: Sequence[Source]) -> list[str]:
    defined = {one.name for file in files for one in file.classes}
    rooms = tuple(f"{PRODUCT}/{room}/" for room in RESULT_ROOMS)
    returned = {
        name
        for file in files
        if file.path.startswith(rooms)
        for function in file.functions
        for name in _names_in(function.returns)
    }
    return sorted(name for name in defined & returned if name.endswith(RESULT_SUFFIXES))


def rank(values: Iterable[int], share: Fraction) -> int:
    """The smallest value that so many do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * share.numerator // share.denominator) - 1] if ordered else 0


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def _length(node: _Function | ast.Import | ast.ImportFrom) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _imports(file: Source) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in file.nodes if isinstance(node, ast.Import | ast.ImportFrom))


def _docstring_lines(file: Source) -> set[int]:
    found: set[int] = set()
    for node in file.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | _Function) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            found |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def _scoped_functions(
    node: ast.AST, scope: ast.ClassDef | None = None
) -> Iterator[tuple[ast.ClassDef | None, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield scope, child
        yield from _scoped_functions(child, child if isinstance(child, ast.ClassDef) else scope)


def _methods(file: Source) -> Iterator[str]:
    for node in file.classes:
        yield from (one.name for one in node.body if isinstance(one, _Function))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_assigned(node: ast.Attribute, own: str) -> bool:
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == own


def _names_in(annotation: ast.expr | None) -> Iterator[str]:
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _names_in(ast.parse(node.value, mode="eval").body)


def _edges(file: Source) -> Iterator[str]:
    """One for each import of another room."""
    room = _room(file.path.removesuffix(".py").split("/"))
    for node in _imports(file):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if isinstance(node, ast.ImportFrom) and node.module == PRODUCT:
            modules = [f"{PRODUCT}.{alias.name}" for alias in node.names]
        targets = {_room(module.split(".")) for module in modules if module.startswith(f"{PRODUCT}.")}
        yield from (f"{room} -> {target}" for target in sorted(targets - {room}))


def _room(parts: Sequence[str]) -> str:
    return parts[1]


def table(product: Measures, tests: Measures, of_product: Shape) -> str:
    left, right = asdict(product), asdict(tests)
    crowded = left.pop("class_with_most_collaborators"), right.pop("class_with_most_collaborators")
    rows = [("", "product", "tests")]
    rows += [(name.replace("_", " "), str(left[name]), str(right[name])) for name in left]
    rows += [
        ("result types", str(len(of_product.result_types)), "-"),
        ("room edges", str(len(of_product.room_edges)), "-"),
        ("imports across rooms", str(sum(of_product.room_edges.values())), "-"),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"{name:<{widths[0]}}  {one:>{widths[1]}}  {other:>{widths[2]}}" for name, one, other in rows]
    most = "most collaborators: {}; in tests {}".format(*crowded)
    return "\n".join([*lines, "", most, f"result types: {', '.join(of_product.result_types)}"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.measure_code", epilog=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parents[1], help="root of a checkout")
    parser.add_argument("--json", action="store_true", help="everything as one JSON document")
    chosen = parser.parse_args(arguments)
    files = sources(chosen.path, PRODUCT)
    if not files:
        sys.exit(f"{chosen.path} has no Python files in {PRODUCT}/: name the root of a checkout")
    product, tests, of_product = measure(files), measure(sources(chosen.path, TESTS)), shape(files)
    if chosen.json:
        found = {"product": asdict(product) | asdict(of_product), "tests": asdict(tests)}
        print(json.dumps(found, indent=2, sort_keys=True))
    else:
        print(table(product, tests, of_product))


if __name__ == "__main__":
    main()

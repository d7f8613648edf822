"""Every regular expression of the product, as its modules compile it, and by which methods it is run.

Found in the syntax trees: a call of a function of `re` whose pattern is a constant expression is evaluated in the
module that has it. What is made of local variables cannot be found so and is refused by `collected`, unless it is given
examples. The values of all modules are looked through as well, for patterns in tables.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import rukpak_py
from rukpak_py.formats import dns

_FUNCTIONS = frozenset({"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
_FLAGS_AT = {"compile": 1, "match": 2, "search": 2, "fullmatch": 2, "findall": 2, "finditer": 2, "split": 3}
_FLAGS_AT |= {"sub": 4, "subn": 4}
_ITERATING = frozenset({"sub", "subn", "split", "findall", "finditer"})
ALL_METHODS = frozenset({"match", "search", "fullmatch", "finditer"})
_NO_START = frozenset({"__main__"})  # importing it runs it


@dataclass(frozen=True, kw_only=True)
class Found:
    where: str  # module and line
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def __str__(self) -> str:
        return f"{self.where}: {self.pattern.pattern!r}"


class UnknownPatternError(Exception):
    """A pattern is made of local variables: give an example of it."""


def modules() -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(rukpak_py.__path__, "rukpak_py."):
        if info.name.rpartition(".")[2] not in _NO_START:
            yield importlib.import_module(info.name)


@cache
def collected() -> tuple[Found, ...]:
    """Each pattern once, with all methods that anybody calls on it."""
    found: dict[tuple[str | bytes, int], Found] = {}
    usage = _usage()
    for module in modules():
        tree = _tree(module)
        here = [*_calls(module, tree), *_values(module)]
        for where, pattern, methods, names in here:
            places = [(module.__name__ if name.startswith("_") else "", name) for name in names]
            used = methods.union(*(usage.get(place, frozenset()) for place in places))
            key = pattern.pattern, pattern.flags
            former = found.get(key)
            known = former.methods if former is not None else frozenset()
            found[key] = Found(where=former.where if former else where, pattern=pattern, methods=used | known)
    return tuple(
        Found(where=one.where, pattern=one.pattern, methods=one.methods or ALL_METHODS) for one in found.values()
    )


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__ or "").read_text())


_Here = tuple[str, re.Pattern[Any], frozenset[str], frozenset[str]]


def _calls(module: ModuleType, tree: ast.Module) -> Iterator[_Here]:
    names = _names(tree)
    for node in ast.walk(tree):
        function = _function_of_re(node)
        if function is None:
            if isinstance(node, ast.ImportFrom) and node.module == "re":
                raise UnknownPatternError(f"{module.__name__}:{node.lineno}: import re as a module")
            continue
        assert isinstance(node, ast.Call)
        where = f"{module.__name__}:{node.lineno}"
        methods = frozenset({"finditer" if function in _ITERATING else function}) - {"compile"}
        for pattern in _evaluated(module, node, function, where):
            yield where, pattern, methods, names.get(id(node), frozenset())


def _function_of_re(node: ast.AST) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if name in _FUNCTIONS:
            return name
        case _:
            return None


def _evaluated(module: ModuleType, call: ast.Call, function: str, where: str) -> Iterator[re.Pattern[Any]]:
    at = _FLAGS_AT[function]
    flags = call.args[at] if len(call.args) > at else None
    flags = next((word.value for word in call.keywords if word.arg == "flags"), flags)
    source = ast.unparse(call.args[0])
    known = EXAMPLES.get((module.__name__, source))
    try:
        value = _value_of(call.args[0], module) if known is None else None
        compiled = _value_of(flags, module) if flags is not None else 0
    except NameError as error:
        raise UnknownPatternError(f"{where}: {source}: {error}; add it to EXAMPLES") from error
    for pattern in known if known is not None else (value,):
        yield re.compile(pattern, compiled)


def _value_of(expression: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(expression), module.__name__, "eval"), vars(module))  # noqa: S307 - our own code


def _names(tree: ast.Module) -> dict[int, frozenset[str]]:
    """Names to which each expression is assigned: `_X = re.compile(…)`."""
    names: dict[int, frozenset[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        named = frozenset(name.id for one in targets for name in ast.walk(one) if isinstance(name, ast.Name))
        names.update((id(part), named) for part in ast.walk(value) if isinstance(part, ast.Call))
    return names


@cache
def _usage() -> Mapping[tuple[str, str], frozenset[str]]:
    """The methods that are called on each constant, by module and name. A constant passed as a value counts with all.

    A name without an underscore may be used by other modules, and is looked for in all of them.
    """
    used: dict[tuple[str, str], set[str]] = {}
    for module in modules():
        tree = _tree(module)
        received: dict[int, str] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name() | ast.Subscript() as receiver, attr=attribute):
                    table = receiver.value if isinstance(receiver, ast.Subscript) else receiver
                    received[id(table)] = attribute
        asked = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare) for part in node.comparators}
        for node in ast.walk(tree):
            match node:
                case ast.Name() if id(node) in asked:  # `in` a table
                    continue
                case ast.Name(id=name, ctx=ast.Load()):
                    methods = used.setdefault((module.__name__ if name.startswith("_") else "", name), set())
                    method = received.get(id(node))
                    if method is None:
                        methods.update(ALL_METHODS)
                    elif method in _FUNCTIONS:
                        methods.add("finditer" if method in _ITERATING else method)
    return {name: frozenset(methods) for name, methods in used.items()}


def _values(module: ModuleType) -> Iterator[_Here]:
    """Patterns in what a module holds, tables included."""
    for name, value in vars(module).items():
        for pattern in _patterns_in(value, 0):
            yield f"{module.__name__}.{name}", pattern, frozenset(), frozenset({name})


def _patterns_in(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4:
        items: Any = ()
        if isinstance(value, Mapping):
            items = [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            items = value
        elif is_dataclass(value) and not isinstance(value, type):
            items = [getattr(value, one.name) for one in fields(value)]
        for item in items:
            yield from _patterns_in(item, depth + 1)


# By module and expression: what a pattern looks like that is made when it is needed.
EXAMPLES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("rukpak_py.sources.git.failures", "pattern"): (),  # its table is looked through
    ("rukpak_py.formats.helm.layout", "pattern"): (),  # fullmatch alone runs it; test_chart_ignored measures that
    ("rukpak_py.catalog.indexignore", "expression(text)"): (),  # the same; test_indexignore measures that
    ("rukpak_py.formats.dns", "pattern"): (
        dns._SUBDOMAIN,
        dns._LABEL,
        dns._DNS_1035,
        dns._VALUE,
        dns._NAME,
    ),
}

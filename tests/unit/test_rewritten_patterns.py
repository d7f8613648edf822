"""Patterns that were rewritten to be linear read ordinary texts as they did before. The former ones stand here."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply import unknown_fields
from rukpak_py.formats.crds import parts
from rukpak_py.formats.go_types import quantity
from rukpak_py.formats.helm import rules as chart_rules
from rukpak_py.formats.registry_v1.rules import operatorhub
from rukpak_py.kube import status_errors
from rukpak_py.server import archives
from rukpak_py.sources.git import environment
from tests.unit.test_patterns import OLD_EMAIL

_ACTION = re.compile(r"\{\{-?(?!-?\s*/\*)(.*?)-?\}\}", re.DOTALL)
_FIELD = re.compile(r"\.([^.\[]+)|\[['\"]([^\]]*)['\"]\]")
_QUANTITY = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_RANGE = re.compile(r"bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})", re.IGNORECASE)
_STEP = re.compile(r"""\.([^.\[\]]+) | \[ ((?:[^\]"]|"(?:[^"\\]|\\.)*")*) \]""", re.VERBOSE)
_PATH = re.compile(rf"(?:{_STEP.pattern})*", re.VERBOSE)
_PAIR = re.compile(r"""([^=,]*)=("(?:[^"\\]|\\.)*"|[^,]*)""")
_IMMUTABLE = re.compile(r"immutable|(?:may not|cannot|can not|must not) (?:be )?chang|updates? (?:to|may) .*forbidden")


def _of(*parts: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), max_size=12).map("".join)


@given(_of("a", "b.c", ".", " ", '"', '"a b"', "@", "<", ">", "(", ")", "[1.2]", "\t", "\\", ",", "é"))
def test_addresses(text: str) -> None:
    assert bool(operatorhub._EMAIL.fullmatch(text)) == bool(re.fullmatch(OLD_EMAIL, text))


@given(_of("{{", "}}", "{", "}", "-", " ", "\n", "/*", "*/", '"', "lookup", "a"))
def test_actions_of_templates(text: str) -> None:
    assert list(chart_rules._actions(text)) == [(found.start(1), found[1]) for found in _ACTION.finditer(text)]


@given(_of(".", "a", "b.c", "[", "]", '["', '"]', "['x']", '["a[b"]', "'"))
def test_fields_of_paths(text: str) -> None:
    assert list(parts._fields_of(text)) == ["".join(found) for found in _FIELD.findall(text)]


@given(_of("+", "-", "1", "007", ".", "e3", "E", "Ki", "m", "x"))
def test_quantities(text: str) -> None:
    found, former = quantity._PARTS.fullmatch(text), _QUANTITY.fullmatch(text)

    assert (found and found.groups()) == (former and former.groups())


@given(_of("bytes", "=", " ", "\t", "0", "123", "-", "x"))
def test_ranges_of_requests(text: str) -> None:
    found, former = archives._ONE_RANGE.fullmatch(text), _RANGE.fullmatch(text)

    assert (found and found.groups()) == (former and former.groups())


def _former_steps(path: str) -> list[Any]:
    def step(name: str, selector: str) -> Any:
        if name:
            return name
        if re.fullmatch(r"[0-9]{1,9}", selector):
            return int(selector)
        return {key: unknown_fields._value(text) for key, text in _PAIR.findall(selector)}

    return [step(*parts) for parts in _STEP.findall(path)] if _PATH.fullmatch(path) else []


@given(_of(".a", ".b-c", '[name="x"]', "[0]", '["v"]', '[a="]",b=2]', "[", "]", "=", ",", '[k="\\"",l=1]', "[a=b,c]"))
def test_paths_that_a_server_names(path: str) -> None:
    assert list(unknown_fields._steps(path)) == _former_steps(path)


@given(
    _of(
        "updates to ", "update may ", "update", " forbidden", "forbidden", "\n", "immutable", "may not be changed", "x "
    )
)
def test_changes_that_no_update_can_make(text: str) -> None:
    assert status_errors._says_immutable(text) == bool(_IMMUTABLE.search(text))


@given(_of("*", "?", "a", "B", ".", "*.example.com"), _of("a", "b", ".", "www.example.com", "["))
def test_patterns_of_known_hosts(pattern: str, name: str) -> None:
    parts = (".*" if part == "*" else "." if part == "?" else re.escape(part) for part in re.split(r"([*?])", pattern))

    assert environment._is_like(name.lower(), pattern.lower()) == bool(
        re.fullmatch("".join(parts), name, re.IGNORECASE | re.DOTALL)
    )


def test_a_pattern_of_many_stars_is_tried_once_for_each_character() -> None:
    compared = 0

    class Counting(str):
        __slots__ = ()

        def __getitem__(self, index: Any) -> str:
            nonlocal compared
            compared += 1
            return str.__getitem__(self, index)

    assert not environment._is_like(Counting("a" * 250), "*a" * 20 + "b")
    assert compared < 20 * 2 * 250


@given(_of("a", '\\"', "\\\\", "{", "}", ":", "é"))
def test_strings_of_json(text: str) -> None:
    quoted = '"' + text + '"'

    assert (found := status_errors._QUOTED.match(quoted)) is None or found[0] == quoted
    assert [one[0] for one in status_errors._TOKEN.finditer(f"{{{quoted}}}")] == ["{", quoted, "}"]

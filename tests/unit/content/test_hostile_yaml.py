"""The cost of YAML and JSON is in proportion to their size, whatever they hold."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from rukpak_py.content import yaml, yaml_events
from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core.errors import ContentError

PRIVATE = "".join(map(chr, yaml_events._PRIVATE))


class CountingBytes(bytes):
    """Counts how often the whole is searched."""

    searches = 0

    def __contains__(self, part: Any) -> bool:
        CountingBytes.searches += 1
        return bytes.__contains__(self, part)


def test_a_letter_that_stands_for_a_mark_is_found_in_one_reading() -> None:
    chunk = CountingBytes(f"a: \ufeff{PRIVATE}".encode())

    assert yaml_events._unused_letter(chunk) == "\ufeff"
    assert yaml_events._unused_letter(f"a: \ufeff{PRIVATE[:100]}{PRIVATE[101:]}".encode()) == PRIVATE[100]
    assert CountingBytes.searches <= 1


def test_all_private_letters_behind_much_text_are_read_in_time() -> None:
    text = f"a: \ufeff\nb: '{'x' * 2_000_000}{PRIVATE}'\n"

    loaded: Any = yaml.load(text.encode())
    assert loaded["b"].endswith(PRIVATE)


def _calls(work: Callable[[], object]) -> int:
    """Calls of functions, those of C included."""
    count = 0

    def counting(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counting)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


SHAPES: dict[str, Callable[[int], str]] = {
    "quotes without an end": lambda size: '{"a": {"b": [],,"' + '\\"' * size,
    "brackets": lambda size: "[" * size,
    "separators": lambda size: "---\n" * size,
    "keys": lambda size: "".join(f"k{number}: 1\n" for number in range(size)),
    "the same key": lambda size: "k: 1\n" * size,
    "aliases": lambda size: "a: &a {b: 1}\nl:\n" + "- *a\n" * size,
    "merges": lambda size: "a: &a {b: 1}\nl: {" + "<<: *a, " * size + "}",
    "values of JSON": lambda size: "{}\n" * size,
    "blanks": lambda size: "{" + " \n" * size,
    "comments": lambda size: "# %YAML 1.2\n" * size + "a: 1",
    "directives": lambda size: "%TAG ! a\n" * size + "--- a",
    "escaped slashes": lambda size: "a: [" + '"\\/", ' * size + "]",
    "tags": lambda size: "a: [" + "!!binary ' ', " * size + "]",
    "numbers": lambda size: "a: " + "9" * size,
    "underscores": lambda size: "a: 0x" + "_1" * size,
    "marks in the middle": lambda size: "a: '" + "\ufeff" * size + "'",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_size(shape: str) -> None:
    def read(size: int) -> int:
        data = SHAPES[shape](size).encode()

        def work() -> None:
            try:
                for _ in yaml.load_all(data):
                    pass
            except (ContentError, ValueError):
                pass
            positions = Positions(data)
            for _ in positions.repeated_keys():
                pass

        return _calls(work)

    read(10)
    assert read(2_000) <= 2.6 * read(1_000) + 2_000

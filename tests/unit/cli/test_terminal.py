"""Texts of bundles are made harmless, lines fit, colours and progress are for terminals."""

import json
import sys
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.cli.terminal import Progress, StatusLine, Style, clean, clean_text, table, wrapped
from tests.unit.cli.streams import pipe, terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ä, 日本, 🙂", "plain text, ä, 日本, 🙂"),
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("a\nb\r\nc", "a b c"),
        ("a\tb", "a b"),
        ("\x9b2J\x7f\x00", "\\u009b2J\\u007f\\u0000"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\ud800", "\\ud800"),
    ],
)
def test_a_line_has_visible_characters_only(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text())
def test_json_stays_json(text: str) -> None:
    shown = clean_text(json.dumps({text: [text]}, indent=2, ensure_ascii=False))
    assert json.loads(shown) == {text: [text]}
    assert "\x1b" not in shown
    shown.encode()


@given(st.text(), st.integers(20, 120))
def test_lines_never_hold_control_characters(text: str, width: int) -> None:
    lines = wrapped(clean(text), width=width, first="  x  ", indent=4).split("\n")
    assert all(not any(ord(c) < 32 or 126 < ord(c) < 160 for c in line) for line in lines)


def test_tables_keep_their_columns() -> None:
    rows = [("short", "one"), ("a" * 30, "two"), ("b", "three four five six seven"), ("c" * 11, "eight")]
    assert table(rows, width=30, indent=2, most=10) == [
        "  short  one",
        "  " + "a" * 30,
        "      two",
        "  b      three four five six\n         seven",
        "  ccccccccccc  eight",
    ]


def test_cell_wider_than_its_column_stands_below() -> None:
    rows = [("a" * 60, "x"), ("b", "one two three four five six seven eight nine"), ("c", "d" * 40)]
    assert table(rows, width=100, indent=2, most=72) == [
        f"  {'a' * 60}  x",
        f"  {'b'.ljust(60)}  one two three four five six seven\n{' ' * 64}eight nine",
        "  c",
        f"      {'d' * 40}",
    ]
    lines = "\n".join(table(rows, width=80, indent=2, most=72)).split("\n")
    assert lines[1:3] == ["  b", "      one two three four five six seven eight nine"]


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Style(pipe()).paint("x", "red") == "x"
    assert Style(terminal()).paint("x", "red") == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("TERM", "dumb")
    assert Style(terminal()).paint("x", "red") == "x"


def test_only_terminals_have_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert Style(pipe()).width > 1000
    monkeypatch.setenv("COLUMNS", "77")
    assert Style(pipe()).width == Style(terminal()).width == 77


def test_progress_is_for_terminals_and_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, total, is_shown in ((terminal(), 2, True), (terminal(), 1, False), (pipe(), 2, False)):
        monkeypatch.setattr(sys, "stderr", stream)
        progress = Progress(total)
        progress.show(1, "a\x1bb")
        progress.clear()
        stream.seek(0)
        printed = stream.read()
        assert ("1/2  a\\u001bb" in printed) is is_shown
        assert bool(printed) is is_shown


@pytest.mark.parametrize(
    ("stream", "printed"),
    [
        (terminal(), "\r\x1b[Kwaiting\r\x1b[Kready: \\u001b long, and cut\nnext\n\r\x1b[Kready"),
        (pipe(), "waiting\nready: \\u001b long, and cut in a terminal\nnext\nready\n"),
    ],
    ids=["terminal", "pipe"],
)
def test_status_line_is_rewritten_in_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, stream: IO[str], printed: str
) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "28")
    line = StatusLine()
    for state in ("waiting", "waiting", "ready: \x1b long, and cut in a terminal"):
        line.show(state)
    line.end()
    stream.write("next\n")
    line.end()  # nothing is shown, so nothing is ended
    line.show("ready")
    stream.seek(0)
    assert stream.read() == printed

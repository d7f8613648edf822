"""Texts of servers, Secrets and traces are read in a bounded number of steps, however they were written."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from rukpak_py.api.source_types import GitRef
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.sources.git import environment, failures, redirects
from rukpak_py.sources.git.command import GitError
from rukpak_py.sources.git.environment import alias_of
from rukpak_py.sources.git.failures import explain
from rukpak_py.sources.git.redirects import redirected
from rukpak_py.sources.git.remote import parse_remote, revision_of

constants: Any = import_module("re._constants")
parser: Any = import_module("re._parser")
REMOTE = parse_remote("https://git.example.com/a.git")


def repeats(parsed: Any) -> Iterator[int]:
    """One for each repeat without an upper bound."""
    for operator, argument in parsed:
        if operator in {constants.MAX_REPEAT, constants.MIN_REPEAT}:
            if argument[1] == constants.MAXREPEAT:
                yield 1
            yield from repeats(argument[2])
        elif operator is constants.SUBPATTERN:
            yield from repeats(argument[-1])
        elif operator is constants.BRANCH:
            yield max(sum(repeats(branch)) for branch in argument[1])


@pytest.mark.parametrize("module", [failures, redirects, environment])
def test_no_pattern_can_go_back(module: ModuleType) -> None:
    """Two repeats without a bound could share what they match in any number of ways."""
    patterns = [one for one in vars(module).values() if isinstance(one, re.Pattern)]
    assert [one.pattern for one in patterns if sum(repeats(parser.parse(one.pattern))) > 1] == []


@pytest.mark.parametrize(
    ("said", "error", "text"),
    [
        ("remote: repository a/b was not found", AccessError, "not visible"),
        ("ERROR: Repository not found.", AccessError, "not visible"),
        ("remote: repository\nnot found", UnavailableError, "the fetch failed"),
        ("fatal: transport 'file' not allowed", ContentError, "the protocol is not allowed"),
        ("fatal: Out of memory, malloc failed (tried to allocate 9 bytes)", ContentError, "need too much memory"),
        ("fatal: dumb http transport does not support shallow capabilities", ContentError, "plain web server"),
        ("fatal: expected 'packfile'", UnavailableError, "the fetch failed"),
    ],
)
def test_reasons_are_found_on_one_line(said: str, error: type[RukPakError], text: str) -> None:
    found = explain(GitError(said), REMOTE, revision_of(GitRef(branch="main")), lambda one: one)
    assert isinstance(found, error)
    assert text in str(found)


def test_a_secret_that_control_characters_had_hidden_is_redacted() -> None:
    error = GitError("remote: can\x07ary")
    found = explain(error, REMOTE, revision_of(GitRef(branch="main")), lambda said: said.replace("canary", "***"))
    assert "canary" not in str(found)
    assert "***" in str(found)


def test_both_ends_of_a_long_text_are_shown() -> None:
    error = GitError("remote: begin " + "x" * 10_000 + "\nfatal: end")
    found = explain(error, REMOTE, revision_of(GitRef(branch="main")), lambda said: said)
    assert "remote: begin" in str(found)
    assert str(found).endswith("end")
    assert len(str(found)) < 1000


def test_a_pattern_of_known_hosts_that_goes_back_often() -> None:
    """Exponential for a regular expression; here each character of the name meets each of the pattern once at most."""
    pattern, name = "*a" * 100 + "*b", "a" * 200
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        steps += event == "line" and frame.f_code.co_name == "_is_like"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        alias = alias_of(parse_remote(f"ssh://{name}:2222/a"), f"{pattern} ssh-rsa AAAA\n")
    finally:
        sys.settrace(before)
    assert alias == f"[{name}]:2222"
    assert steps < 2 * 12 * len(pattern) * (len(name) + 8)


@pytest.mark.parametrize(
    ("pattern", "is_like"),
    [
        ("*", True),
        ("**.example.com", True),
        ("g?t.example.com", True),
        ("GIT.*", True),
        ("*git*exam*com*", True),
        ("*.example", False),
        ("?", False),
        ("git.example.com?", False),
        ("", False),
        (f"git.example.com{'*' * 2000}", False),  # longer than ssh reads
    ],
)
def test_patterns_of_known_hosts(pattern: str, *, is_like: bool) -> None:
    assert environment._matches(pattern, "git.example.com") is is_like


def test_a_trace_of_many_long_headers(tmp_path: Path) -> None:
    """Its beginning counts, and no line of it that is longer than a URL may be."""
    trace = tmp_path / "trace"
    head = "10:00:00.000 http.c:1 <= Recv header: "
    trace.write_text(
        f"{head}location: https://git.example.com/b.git/info/refs\n" + f"{head}location: {'a' * 60_000}\n" * 100
    )
    assert redirected(REMOTE, trace).url == "https://git.example.com/b.git"

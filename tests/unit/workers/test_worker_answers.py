"""The answer of a worker that content has come to own runs nothing in the operator, and costs only that worker."""

import builtins
import os
import pickle
import sys
from pathlib import PurePosixPath
from typing import Any

import pytest

from rukpak_py.content.tree import TreeBuilder
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, MIB, LimitError
from rukpak_py.formats.format import ContentDescription
from rukpak_py.formats.stored_rendering import rendering
from rukpak_py.sources.git.fetched import Commit, NoCommit
from rukpak_py.workers.answers import loads
from rukpak_py.workers.child import HEADER, CallAnswer, CallOutcome
from rukpak_py.workers.pool import WorkerProcesses

MEMORY = 128 * MIB


class Calls:
    """A pickle that calls this function with these arguments."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call


def named(module: str, name: str) -> bytes:
    """The pickle of what this path of attributes leads to."""
    return b"\x80\x04" + b"".join(b"\x8c" + bytes([len(one)]) + one.encode() for one in (module, name)) + b"\x93."


@pytest.mark.parametrize(
    "body",
    [
        pickle.dumps(Calls(os.system, "false")),
        pickle.dumps(Calls(builtins.eval, "1")),
        pickle.dumps(Calls(getattr, ContentError, "__init__")),
        named("rukpak_py.core.errors", "RukPakError.__init__"),
        named("rukpak_py.core.errors", "UnavailableError.__init__.__class__"),
        named("rukpak_py.core.errors", "UnavailableError.__init__.__code__.__class__"),
        named("rukpak_py.content.tree", "hashlib"),
        named("rukpak_py.sources.spool", "os.system"),
        named("rukpak_py.operator.process", "Process"),
        named("subprocess", "Popen"),
        named("builtins", "SystemExit"),
        named("builtins", "type"),
    ],
)
def test_an_answer_names_no_function_and_no_class_of_others(body: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match="nothing that an answer may be made of"):
        loads(body)


def test_answers_of_workers_pass() -> None:
    builder = TreeBuilder(DEFAULT_LIMITS)
    builder.add("a/b.yaml", b"1")
    values = [
        CallAnswer(CallOutcome.RETURNED, builder.build()),
        [Commit(name="a", tree="b"), NoCommit.MISSING, PurePosixPath("a"), frozenset({1}), None, 1.5],
        DEFAULT_LIMITS,
        rendering([], frozenset(), description=ContentDescription(name="web", version="1.2.3")),
    ]
    assert loads(pickle.dumps(values)) == values
    for error in (ContentError("a"), UnavailableError("b", retry_after=3.0), LimitError("c"), KeyError("d")):
        found = loads(pickle.dumps(error))
        assert (type(found), found.args, vars(found)) == (type(error), error.args, vars(error))


def test_a_member_of_an_enumeration_is_looked_up_by_its_name() -> None:
    """Python up to 3.11.3 pickles it so, that of Debian 12 among them."""
    assert loads(pickle.dumps(Calls(getattr, NoCommit, "MISSING"))) is NoCommit.MISSING
    with pytest.raises(KeyError):
        loads(pickle.dumps(Calls(getattr, NoCommit, "__class__")))


def answer_with(frame: bytes) -> None:
    """As a worker does that content has come to own: there is another answer before its own."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, frame)
        except OSError:
            continue
    sys.exit()


def framed(value: object) -> bytes:
    body = pickle.dumps(value)
    return HEADER.pack(len(body)) + body


@pytest.mark.parametrize(
    "frame",
    [
        framed(CallAnswer(CallOutcome.RETURNED, Calls(os.getpid))),
        framed(CallAnswer(CallOutcome.RAISED, "no error")),
        framed("no answer"),
        HEADER.pack(7) + b"garbage",
        HEADER.pack(MEMORY + 1),
    ],
    ids=["a call", "raises text", "text", "garbage", "endless"],
)
async def test_an_answer_that_cannot_be_read_is_wrong_content_and_the_next_call_works(frame: bytes) -> None:
    processes = WorkerProcesses(1, memory=MEMORY)
    try:
        with pytest.raises(ContentError, match="gave an answer that cannot be read"):
            await processes.run(answer_with, frame)
        assert await processes.run(len, "abc") == 3
    finally:
        await processes.close()

"""Work in other processes: it never hangs, and what goes wrong there is told and costs no other call anything."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, MIB
from rukpak_py.formats.by_class import Classes
from rukpak_py.runtime.limits import worker_memory
from rukpak_py.workers import child, child_process, format_calls
from rukpak_py.workers.pool import WorkerProcesses
from tests.unit.bundles import tree_of
from tests.waiting import until

PATIENCE = 60.0  # seconds; a process needs about one to start
MEMORY = 128 * MIB


@asynccontextmanager
async def working(
    workers: int = 2,
    *,
    calls_per_process: int = 100,
    seconds: float = PATIENCE,
    idle_seconds: float = PATIENCE,
    processor_seconds: float = PATIENCE,
    memory: int = MEMORY,
) -> AsyncIterator[WorkerProcesses]:
    processes = WorkerProcesses(
        workers,
        calls_per_process=calls_per_process,
        seconds=seconds,
        processor_seconds=processor_seconds,
        idle_seconds=idle_seconds,
        memory=memory,
    )
    try:
        async with asyncio.timeout(2 * PATIENCE):
            yield processes
    finally:
        await processes.close()


identity = os.getpid  # from a module that costs no time to import
hang = partial(time.sleep, 3600)


def spin() -> int:
    return sum(range(10**12))


def busy(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def abort() -> None:
    os.abort()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exits() -> None:
    os._exit(3)


def die_once(mark: Path) -> int:
    if not mark.exists():
        mark.touch()
        os.abort()
    return os.getpid()


def allocate(size: int) -> int:
    return len(bytearray(size))


def leak(size: int, kept: list[bytearray] = []) -> None:  # noqa: B006 - a leak
    kept.append(bytearray(size))


def wrong() -> None:
    raise ContentError("no good")


def late() -> None:
    raise TimeoutError("its own")


def at_end() -> None:
    raise EOFError("of a file")


def bug() -> None:
    raise KeyError("a bug")


class UnpicklableError(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


def unpicklable() -> None:
    raise UnpicklableError("a", "b")


def print_something() -> int:
    print("not an answer")  # noqa: T201 - what workers must survive
    return os.getpid()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_at_most_as_many_processes_as_workers() -> None:
    async with working() as processes:
        used = set(await asyncio.gather(*(processes.run(busy, 0.05) for _ in range(8))))
        assert len(used) == 2
        assert os.getpid() not in used


async def test_a_process_ends_after_a_number_of_calls() -> None:
    async with working(1, calls_per_process=3) as processes:
        used = [await processes.run(identity) for _ in range(7)]
        assert [used.count(pid) for pid in dict.fromkeys(used)] == [3, 3, 1]
        await until(lambda: sum(map(alive, set(used))) == 1)


async def test_a_process_that_idles_ends_and_the_next_call_starts_one() -> None:
    async with working(idle_seconds=0.1) as processes:
        used = await processes.run(identity)
        await until(lambda: not alive(used))
        assert await processes.run(identity) != used


async def test_failures_come_back_as_they_are() -> None:
    async with working(1) as processes:
        with pytest.raises(ContentError, match="no good"):
            await processes.run(wrong)
        with pytest.raises(TimeoutError, match="its own"):
            await processes.run(late)
        with pytest.raises(EOFError, match="of a file"):
            await processes.run(at_end)


async def test_a_bug_comes_back_with_its_traceback() -> None:
    async with working(1) as processes:
        with pytest.raises(KeyError) as caught:
            await processes.run(bug)
        assert 'raise KeyError("a bug")' in "".join(caught.value.__notes__)
        with pytest.raises(RuntimeError, match="UnpicklableError: a b"):
            await processes.run(unpicklable)
        assert await processes.run(print_something) != os.getpid()


async def test_large_requests_and_answers_pass() -> None:
    async with working(1) as processes:
        content = bytes(20 * MIB)
        assert await processes.run(bytes.__add__, content, b"x") == content + b"x"


@pytest.mark.parametrize(
    ("call", "how"),
    [(abort, "was ended by SIGABRT"), (exits, "ended with exit code 3")],
)
async def test_content_that_kills_its_process_is_wrong_content_and_the_next_call_works(
    call: Callable[[], None], how: str
) -> None:
    async with working() as processes:
        with pytest.raises(ContentError, match=f"^reading this content ended a worker process, which {how}; "):
            await processes.run(call)
        assert await processes.run(identity) != os.getpid()


async def test_a_kernel_without_memory_does_not_make_content_wrong() -> None:
    async with working() as processes:
        with pytest.raises(UnavailableError, match=r"^reading this content was cut short: .* SIGKILL; .* memory$"):
            await processes.run(killed)


async def test_call_beside_content_that_kills_its_process_is_not_disturbed() -> None:
    async with working() as processes:
        ends = await asyncio.gather(
            *(call for _ in range(3) for call in (processes.run(abort), processes.run(busy, 0.2))),
            return_exceptions=True,
        )
        assert [type(end) for end in ends] == [ContentError, int] * 3


async def test_a_process_that_was_killed_by_chance_costs_nothing(tmp_path: Path) -> None:
    async with working(1) as processes:
        assert await processes.run(die_once, tmp_path / "mark") != os.getpid()
        assert (tmp_path / "mark").exists()


async def test_fifty_megabytes_of_manifests_are_checked_in_the_memory_of_one_process() -> None:
    """File by file: what a worker has where the container is limited to 512 MiB."""
    value = "0123456789abcdef" * 62_500
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m-{number}, namespace: a}}\ndata: {{v: {value}}}\n"
    tree = tree_of({f"manifests/{n}.yaml": head.format(number=n, value=value) for n in range(50)})
    assert tree.total_bytes > 50_000_000
    options = format_calls.CheckOptions(is_directory=True, limits=DEFAULT_LIMITS)
    async with working(1, memory=worker_memory(2, 512 * MIB)) as processes:
        await processes.run(format_calls.check, Classes(PLAIN_CLASS), tree, options)


async def test_content_that_needs_too_much_memory_is_wrong_content() -> None:
    async with working(1) as processes:
        assert await processes.run(allocate, 64 * MIB) == 64 * MIB
        with pytest.raises(ContentError, match=r"^reading this content needs more than 128 MiB of memory, ") as caught:
            await processes.run(allocate, 1024 * MIB)
        assert "or raise the memory limit of the operator's container" in str(caught.value)
        assert await processes.run(allocate, 64 * MIB) == 64 * MIB


async def test_content_that_is_larger_than_the_memory_of_a_process_is_wrong_content() -> None:
    async with working(1) as processes:
        with pytest.raises(ContentError, match="needs more than 128 MiB of memory"):
            await processes.run(len, bytes(200 * MIB))
        assert await processes.run(identity) != os.getpid()


async def test_memory_that_earlier_calls_left_behind_is_not_the_fault_of_the_next() -> None:
    async with working(1) as processes:
        used = await processes.run(identity)
        for _ in range(4):
            await processes.run(leak, 40 * MIB)
        assert await processes.run(identity) != used


async def test_a_call_that_takes_too_long_is_tried_twice_and_may_be_well_later() -> None:
    """It has processor time left: the machine did not give it any, or it waited."""
    async with working(1, seconds=2) as processes:
        worker = await processes.run(identity)
        began = time.monotonic()
        with pytest.raises(UnavailableError, match=r"^reading this content takes more than 2 s and was stopped"):
            await processes.run(hang)
        assert time.monotonic() - began >= 4, "it was tried twice"
        await until(lambda: not alive(worker))
        assert await processes.run(identity) != worker


async def test_a_call_that_uses_up_its_processor_time_is_wrong_content_at_once() -> None:
    """Also in C code that never lets go of the interpreter, and without a second try."""
    async with working(1, processor_seconds=1) as processes:
        worker = await processes.run(identity)
        with pytest.raises(ContentError, match=r"^reading this content takes more than 1 s of processor time"):
            await processes.run(spin)
        assert not alive(worker)
        assert await processes.run(identity) != worker


async def test_a_lane_leaves_turns_to_others() -> None:
    async with working(2) as processes:
        lane = processes.lane(1)
        hanging = [asyncio.create_task(lane.run(hang)) for _ in range(4)]
        assert await processes.run(identity) != os.getpid()
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)


async def test_waiting_for_a_turn_does_not_count() -> None:
    async with working(1, seconds=2) as processes:
        hanging = asyncio.create_task(processes.run(hang))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(processes.run(identity))
        with pytest.raises(UnavailableError):
            await hanging
        assert await waiting != os.getpid()


async def test_call_whose_caller_is_cancelled_ends_with_its_process() -> None:
    async with working(1) as processes:
        worker = await processes.run(identity)
        hanging = asyncio.create_task(processes.run(hang))
        await asyncio.sleep(0)
        hanging.cancel()
        await asyncio.wait([hanging])
        assert hanging.cancelled()
        await until(lambda: not alive(worker))
        assert await processes.run(identity) != worker


async def test_processes_that_cannot_be_started_are_nobodys_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_PROGRAM", "raise SystemExit(7)")
    async with working(1) as processes:
        with pytest.raises(UnavailableError, match="cannot be started: it ended with exit code 7"):
            await processes.run(identity)
        monkeypatch.setattr("sys.executable", "/no/such/python")
        with pytest.raises(UnavailableError, match="cannot be started"):
            await processes.run(identity)


async def test_closing_ends_what_runs() -> None:
    async with working(1) as processes:
        worker = await processes.run(identity)
        at_once = asyncio.create_task(processes.run(hang))
        waiting = asyncio.create_task(processes.run(identity))
        await asyncio.sleep(0)
        await processes.close()
        for call in (at_once, waiting):
            with pytest.raises(UnavailableError):
                await call
        assert not alive(worker)
        with pytest.raises(UnavailableError, match="stopped"):
            await processes.run(identity)


# Calls that ask something in between


def asking(*questions: str) -> list[str]:
    ask = child.asker()
    return [ask(question) for question in questions]


async def test_a_call_that_asks_goes_on_with_the_answers() -> None:
    async def reply(question: object) -> object:
        return f"{question}!"

    async with working() as processes:
        assert await processes.run_answering(reply, asking, "a", "b") == ["a!", "b!"]
        assert await processes.run_answering(reply, asking, "c") == ["c!"]


async def test_a_call_that_may_not_ask_costs_its_process_alone() -> None:
    async with working() as processes:
        with pytest.raises(ContentError, match="asked for what it has no use for"):
            await processes.run(asking, "a")
        assert await processes.run(identity) != os.getpid()


def leave_a_thread() -> bool:
    """It asks again and again, whatever it is answered."""
    ask = child.asker()

    def go_on() -> None:
        while True:
            with suppress(RuntimeError):
                ask("left behind")
            time.sleep(0.001)  # the call beside it needs the interpreter, too

    threading.Thread(target=go_on, daemon=True).start()
    return True


async def test_a_thread_that_a_call_left_behind_asks_no_other_operator() -> None:
    asked = list[str]()

    def replying(name: str) -> child_process.Reply:
        async def reply(_question: object) -> object:
            asked.append(name)
            return ""

        return reply

    async with working() as processes:
        assert await processes.run_answering(replying("first"), leave_a_thread)
        assert await processes.run_answering(replying("second"), asking, *"ab" * 50) == [""] * 100
        assert asked.count("second") == 100


async def test_a_question_that_is_not_answered_in_time_ends_the_call() -> None:
    async def reply(_question: object) -> object:
        await asyncio.Event().wait()
        return ""

    async with working(seconds=1) as processes:
        with pytest.raises(UnavailableError, match="takes more than 1 s"):
            await processes.run_answering(reply, asking, "a")

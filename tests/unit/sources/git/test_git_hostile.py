"""Servers that attack: what each costs, and how the Bundle hears of it. Counts and bytes decide, never a time."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, MIB, LimitError, Limits
from rukpak_py.sources.git import checkout, environment
from rukpak_py.sources.git.command import SAID_CHARACTERS, GitError, git_error
from rukpak_py.sources.git.workspace import Workspace
from rukpak_py.sources.source import Fetched
from rukpak_py.sources.spool import Spool
from tests.git_fetching import fetcher, git_source, request
from tests.hostile.git import Attack, HostileGitServer
from tests.waiting import until

MOST_PROCESSES = 12  # init, fetch, its helper, index-pack and a check, for each of two repositories
MOST_REQUESTS = 5
SMALL = replace(DEFAULT_LIMITS, git_bytes=4 * MIB)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    (tmp_path / "spool").mkdir()
    return Spool(DEFAULT_LIMITS, tmp_path / "spool")


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """The number of processes of git that there ever were: each of them writes a file."""
    traces = tmp_path / "traces"
    traces.mkdir()
    given = environment._environment

    def traced(directory: Path, *, protocol: str) -> dict[str, str]:
        return given(directory, protocol=protocol) | {"GIT_TRACE2_EVENT": str(traces)}

    monkeypatch.setattr(environment, "_environment", traced)
    return lambda: len(list(traces.iterdir()))


def left_in(directory: Path, spool: Spool) -> list[str]:
    return [*map(str, directory.glob("spool/*/*")), *([f"{spool.used} bytes of the spool"] if spool.used else [])]


async def attacked(server: HostileGitServer, spool: Spool, limits: Limits = DEFAULT_LIMITS) -> Fetched:
    source = git_source(server.source.url, branch=server.source.branch, commit=server.source.commit)
    return await fetcher(spool=spool, limits=limits).fetch(request(source))


async def refused(
    attack: Attack,
    directory: Path,
    spool: Spool,
    error: type[RukPakError],
    limits: Limits = DEFAULT_LIMITS,
    **more: int,
) -> tuple[RukPakError, HostileGitServer]:
    """Return the error in which the attack ends, with nothing left of it."""
    async with HostileGitServer(attack, directory / "served", **more) as server:
        with pytest.raises(error) as caught:
            await attacked(server, spool, limits)
    assert left_in(directory, spool) == []
    return caught.value, server


@pytest.mark.parametrize("attack", [Attack.REPEATED_ERROR, Attack.LARGE_REPEATED_ERROR])
async def test_a_large_error_page_is_cut_before_a_pattern_sees_it(attack: Attack, tmp_path: Path, spool: Spool) -> None:
    error, _ = await refused(attack, tmp_path, spool, UnavailableError)
    assert "hostile.git: the server is not available - remote: repository repository" in str(error)
    assert "The requested URL returned error: 500" in str(error)
    assert len(str(error)) < 1200
    assert isinstance(error.__cause__, GitError)
    assert len(error.__cause__.said) <= SAID_CHARACTERS
    assert len(str(error.__cause__)) <= SAID_CHARACTERS


@pytest.mark.parametrize("knows_no_lazy_fetch", [True, False])
async def test_a_server_of_plain_files_costs_a_few_processes(
    tmp_path: Path,
    spool: Spool,
    started: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
    knows_no_lazy_fetch: bool,  # noqa: FBT001 - a case
) -> None:
    if not knows_no_lazy_fetch:
        as_old_git(monkeypatch)
    error, server = await refused(Attack.PLAIN_FILES, tmp_path, spool, ContentError)
    assert "the server is a plain web server, but git's smart protocol is needed" in str(error)
    assert started() <= MOST_PROCESSES
    assert server.requests <= MOST_REQUESTS


@pytest.mark.parametrize("knows_no_lazy_fetch", [True, False])
async def test_objects_that_a_server_leaves_out_are_not_fetched_lazily(
    tmp_path: Path,
    spool: Spool,
    started: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
    knows_no_lazy_fetch: bool,  # noqa: FBT001 - a case
) -> None:
    if not knows_no_lazy_fetch:
        as_old_git(monkeypatch)
    _, server = await refused(Attack.PROMISED_OBJECTS, tmp_path, spool, UnavailableError)
    assert started() <= MOST_PROCESSES
    assert server.requests <= MOST_REQUESTS


def as_old_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make git act as one that does not know the variable."""
    given = environment._environment

    def without(directory: Path, *, protocol: str) -> dict[str, str]:
        found = given(directory, protocol=protocol)
        del found["GIT_NO_LAZY_FETCH"]
        return found

    monkeypatch.setattr(environment, "_environment", without)
    monkeypatch.setattr(checkout, "knows_no_lazy_fetch", lambda: False)


async def test_each_branch_counts_as_a_block_on_disk(tmp_path: Path, spool: Spool) -> None:
    """41 bytes in a file of its own each; 200 kB of them take 20 MB."""
    error, _ = await refused(Attack.MANY_REFS, tmp_path, spool, LimitError, SMALL, refs=5000)
    assert "sends exceeds the limit of 4 MiB (RUKPAK_LIMIT_GIT_BYTES sets it)" in str(error)


async def test_a_branch_that_is_a_thousand_directories_deep(tmp_path: Path, spool: Spool) -> None:
    async with HostileGitServer(Attack.DEEP_REF, tmp_path / "served") as server:
        fetched = await attacked(server, spool)
    assert dict(fetched.tree) == {"manifests/a.yaml": b"a: b\n"}
    assert left_in(tmp_path, spool) == []


@pytest.mark.parametrize("attack", [Attack.HUGE_PACK, Attack.HUGE_FILE])
async def test_endless_pack_is_cut_at_the_limit(attack: Attack, tmp_path: Path, spool: Spool) -> None:
    error, server = await refused(attack, tmp_path, spool, LimitError, SMALL)
    assert "sends exceeds the limit of 4 MiB (RUKPAK_LIMIT_GIT_BYTES sets it)" in str(error)
    assert server.bytes_sent < 64 * MIB


async def test_no_file_is_larger_than_the_kernel_allows(
    tmp_path: Path, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit holds even when the watch comes too late: here only at the end."""
    looked: list[int] = []

    def late(workspace: Workspace, *, at_most: int) -> bool:
        looked[:] = (path.stat().st_size for path in workspace.directory.rglob("tmp_pack_*"))
        return max(looked, default=0) <= at_most

    monkeypatch.setattr(Workspace, "measure", late)
    monkeypatch.setattr("rukpak_py.sources.git.command._paced", lambda *_: lambda: None)
    error, _ = await refused(Attack.HUGE_PACK, tmp_path, spool, LimitError, SMALL)
    assert "exceeds the limit of 4 MiB" in str(error)
    assert 4 * MIB < max(looked) <= 5 * MIB


async def test_the_spool_of_all_sources_has_no_room_for_it(tmp_path: Path) -> None:
    limits = replace(DEFAULT_LIMITS, spool_bytes=2 * MIB)
    (tmp_path / "spool").mkdir()
    spool = Spool(limits, tmp_path / "spool")
    error, _ = await refused(Attack.HUGE_PACK, tmp_path, spool, UnavailableError, limits)
    assert "more than 2 MiB of content arrive at a time (RUKPAK_LIMIT_SPOOL_BYTES sets it)" in str(error)


async def test_branches_without_end_end_with_the_memory_of_git(tmp_path: Path, spool: Spool) -> None:
    limits = replace(DEFAULT_LIMITS, git_memory_bytes=48 * MIB)
    error, server = await refused(Attack.ENDLESS_REFS, tmp_path, spool, ContentError, limits)
    assert "the repository has objects that need too much memory - Out of memory" in str(error)
    assert server.bytes_sent < 64 * MIB


async def test_deltas_end_with_the_processor_time_of_git(tmp_path: Path, spool: Spool) -> None:
    limits = replace(DEFAULT_LIMITS, git_processor_seconds=1)
    error, _ = await refused(Attack.DELTAS, tmp_path, spool, LimitError, limits)
    assert str(error) == (
        "the number of seconds of processor time that git needs for the repository exceeds the limit of 1 "
        "(RUKPAK_LIMIT_GIT_PROCESSOR_SECONDS sets it)"
    )


async def test_endless_messages_are_cut_at_the_limit(tmp_path: Path, spool: Spool) -> None:
    error, _ = await refused(Attack.ENDLESS_PROGRESS, tmp_path, spool, ContentError)
    assert str(error) == "the server sent more than 2000000 bytes of messages"


async def test_names_that_leave_their_directory(tmp_path: Path, spool: Spool) -> None:
    error, _ = await refused(Attack.HOSTILE_NAMES, tmp_path, spool, ContentError)
    assert "invalid repository - " in str(error)


async def test_one_byte_now_and_then(tmp_path: Path, spool: Spool) -> None:
    limits = replace(DEFAULT_LIMITS, git_seconds=1)
    error, _ = await refused(Attack.DRIP, tmp_path, spool, UnavailableError, limits)
    assert "not done within 1 seconds (RUKPAK_LIMIT_GIT_SECONDS sets it)" in str(error)


async def test_a_redirect_to_a_url_that_is_too_long(tmp_path: Path, spool: Spool) -> None:
    error, _ = await refused(Attack.LARGE_REDIRECT, tmp_path, spool, ContentError)
    assert "redirected, but not said where" in str(error)


async def test_a_fetch_that_is_cancelled_while_it_is_attacked(tmp_path: Path, spool: Spool) -> None:
    async with HostileGitServer(Attack.DRIP, tmp_path / "served") as server:
        fetch = asyncio.create_task(attacked(server, spool))
        await until(lambda: server.requests)
        fetch.cancel()
        await asyncio.wait([fetch])
    assert fetch.cancelled()
    assert left_in(tmp_path, spool) == []


def test_a_secret_does_not_survive_in_halves_where_a_text_is_cut() -> None:
    secret = "canary-0123456789"
    for before in range(SAID_CHARACTERS // 2 - 200, SAID_CHARACTERS // 2 + 200):
        text = "x" * before + secret + "y" * SAID_CHARACTERS
        error = git_error(text.encode(), lambda said: said.replace(secret, "***"))
        assert "canary" not in str(error)
        assert "456789" not in str(error)

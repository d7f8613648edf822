"""A fetch leaves nothing behind, however it ends. And what it may cost."""

import asyncio
import errno
import gc
import os
import subprocess
import sys
import time
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest
from aiohttp import web

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.git import command
from rukpak_py.sources.git.workspace import Workspace
from rukpak_py.sources.spool import Spool
from tests import workers
from tests.git_fetching import NAME, fetched_from, fetcher, git_source, request
from tests.git_repositories import Link, Repository
from tests.git_web_server import GitWebServer
from tests.waiting import until

REFS = b"001e# service=git-upload-pack\n0000000eversion 2\n000cls-refs\n000afetch\n0000"
KIND = "application/x-git-upload-pack-advertisement"
SECONDS = 20.0


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    monkeypatch.setattr(workers, "SPOOL", Spool(DEFAULT_LIMITS))
    return directory


async def nothing_left(temporary: Path) -> None:
    """Processes that were killed may need a moment to be gone."""
    await until(lambda: not left_in(temporary))


def left_in(temporary: Path) -> list[str]:
    """All that is left but the directory of the spool itself, which stays for the next fetch."""
    used = workers.SPOOL.used
    return [*map(str, temporary.glob("*/*")), *processes(temporary), *([f"{used} bytes of the spool"] if used else [])]


def modes(temporary: Path) -> list[int]:
    return [path.stat().st_mode & 0o777 for path in (*temporary.iterdir(), *temporary.glob("*/*"))]


def packs(temporary: Path) -> list[Path]:
    return list(temporary.glob("*/*/repository/objects/pack/*.pack"))


def processes(temporary: Path) -> list[str]:
    """The processes that have the private directory in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(temporary) in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


async def hang(_: web.Request) -> None:
    await asyncio.sleep(SECONDS * 3)


async def started(web_server: GitWebServer) -> None:
    await until(lambda: web_server.requests)


async def test_successful_fetch_leaves_nothing(
    git_repository: Repository, git_web: GitWebServer, temporary: Path
) -> None:
    git_repository.commit({"f": b""})
    await fetched_from(git_web)
    await nothing_left(temporary)


async def test_failed_fetch_leaves_nothing(git_repository: Repository, git_web: GitWebServer, temporary: Path) -> None:
    git_repository.commit({"l": Link("/etc/passwd")})
    with pytest.raises(ContentError):
        await fetched_from(git_web)
    with pytest.raises(UnavailableError):
        await fetched_from(git_web, branch="no")
    await nothing_left(temporary)


async def test_a_fetch_that_is_cancelled(git_web: GitWebServer, temporary: Path) -> None:
    said: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context["message"]))
    git_web.answer = hang
    fetch = asyncio.create_task(fetched_from(git_web))
    await started(git_web)
    assert modes(temporary) == [0o700, 0o700]
    assert any("remote-https" in one for one in processes(temporary))
    before = time.monotonic()
    fetch.cancel()
    await asyncio.wait([fetch])
    assert fetch.cancelled()
    assert time.monotonic() - before < SECONDS
    await nothing_left(temporary)
    del fetch
    gc.collect()  # an exception that was not retrieved is told when it goes
    assert said == []


async def test_a_server_that_never_answers(git_web: GitWebServer, temporary: Path) -> None:
    git_web.answer = hang
    with pytest.raises(UnavailableError) as error:
        await fetched_from(git_web, limits=replace(DEFAULT_LIMITS, git_seconds=1))
    assert str(error.value) == (
        f"bundle unpack git clone error: {git_web.url(NAME)}: not done within 1 seconds "
        "(RUKPAK_LIMIT_GIT_SECONDS sets it)"
    )
    await nothing_left(temporary)


async def test_the_loop_stays_free_while_servers_hang(git_repository: Repository, git_web: GitWebServer) -> None:
    """More servers hang than the loop itself has threads."""
    git_repository.commit({"f": b"1"})

    async def hang_for_most(asked: web.Request) -> None:
        if not asked.path.startswith(f"/{NAME}/"):
            await hang(asked)

    git_web.answer = hang_for_most
    source = fetcher()
    hanging = [
        asyncio.create_task(
            source.fetch(request(git_source(git_web.url(f"hangs/{n}"), ca_bundle=git_web.ca_bundle, branch="main")))
        )
        for n in range(12)
    ]
    await started(git_web)
    good = git_source(git_web.url(NAME), ca_bundle=git_web.ca_bundle, branch="main")
    async with asyncio.timeout(SECONDS):
        assert dict((await source.fetch(request(good))).tree) == {"f": b"1"}
    for one in hanging:
        one.cancel()
    assert all(
        isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*hanging, return_exceptions=True)
    )


async def test_content_is_read_only_after_its_turn(
    git_repository: Repository, git_web: GitWebServer, temporary: Path
) -> None:
    """Fetched already, on disk; and a fetch that is cancelled while it waits leaves nothing."""
    git_repository.commit({"f": b"1"})
    arrived = asyncio.Event()

    async def wait() -> None:
        arrived.set()
        await asyncio.Event().wait()

    source = git_source(git_web.url(NAME), ca_bundle=git_web.ca_bundle, branch="main")
    fetch = asyncio.create_task(fetcher().fetch(request(source, content_arrives=wait)))
    async with asyncio.timeout(SECONDS):
        await arrived.wait()
    assert packs(temporary)
    await until(lambda: not processes(temporary))  # what was killed may need a moment
    fetch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetch
    await nothing_left(temporary)


async def test_c10_a_pack_that_is_too_large(git_repository: Repository, git_web: GitWebServer, temporary: Path) -> None:
    git_repository.commit({"f": os.urandom(2_000_000)})
    with pytest.raises(ContentError) as error:
        await fetched_from(git_web, limits=replace(DEFAULT_LIMITS, git_bytes=1_000_000))
    assert str(error.value) == (
        f"what {git_web.url(NAME)} sends exceeds the limit of 1000000 bytes (RUKPAK_LIMIT_GIT_BYTES sets it)"
    )
    await nothing_left(temporary)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1_000_000, r"sends exceeds the limit of 4 MiB"),
        (2**31 - 1, r"the repository has objects that need too much memory"),
    ],
)
async def test_c10_a_pack_without_end(
    git_repository: Repository, git_web: GitWebServer, temporary: Path, count: int, text: str
) -> None:
    commit = git_repository.commit({"f": b""})
    largest = 0

    async def endless(asked: web.Request) -> web.StreamResponse | None:
        nonlocal largest
        body = await asked.read()
        if asked.method == "GET" or b"command=ls-refs" in body:
            return None
        response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result"})
        await response.prepare(asked)
        await response.write(line(b"shallow-info\n") + line(b"shallow " + commit.encode()) + b"0001")
        await response.write(line(b"packfile\n") + line(b"\x01PACK\0\0\0\x02" + count.to_bytes(4, "big")))
        piece = line(b"\x01" + one_object() * 500)
        while True:
            try:
                await response.write(piece)
            except ConnectionError:  # git went
                return response
            largest = max(largest, await asyncio.to_thread(size_of, temporary))

    git_web.answer = endless
    with pytest.raises(ContentError, match=text):
        await fetched_from(git_web, limits=replace(DEFAULT_LIMITS, git_bytes=4 << 20))
    await nothing_left(temporary)
    assert largest < 64 << 20


async def test_c10_refs_without_end(git_web: GitWebServer, temporary: Path) -> None:
    """Git has them in memory, which is bounded."""

    async def endless(asked: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": KIND})
        await response.prepare(asked)
        with suppress(ConnectionError):  # git went
            await response.write(REFS[:-4])
            while True:
                await response.write(line(b"x" * 60_000 + b"\n") * 10)
                await asyncio.sleep(0)  # writing alone may never wait, and the fetch ends on the same loop
        return response

    git_web.answer = endless
    with pytest.raises(ContentError, match="objects that need too much memory - attempting to allocate"):
        await fetched_from(git_web)
    await nothing_left(temporary)


async def test_c10_a_file_that_inflates(git_repository: Repository, git_web: GitWebServer, temporary: Path) -> None:
    """A thousandfold; refused by its size, before it is read."""
    git_repository.commit({"f": bytes(200_000_000)})
    before = getrusage(RUSAGE_SELF).ru_maxrss
    with pytest.raises(ContentError, match=r"the size of file 'f' exceeds the limit of 32 MiB"):
        await fetched_from(git_web)
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
    await nothing_left(temporary)


def line(content: bytes) -> bytes:
    return b"%04x" % (len(content) + 4) + content


def one_object() -> bytes:
    """A blob of ten random bytes, as it stands in a pack."""
    return bytes([3 << 4 | 10]) + zlib.compress(os.urandom(10))


def size_of(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*.*") if path.is_file())


async def test_c10_messages_without_end(git_repository: Repository, git_web: GitWebServer, temporary: Path) -> None:
    git_repository.commit({"f": b""})

    async def shout(asked: web.Request) -> web.StreamResponse | None:
        body = await asked.read()
        if asked.method == "GET" or b"command=ls-refs" in body:
            return None
        response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result"})
        await response.prepare(asked)
        await response.write(line(b"packfile\n"))
        try:
            while True:
                await response.write(line(b"\x02" + b"noise " * 5000 + b"\n"))
                await asyncio.sleep(0)
        except ConnectionError:  # git went
            return response

    git_web.answer = shout
    with pytest.raises(ContentError, match="the server sent more than 2000000 bytes of messages"):
        await fetched_from(git_web)
    await nothing_left(temporary)


@pytest.mark.parametrize("answer", [b"", b"PACK", REFS[:40], b"ffff" * 100])
async def test_c10_answers_that_are_no_git(git_web: GitWebServer, temporary: Path, answer: bytes) -> None:
    async def nonsense(_: web.Request) -> web.Response:
        return web.Response(body=answer, content_type=KIND)

    git_web.answer = nonsense
    with pytest.raises((ContentError, UnavailableError)):
        await fetched_from(git_web)
    await nothing_left(temporary)


async def test_a_connection_that_breaks(git_repository: Repository, git_web: GitWebServer, temporary: Path) -> None:
    git_repository.commit({"f": os.urandom(1000)})

    async def cut(asked: web.Request) -> web.Response | None:
        if asked.method == "GET" or b"command=ls-refs" in await asked.read():
            return None
        return web.Response(
            body=line(b"packfile\n") + line(b"\x01PACK\0\0\0\x02\0\0\0\x03"),
            headers={"Content-Type": "application/x-git-upload-pack-result"},
        )

    git_web.answer = cut
    with pytest.raises(UnavailableError, match="the fetch failed - "):
        await fetched_from(git_web)
    await nothing_left(temporary)


async def test_no_space_for_a_private_directory(
    git_web: GitWebServer, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(UnavailableError, match="content cannot be kept in a temporary file: No space left on device"):
        await fetched_from(git_web)
    await nothing_left(temporary)


async def test_git_ends_by_itself_when_the_operator_is_gone(
    git_web: GitWebServer, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator was ended by SIGKILL, while the server holds the connection."""
    git_web.answer = hang
    monkeypatch.setattr(command, "_GRACE_SECONDS", -117.0)  # of 120
    monkeypatch.setattr(command, "_kill", lambda _: None)
    with pytest.raises(UnavailableError):
        await fetched_from(git_web)
    await until(lambda: not processes(temporary), seconds=SECONDS)  # before the server answers


def test_c20_a_link_in_the_private_directory_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    used = Workspace(Spool(DEFAULT_LIMITS, temporary))
    (used.directory / "link").symlink_to(tmp_path)
    used.close()
    assert (tmp_path / "precious").exists()
    assert list(temporary.glob("*/*")) == []


AS_PROCESS_1 = """
import ctypes, os, sys
from pathlib import Path
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.git.command import Commands

assert ctypes.CDLL(None).prctl(36, 1) == 0, "PR_SET_CHILD_SUBREAPER"
commands = Commands(Path(sys.argv[1]), dict(os.environ), limits=DEFAULT_LIMITS)
with commands.started("-c", "alias.x=!echo begun; sleep 50 & sleep 60", "x") as process:
    print(process.stdout.readline())
try:
    print("left", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("nothing is left")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to another process than the first one")
def test_process_1_of_a_container_has_no_zombies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", AS_PROCESS_1, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.splitlines() == ["b'begun\\n'", "nothing is left"]

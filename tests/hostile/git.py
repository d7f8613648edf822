"""A git server, or what pretends to be one, that attacks its clients.

It serves over plain http on a loopback address. `source` is what a Bundle has to name: some attacks work on a branch,
others on the first digits of a commit. `requests` counts what was asked.
"""

import asyncio
import os
import struct
import subprocess
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from enum import Enum
from hashlib import sha1
from pathlib import Path
from typing import Self

from aiohttp import web

from tests.git_repositories import ENVIRONMENT, Repository
from tests.git_web_server import GitWebServer, git_web_server

NAME = "hostile.git"
REFS_TYPE = "application/x-git-upload-pack-advertisement"
RESULT_TYPE = "application/x-git-upload-pack-result"
SERVICE = b"001e# service=git-upload-pack\n0000"
FLUSH, DELIMITER = b"0000", b"0001"
OFFERS = (b"version 2\n", b"ls-refs=unborn\n", b"fetch=shallow filter\n", b"object-format=sha1\n")
PIECE = 64 * 1024
MANY_REFS = 200_000
DEEP_REF = 1500  # directories
DELTAS = 2000
DELTA_BASE = 16 << 20  # bytes, of which each delta makes the same again
DRIP_SECONDS = 20.0
BLOB, OFS_DELTA = 3, 6


def line(content: bytes) -> bytes:
    """As git's protocol frames it."""
    return b"%04x" % (len(content) + 4) + content


CAPABILITIES = SERVICE + b"".join(map(line, OFFERS)) + FLUSH


class Attack(Enum):
    REPEATED_ERROR = "repeated-error"
    """500 with 300 kB of text that a pattern for "repository … not found" begins to match again and again."""
    LARGE_REPEATED_ERROR = "large-repeated-error"
    """The same with 1.9 MB: just below the bound for messages."""
    PLAIN_FILES = "plain-files"
    """A static web server with a repository whose packs are gone. git asks for what it lacks, and calls itself."""
    PROMISED_OBJECTS = "promised-objects"
    """A smart server whose pack has none of the objects that it lists, for a fetch that may leave objects out."""
    ENDLESS_PROGRESS = "endless-progress"
    """Messages without end beside the pack."""
    ENDLESS_REFS = "endless-refs"
    """A list of branches without end, which git has in memory."""
    MANY_REFS = "many-refs"
    """200,000 branches of one commit, each of which git writes into a file of its own."""
    DEEP_REF = "deep-ref"
    """A branch whose name is 1,500 directories deep."""
    HUGE_PACK = "huge-pack"
    """A pack of random bytes without end."""
    HUGE_FILE = "huge-file"
    """A pack with one object that claims 1 TiB, and goes on as long as the client listens."""
    DELTAS = "deltas"
    """A pack of kilobytes whose deltas make 32 GB: git has to hash all of it."""
    HOSTILE_NAMES = "hostile-names"
    """A tree with the names "..", ".git" and "a/b"."""
    DRIP = "drip"
    """One byte of the list of branches every 20 seconds."""
    BROKEN_REDIRECT = "broken-redirect"
    """A redirect to a URL that cannot be read."""
    LARGE_REDIRECT = "large-redirect"
    """A redirect to a URL of 60 kB, in one of many headers."""


@dataclass(frozen=True, kw_only=True)
class HostileSource:
    """Source of a Bundle: the URL, and a branch or a commit."""

    url: str
    branch: str = ""
    commit: str = ""


class HostileGitServer:
    """In an `async with`, or by `start` and `stop`. `directory` is for the repository behind it.

    `refs`: how many there are for `MANY_REFS`.
    """

    def __init__(self, attack: Attack, directory: Path, *, refs: int = MANY_REFS) -> None:
        self.attack = attack
        self.requests = 0
        self.bytes_sent = 0
        self._directory = directory
        self._count = refs
        self._stack = AsyncExitStack()
        self._server: GitWebServer | None = None
        self._commit = ""

    async def start(self) -> Self:
        repository = Repository.create(self._directory / NAME)
        self._commit = await asyncio.to_thread(self._prepare, repository)
        self._server = await self._stack.enter_async_context(git_web_server(self._directory, scheme="http"))
        self._server.answer = self._answer
        return self

    async def stop(self) -> None:
        await self._stack.aclose()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def source(self) -> HostileSource:
        if self._server is None:
            raise RuntimeError("start it first")
        url = self._server.url(NAME)
        if self.attack in _BY_COMMIT:
            return HostileSource(url=url, commit=self._commit[:7])
        return HostileSource(url=url, branch="main")

    def _prepare(self, repository: Repository) -> str:
        if self.attack is Attack.HOSTILE_NAMES:
            blob = repository.blob(b"x")
            tree = repository.git("mktree", stdin=f"100644 blob {blob}\tf\n".encode())
            return repository.hostile_commit(f"040000 tree {tree}\t..\n040000 tree {tree}\t.git\n")
        commit = repository.commit({"manifests/a.yaml": b"a: b\n"})
        if self.attack is Attack.PLAIN_FILES:
            repository.git("repack", "-adq")
            repository.git("update-server-info")
            for pack in (repository.path / "objects" / "pack").glob("*.pack"):
                pack.unlink()
        return commit

    async def _answer(self, request: web.Request) -> web.StreamResponse | None:
        self.requests += 1
        match self.attack:
            case Attack.REPEATED_ERROR:
                return _error(300_000)
            case Attack.LARGE_REPEATED_ERROR:
                return _error(1_900_000)
            case Attack.PLAIN_FILES:
                return _file(self._directory, request.path)
            case Attack.BROKEN_REDIRECT:
                return web.Response(status=302, headers={"Location": "http://[::1/hostile.git/info/refs"})
            case Attack.LARGE_REDIRECT:
                headers = {f"X-{number}": "location: " * 500 for number in range(10)}
                return web.Response(status=302, headers=headers | {"Location": f"http://{'a' * 60_000}/info/refs"})
            case Attack.DRIP:
                return await self._send(request, REFS_TYPE, _dripping())
            case Attack.HOSTILE_NAMES:
                return None
            case _:
                return await self._smart(request)

    async def _smart(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            return web.Response(body=CAPABILITIES, content_type=REFS_TYPE)
        body = await request.read()
        if b"command=ls-refs" in body:
            return await self._send(request, RESULT_TYPE, _of(self._refs()))
        return await self._send(request, RESULT_TYPE, _of(self._pack()))

    def _refs(self) -> Iterator[bytes]:
        commit = self._commit.encode()
        match self.attack:
            case Attack.MANY_REFS:
                yield from _batched(line(b"%s refs/heads/b%d\n" % (commit, number)) for number in range(self._count))
            case Attack.ENDLESS_REFS:
                yield from _batched(line(b"%s refs/heads/b%d\n" % (commit, number)) for number in range(1 << 40))
            case Attack.DEEP_REF:
                yield line(b"%s refs/heads/%s\n" % (commit, b"/".join([b"d"] * DEEP_REF)))
        yield line(b"%s HEAD symref-target:refs/heads/main\n" % commit) + line(b"%s refs/heads/main\n" % commit) + FLUSH

    def _pack(self) -> Iterator[bytes]:
        if self.attack not in _BY_COMMIT:  # a fetch of the newest commit alone
            yield line(b"shallow-info\n") + line(b"shallow " + self._commit.encode()) + DELIMITER
        yield line(b"packfile\n")
        match self.attack:
            case Attack.ENDLESS_PROGRESS:
                while True:
                    yield line(b"\x02" + b"repository " * 5000 + b"\n")
            case Attack.HUGE_PACK:
                yield band(pack_head(1 << 20))
                while True:
                    yield band(pack_object(BLOB, os.urandom(60_000)))
            case Attack.HUGE_FILE:
                yield band(pack_head(1) + object_head(BLOB, 1 << 40))
                deflate = zlib.compressobj(0)
                while True:
                    yield from map(band, pieces(deflate.compress(os.urandom(60_000))))
            case Attack.DELTAS:
                yield from map(band, pieces(delta_pack()))
            case Attack.PROMISED_OBJECTS:
                yield from map(band, pieces(whole_pack([pack_object(BLOB, b"not what was promised")])))
            case _:
                yield from map(band, pieces(real_pack(self._directory / NAME, self._commit)))
        yield FLUSH

    async def _send(self, request: web.Request, kind: str, content: AsyncIterator[bytes]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        with suppress(ConnectionError):  # the victim went
            async for piece in content:
                await response.write(piece)
                self.bytes_sent += len(piece)
                await asyncio.sleep(0)  # writing alone may never wait
        return response


_BY_COMMIT = {Attack.PLAIN_FILES, Attack.PROMISED_OBJECTS, Attack.ENDLESS_REFS, Attack.MANY_REFS, Attack.DEEP_REF}


def band(content: bytes) -> bytes:
    """A part of a pack, beside which there are messages."""
    return line(b"\x01" + content)


def pieces(content: bytes, size: int = 60_000) -> Iterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


def pack_head(count: int) -> bytes:
    return b"PACK" + struct.pack(">II", 2, count)


def whole_pack(objects: list[bytes]) -> bytes:
    content = pack_head(len(objects)) + b"".join(objects)
    return content + sha1(content, usedforsecurity=False).digest()


def object_head(kind: int, size: int) -> bytes:
    head = bytearray([kind << 4 | size & 0xF])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)


def pack_object(kind: int, content: bytes) -> bytes:
    return object_head(kind, len(content)) + zlib.compress(content)


def delta_pack() -> bytes:
    """One large object of zeros, and deltas that copy it with another last bytes each."""
    base = pack_object(BLOB, bytes(DELTA_BASE))
    content = bytearray(pack_head(1 + DELTAS) + base)
    for number in range(DELTAS):
        size = DELTA_BASE + 4
        copies = b"".join(copy(at, min(0xFFFFFF, DELTA_BASE - at)) for at in range(0, DELTA_BASE, 0xFFFFFF))
        delta = varint(DELTA_BASE) + varint(size) + copies + b"\x04" + struct.pack(">I", number)
        distance = len(content) - len(pack_head(0))
        content += object_head(OFS_DELTA, len(delta)) + offset(distance) + zlib.compress(delta)
    return bytes(content) + sha1(content, usedforsecurity=False).digest()


def copy(at: int, size: int) -> bytes:
    return b"\xff" + struct.pack("<I", at) + struct.pack("<I", size)[:3]


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(found) + bytes([number])


def offset(number: int) -> bytes:
    """How far before itself an object's base is."""
    found = bytearray([number & 0x7F])
    while number := number >> 7:
        number -= 1
        found.insert(0, number & 0x7F | 0x80)
    return bytes(found)


def _error(size: int) -> web.Response:
    return web.Response(status=500, text=("repository " * (size // 11 + 1))[:size], content_type="text/plain")


def _file(directory: Path, path: str) -> web.Response:
    file = directory / path.lstrip("/")
    if not file.is_file():
        return web.Response(status=404)
    return web.Response(body=file.read_bytes(), content_type="application/octet-stream")


def real_pack(repository: Path, commit: str) -> bytes:
    command = ["git", "pack-objects", "--revs", "--stdout", "-q"]
    ran = subprocess.run(
        command, cwd=repository, input=commit.encode(), env=ENVIRONMENT, capture_output=True, check=True
    )
    return ran.stdout


def _batched(lines: Iterator[bytes]) -> Iterator[bytes]:
    batch = bytearray()
    for one in lines:
        batch += one
        if len(batch) > PIECE:
            yield bytes(batch)
            batch.clear()
    yield bytes(batch)


async def _of(content: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


async def _dripping() -> AsyncIterator[bytes]:
    for one in CAPABILITIES:
        yield bytes([one])
        await asyncio.sleep(DRIP_SECONDS)

"""The files of a catalog read in several processes, and what was read of each kept in a cache by its content.

Workers are forked, so that they find the files where this process has them, and give back bytes. A file that was read
before is not parsed again: its cache entry is named by the digest of its bytes, of the way it was read, and of the
version of the program.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import msgspec

from rukpak_py.catalog.checks.blob_checks import Checks
from rukpak_py.catalog.read_file import FileContent, read_file
from rukpak_py.cli.catalogs.cache import Cache, cache_key
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import Limits

_WORTH_PROCESSES = 512 * 1024  # bytes; a process costs as much as parsing a part of that
_decode = msgspec.msgpack.Decoder(FileContent).decode


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read. `is_slim`: without what only a rendering needs."""

    limits: Limits
    is_slim: bool = False
    checks: Checks = Checks.VALIDITY
    cache: Cache | None = None
    jobs: int | None = None

    def contents(self, files: Mapping[str, bytes], sizes: Mapping[str, int]) -> Iterator[tuple[str, FileContent]]:
        """Read each file, in their order. `sizes` are those of the files, known before they are read."""
        for file, content in mapped(files, sizes, self.encoded, jobs=self.jobs):
            yield file, self.decoded(content, file, files)

    def decoded(self, content: bytes, file: str, files: Mapping[str, bytes]) -> FileContent:
        """The result; the file is read again where its cache entry is of another program."""
        try:
            return _decode(content)
        except msgspec.MsgspecError:
            return _decode(replace(self, cache=None).encoded(file, files[file]))

    def encoded(self, file: str, data: bytes) -> bytes:
        key = cache_key(["read", self.is_slim, self.checks, self.limits], file, data) if self.cache else ""
        if self.cache and (kept := self.cache.get(key)) is not None:
            return kept
        found = read_file(file, data, is_slim=self.is_slim, checks=self.checks, limits=self.limits)
        content = msgspec.msgpack.encode(found)
        if self.cache:
            self.cache.put(key, content)
        return content


Work = Callable[[str, bytes], bytes]


def mapped(
    files: Mapping[str, bytes], sizes: Mapping[str, int], work: Work, *, jobs: int | None = None
) -> Iterator[tuple[str, bytes]]:
    """The result for each file, in their order; in several processes where that is worth it."""
    jobs = min(jobs or os.cpu_count() or 1, len(files))
    if jobs <= 1 or sum(sizes.values()) < _WORTH_PROCESSES or sys.platform != "linux":
        for file in files:
            yield file, work(file, files[file])
    else:
        yield from _in_processes(files, sizes, work, jobs)


def _in_processes(
    files: Mapping[str, bytes], sizes: Mapping[str, int], work: Work, jobs: int
) -> Iterator[tuple[str, bytes]]:
    import multiprocessing  # noqa: PLC0415 - small catalogs do not need it
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - small catalogs do not need it
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - small catalogs do not need it

    _Inherited.files, _Inherited.work = files, work
    context = multiprocessing.get_context("fork")
    executor = ProcessPoolExecutor(jobs, mp_context=context)
    try:
        with _without_interrupts():
            # Large files first: the last ones to end are small. Results wait for those of earlier paths.
            by_size = sorted(files, key=sizes.__getitem__, reverse=True)
            waiting = {file: executor.submit(_of_file, file) for file in by_size}
        for file in files:
            yield file, waiting.pop(file).result()
    except BrokenProcessPool as error:
        raise UnavailableError(
            "a process that read files of the catalog died, possibly because it ran out of memory: "
            "`--jobs 1` needs the least"
        ) from error
    except KeyboardInterrupt:
        for worker in multiprocessing.active_children():  # a large file takes long
            worker.terminate()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        _Inherited.files, _Inherited.work = {}, None


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start workers that get no Ctrl-C, which a terminal sends to all of them, and that are all known when it comes."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


class _Inherited:
    """Arguments of forked workers, in their copy of the memory of this process."""

    files: Mapping[str, bytes] = {}
    work: Work | None = None


def _of_file(file: str) -> bytes:
    assert _Inherited.work is not None  # noqa: S101 - set before the fork
    return _Inherited.work(file, _Inherited.files[file])

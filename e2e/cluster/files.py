"""Files that appear whole or not at all, readable by their owner only."""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


def write_private(path: Path, content: bytes | str) -> None:
    content = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.rename(path)
    except BaseException:  # whatever ends it, no temporary file stays
        temporary.unlink(missing_ok=True)
        raise


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another command that works in {path.parent} ...", flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock; who comes second waits. The file may be removed while the lock is held."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor, path)
            # The holder before us may have removed the file: then this lock guards nothing.
            if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
                yield
                return
        finally:
            os.close(descriptor)

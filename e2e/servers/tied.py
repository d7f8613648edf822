"""Servers that end with the process that started them, however that ended."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from typing import TYPE_CHECKING

from e2e.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

PATIENCE_SECONDS = 30


def tied_to_caller(command: Sequence[str]) -> list[str]:
    """To the thread that starts it, where the machine can do that."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *command] if setpriv else list(command)


@contextlib.contextmanager
def serving(
    command: Sequence[str], *, log: Path, answers: Callable[[], bool], env: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Answering from the first statement of the block on; killed at its end."""

    def is_answering() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended: {log.read_text(encoding='utf-8', errors='replace')}")
        return answers()

    with (
        log.open("wb") as output,
        subprocess.Popen(
            tied_to_caller(command), env=env, stdout=output, stderr=output, start_new_session=True
        ) as process,
    ):
        try:
            eventually(is_answering, what=f"{command[0]} answers; its log is {log}", seconds=PATIENCE_SECONDS)
            yield
        finally:
            process.kill()

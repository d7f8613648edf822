"""Waiting for a condition with a deadline, never for a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
INTERVAL_SECONDS = 0.1


def eventually(look: Callable[[], T | None], *, what: str, seconds: float = 60) -> T:
    """The first answer that is neither None nor False."""
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer is not None and answer is not False:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s; the last answer was {answer!r}")
        time.sleep(INTERVAL_SECONDS)

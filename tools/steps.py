"""Named steps with their durations: printed as they end, and again as a table when asked for."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, kw_only=True)
class Steps:
    finished: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        print(f"==> {name}", flush=True)
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        self.finished.append((name, seconds))
        print(f"    {seconds:.1f} s", flush=True)

    def table(self) -> str:
        return "\n".join(f"{seconds:8.1f} s  {name}" for name, seconds in self.finished)

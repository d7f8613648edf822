"""Progress for people: each step when it begins, and how long it took."""

import contextlib
import time
from collections.abc import Iterator


@contextlib.contextmanager
def step(title: str) -> Iterator[None]:
    print(f"{title} ...", flush=True)
    started = time.monotonic()
    yield
    print(f"{title}: done, {time.monotonic() - started:.1f} s", flush=True)

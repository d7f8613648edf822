"""How much Python a call runs, in steps: a measure that neither the machine nor its load changes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps_of(call: Callable[[], object]) -> int:
    """Lines, calls and returns, of generators, too; what C code does in one of them does not count."""
    steps = 0

    def count(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps

"""Processes that end with whoever started them, however that ended."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def tied_to_caller(command: Sequence[str]) -> list[str]:
    """To the thread that starts it, where the machine can do that."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *command] if setpriv else list(command)

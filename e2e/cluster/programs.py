"""Programs of the machine that are run for what they print."""

import subprocess
from collections.abc import Sequence

from e2e.cluster.errors import ClusterError


def output(command: Sequence[str], *, seconds: float | None = None) -> str:
    """Standard output of a command; when it fails, the error has its standard error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, errors="replace")
    except FileNotFoundError as error:
        raise ClusterError(f"{command[0]} is not on PATH") from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{' '.join(command)}: not done within {seconds:g} s") from error
    if done.returncode != 0:
        said = done.stderr.strip()[-1000:] or f"exit code {done.returncode}"
        raise ClusterError(f"{' '.join(command)}: {said}")
    return done.stdout

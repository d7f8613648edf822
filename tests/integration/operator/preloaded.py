"""Operators as processes that begin with the operator's modules loaded: two thirds of what a start costs are imports.

One process of the worker loads them and forks for each start. What runs in the fork is what `python -m` runs.
"""

import ctypes
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path

from tests.integration.operator import stacks

_PR_SET_PDEATHSIG = 1
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["rukpak_py.operator.main"])


class Preloaded:
    """The part of `subprocess.Popen` that tests of operators use."""

    def __init__(self, module: str, arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        given = (module, list(arguments), str(log), dict(environment))
        self._process = _CONTEXT.Process(target=_run, args=given)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(module: str, arguments: list[str], log: str, environment: dict[str, str]) -> None:
    os.setsid()
    if sys.platform == "linux":  # it dies with the process that forks, and that one with the worker
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The process that forks ends once no process has this pipe, and each fork gets it. It has no public name.
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()  # those of the process that forks
    os.environ.update(environment)
    tempfile.tempdir = None  # it is remembered
    sys.argv = [module, *arguments]
    stacks.write_at_signal()
    runpy.run_module(module, run_name="__main__", alter_sys=True)

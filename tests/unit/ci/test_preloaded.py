"""Operators that tests start leave nothing behind, however the worker that runs the tests ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.waiting import eventually
from tests.cluster import is_alive

_WORKER = """
import os
import sys
import time
from pathlib import Path
from tests.integration.operator.preloaded import Preloaded

started = Preloaded("timeit", ["-n1", "-r1", "-s", "import time", "time.sleep(60)"], Path(sys.argv[1]), os.environ)
print(started.pid, flush=True)
time.sleep(60)  # it is killed before
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process together with its parent")
def test_a_worker_that_is_killed_takes_its_operators_along(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WORKER, tmp_path / "log"], stdout=subprocess.PIPE, env=os.environ, text=True
    ) as worker:
        assert worker.stdout is not None
        operator = int(worker.stdout.readline())
        assert is_alive(operator)
        worker.send_signal(signal.SIGKILL)

    eventually(lambda: not is_alive(operator), what="the operator has ended", seconds=20)

"""The operator's entry point: settings, logs, the event loop, and an exit code that says how it ended."""

import asyncio
import gc
import logging
import os
import sys
import threading
from collections.abc import Sequence

from rukpak_py.core import logs
from rukpak_py.core.errors import RukPakError
from rukpak_py.operator.process import run
from rukpak_py.operator.settings import read_settings
from rukpak_py.runtime.limits import raise_open_files, return_large_buffers
from rukpak_py.runtime.loop import Loop
from rukpak_py.runtime.watchdog import WatchdogLimits

LOG = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None, *, limits: WatchdogLimits | None = None) -> None:
    """`limits`: how long the process bears what it cannot work with."""
    settings = read_settings(sys.argv[1:] if arguments is None else arguments)
    logs.set_up(settings.log_level, settings.log_format)
    return_large_buffers()
    raise_open_files(settings.limits)
    # What watches decode is kept: the default would walk all of it all the time. Much more than this many objects would
    # let garbage decide how much memory the process has.
    gc.set_threshold(20_000, 50, 100)
    try:
        with asyncio.Runner(loop_factory=Loop) as runner:
            runner.run(run(settings, stopping=_bound_the_stop, limits=limits))
    except RukPakError as error:
        LOG.error("%s", error)  # noqa: TRY400 - the text says what to do; a traceback would bury it
        sys.exit(1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(0)


def _bound_the_stop(seconds: float) -> None:
    """The process ends within this time, whatever hangs. A shorter time that is said later counts."""
    timer = threading.Timer(seconds, _end_at_once, args=(seconds,))
    timer.daemon = True
    timer.start()


def _end_at_once(seconds: float) -> None:
    LOG.error("the stop took longer than %.0f s: the process ends without it", seconds)
    os._exit(1)

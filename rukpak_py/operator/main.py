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
from rukpak_py.operator.event_loop import Loop
from rukpak_py.operator.process import run
from rukpak_py.operator.settings import read_settings

LOG = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> None:
    settings = read_settings(sys.argv[1:] if arguments is None else arguments)
    logs.set_up(settings.log_level, settings.log_format)
    gc.set_threshold(100_000, 50, 100)  # what watches decode is kept: the default would walk all of it all the time
    try:
        with asyncio.Runner(loop_factory=Loop) as runner:
            runner.run(run(settings, stopping=_bound_the_stop))
    except RukPakError as error:
        LOG.error("%s", error)  # noqa: TRY400 - the text says what to do; a traceback would bury it
        sys.exit(1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(0)


def _bound_the_stop(seconds: float) -> None:
    """The process ends within this time, whatever hangs."""
    timer = threading.Timer(seconds, os._exit, args=(1,))
    timer.daemon = True
    timer.start()

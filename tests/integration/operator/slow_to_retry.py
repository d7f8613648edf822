"""The operator, started as `python -m` of this module: what failed is tried again after ten minutes, or when woken."""

import sys

from rukpak_py.controllers import event_router
from rukpak_py.controllers.queue import BackOff, Queue
from rukpak_py.operator.main import main

PAUSE_SECONDS = 600.0


def queue(*, back_off: BackOff | None) -> Queue[str]:
    del back_off
    return Queue(back_off=BackOff(first=PAUSE_SECONDS, most=PAUSE_SECONDS))


if __name__ == "__main__":
    event_router.Queue = queue  # type: ignore[attr-defined,assignment] # what makes the queue of each kind
    main(sys.argv[1:])

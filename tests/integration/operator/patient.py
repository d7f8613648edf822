"""The operator, started as `python -m` of this module: it reports no wait, which on a busy machine may be any."""

import sys
from dataclasses import replace

from rukpak_py.controllers.deployment import reconcile, stage
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.table import TABLE
from rukpak_py.operator.main import main

SECONDS = 60.0

if __name__ == "__main__":
    stage.QUIET_SECONDS = SECONDS
    TABLE[Cause.UNPACKING] = replace(TABLE[Cause.UNPACKING], quiet=SECONDS)  # type: ignore[index] # it is a dict
    reconcile.QUIET_SECONDS = SECONDS  # type: ignore[attr-defined] # its own name for that of `stage`
    main(sys.argv[1:])

"""The operator, started as `python -m` of this module: it reports no wait, which on a busy machine may be any."""

import sys

from rukpak_py.controllers.bundle import reconcile as of_bundles
from rukpak_py.controllers.deployment import reconcile, stage
from rukpak_py.operator.main import main

SECONDS = 60.0

if __name__ == "__main__":
    of_bundles.UNPACKING_AFTER_SECONDS = stage.QUIET_SECONDS = SECONDS
    reconcile.QUIET_SECONDS = SECONDS  # type: ignore[attr-defined] # its own name for that of `stage`
    main(sys.argv[1:])

"""The operator, started as `python -m` of this module: what is unhealthy for four seconds counts as lasting."""

import sys
from dataclasses import replace

from rukpak_py.controllers.result.cause_table import TABLE
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.operator.main import main

if __name__ == "__main__":
    unhealthy = replace(TABLE[Cause.UNHEALTHY], later=(4.0, Cause.STILL_UNHEALTHY))
    TABLE[Cause.UNHEALTHY] = unhealthy  # type: ignore[index] # it is a dict
    main(sys.argv[1:])

"""The operator, started as `python -m` of this module: it waits two seconds for a schema that may lag."""

import sys
from dataclasses import replace

from rukpak_py.controllers.result.cause_table import TABLE
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.operator.main import main

if __name__ == "__main__":
    lags = replace(TABLE[Cause.SCHEMA_LAGS], later=(2.0, Cause.UNAVAILABLE))
    TABLE[Cause.SCHEMA_LAGS] = lags  # type: ignore[index] # it is a dict
    main(sys.argv[1:])

"""The operator, started as `python -m` of this module: it tells of no wait, which on a busy machine may be any."""

import sys
from dataclasses import replace

from rukpak_py.controllers.result.cause_table import TABLE, WAIT_QUIET_SECONDS, Kind
from rukpak_py.operator.main import main

SECONDS = 60.0

if __name__ == "__main__":
    for cause, row in TABLE.items():
        if row.kind is Kind.WAIT and row.quiet == WAIT_QUIET_SECONDS:
            TABLE[cause] = replace(row, quiet=SECONDS)  # type: ignore[index] # it is a dict
    main(sys.argv[1:])

"""The operator, started as `python -m` of this module: its lease ends six seconds after its last renewal."""

import sys
from functools import partial

from rukpak_py.kube import lease
from rukpak_py.operator.main import main

if __name__ == "__main__":
    brief = partial(lease.LeaseSettings, duration_seconds=6.0, renew_seconds=4.0, retry_seconds=0.5)
    lease.LeaseSettings = brief  # type: ignore[misc,assignment] # it is called without arguments
    main(sys.argv[1:])

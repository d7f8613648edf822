"""The operator, started as `python -m` of this module: the claim of another one that has ended lasts for seconds."""

import sys

from rukpak_py.operator import claim
from rukpak_py.operator.main import main

STALE_SECONDS = 5.0  # more than between two renewals

if __name__ == "__main__":
    claim.STALE_SECONDS = STALE_SECONDS
    main(sys.argv[1:])

"""The operator, started as `python -m` of this module: the claim of another one that has ended lasts for seconds."""

import sys

from rukpak_py.operator.main import main
from rukpak_py.runtime import cluster_claim

STALE_SECONDS = 5.0  # more than between two renewals

if __name__ == "__main__":
    cluster_claim.STALE_SECONDS = STALE_SECONDS
    main(sys.argv[1:])

"""The operator, started as `python -m` of this module: a chart that failed after lookups is rendered again soon."""

import sys

from rukpak_py.controllers.deployment import rendering_stage, state_parts
from rukpak_py.operator.main import main

if __name__ == "__main__":
    state_parts.LOOKED_UP_SECONDS = 1.0
    vars(rendering_stage)["LOOK_AGAIN_SECONDS"] = 2.0  # a name that it imports
    main(sys.argv[1:])

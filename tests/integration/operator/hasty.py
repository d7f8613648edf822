"""The operator, started as `python -m` of this module: it waits two seconds for a schema that may lag."""

import sys

from rukpak_py.controllers.deployment import applying
from rukpak_py.operator.main import main

if __name__ == "__main__":
    applying.SCHEMA_LAG_SECONDS = 2.0
    main(sys.argv[1:])

"""`rukpakctl`, started as `python -m` of this module, without the port-forward, which needs a kubelet.

The first argument is the port of the content server.
"""

import sys

from rukpak_py.cli import main
from rukpak_py.cli.cluster import session
from tests.unit.cli.content_servers import Direct

if __name__ == "__main__":
    port, *arguments = sys.argv[1:]
    setattr(session, "PortForward", lambda *_: Direct(port=int(port)))  # noqa: B010 - a name that it only imports
    sys.exit(main.run(["rukpakctl", *arguments]))

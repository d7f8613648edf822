"""A process that answers probes with few descriptors, for a test: `python -m tests.unit.server.probe_server`.

It prints its port.
"""

import asyncio
import resource
import sys

from rukpak_py.core.limits import Limits
from rukpak_py.runtime.loop import Loop
from rukpak_py.server.listener import Address, Listener
from rukpak_py.server.web import probe_app, probe_port

OPEN_FILES = 100
CONNECTIONS = 200  # more than there are descriptors


async def serve() -> None:
    app = probe_app(live={"loop": lambda: None}, ready={})
    limits = Limits(probe_connections=CONNECTIONS, request_seconds=600)
    listener = Listener(app, Address(host="127.0.0.1", port=0), probe_port(limits))
    await listener.start()
    sys.stdout.write(f"{listener.port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(serve())

"""A process that unpacks an image by a pod, for tests that kill it: it tells each step when it has come to it."""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.controllers.bundle.unpack_pods import UnpackPodWatch
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.sources.image.layout import host_platform
from rukpak_py.sources.image.pod import UnpackPods
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.source import Fetched, FetchRequest
from tests.source_secrets import logins
from tests.workers import SPOOL, WORKERS

ROOT = Path(__file__).resolve().parents[3]
PAUSE_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Work:
    kubeconfig: str
    namespace: str
    tool: str
    bundle: str
    uid: str
    ref: str

    async def start(self) -> asyncio.subprocess.Process:
        command = (sys.executable, "-m", "tests.integration.images.unpacking_process", json.dumps(asdict(self)))
        return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)

    async def run(self) -> None:
        spec = ImageSpec(ref=self.ref)
        request = FetchRequest(
            bundle=self.bundle,
            uid=self.uid,
            source=Source(type="image", image=spec),
            provisioner_class=PLAIN_CLASS,
            content_arrives=_reading,
        )
        async with Client(await load_connection(Path(self.kubeconfig))) as client:
            watch = UnpackPodWatch(client, self.namespace, on_change=lambda _: None)
            settings = PodSettings(tool_image=self.tool, platform=host_platform())
            pods = UnpackPods(watch, logins(), settings, limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL)
            while not isinstance(await pods.fetch(request, spec), Fetched):
                _tell("waiting")
                await asyncio.sleep(PAUSE_SECONDS)
            await watch.close()


async def _reading() -> None:
    _tell("reading")


def _tell(step: str) -> None:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(Work(**json.loads(sys.argv[1])).run())

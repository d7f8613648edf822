"""The operator as a process that a test may kill, with its metrics and its log.

Each start is a new process on the same ports with the same store, as a restarted container is. It dies with the test
process, however that ends.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from e2e.cluster.ports import free_ports
from rukpak_py.core.metrics import RequestLabels
from tests.integration.operator import stacks
from tests.integration.operator.preloaded import Preloaded
from tests.waiting import eventually

READY_SECONDS = 60.0
STACKS_SECONDS = 5.0  # one that is stopped writes nothing
STOP_SECONDS = 30.0
INTERVAL = 0.05
TRACES = ("Traceback", "this is a bug", "was never retrieved", "was never awaited")  # of bugs, in a log
ADDRESSES = ("health-probe", "metrics", "webhook")
CONTENT = "http"  # named by a variable, which an operator of an older release does not mind


class Operator:
    def __init__(
        self,
        *,
        kubeconfig: Path,
        folder: Path,
        arguments: Sequence[str] = (),
        webhook: bool = False,
        module: str = "rukpak_py",
        tree: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`webhook`: it has the API server call its webhooks; the test that asks for that deletes the configuration.

        `tree`: the folder with the code to run, when it is not this one.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.store = folder / "bundles"
        self.uploads = folder / "uploads"
        self.starts = 0
        self._log = folder / "operator.log"
        self._ports = free_ports([*ADDRESSES, CONTENT], "127.0.0.1")
        self._process: subprocess.Popen[bytes] | Preloaded | None = None
        self._module, self._tree = module, tree
        self._environment = {
            "RUKPAK_HTTP_BIND_ADDRESS": f"127.0.0.1:{self._ports[CONTENT]}",
            "RUKPAK_UPLOAD_STORAGE_DIR": str(self.uploads),
            **(environment or {}),
        }
        self._arguments = [
            f"--kubeconfig={kubeconfig}",
            f"--provisioner-storage-dir={self.store}",
            *(f"--{name}-bind-address=127.0.0.1:{self._ports[name]}" for name in ADDRESSES),
            *([f"--webhook-url=https://127.0.0.1:{self._ports['webhook']}"] if webhook else ()),
            *arguments,
        ]

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def content_port(self) -> int:
        return self._ports[CONTENT]

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll() if self._process is not None else None

    def upgrade(self) -> None:
        """The next start runs the code of today."""
        self._tree = None

    def launch(self) -> None:
        """Start without waiting for anything."""
        assert not self.is_running
        self.starts += 1
        if self._tree is None:
            self._process = Preloaded(self._module, self._arguments, self._log, os.environ | self._environment)
        else:
            self._process = self._launch_from(self._tree)

    def _launch_from(self, tree: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", self._module, *self._arguments]
        if (setpriv := shutil.which("setpriv")) is not None:
            command = [setpriv, "--pdeathsig", "KILL", *command]
        with self._log.open("ab") as output:
            return subprocess.Popen(
                command,
                cwd=tree,
                env=os.environ | self._environment | {"PYTHONPATH": str(tree)},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    async def start(self) -> None:
        """Start the operator and wait until it is ready."""
        self.launch()
        await eventually(self._ready, what="the operator is ready", seconds=READY_SECONDS)

    def kill(self) -> None:
        """SIGKILL: nothing of it runs when this returns."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def where_it_is(self) -> str:
        """Its log, with what all its threads and tasks do at the moment if it still runs."""
        if isinstance(self._process, Preloaded) and self.is_running:
            known = len(self.log)
            self._process.send_signal(stacks.SIGNAL)
            until = time.monotonic() + STACKS_SECONDS
            while stacks.END not in self.log[known:] and time.monotonic() < until:
                time.sleep(INTERVAL)
        return self.log

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        async with asyncio.timeout(STOP_SECONDS):
            return await self.ended()

    async def ended(self) -> int:
        """Wait for its end; its exit code."""
        assert self._process is not None
        while (code := self._process.poll()) is None:  # noqa: ASYNC110 - another process's end sets no event here
            await asyncio.sleep(INTERVAL)
        return code

    async def requests(self) -> Counter[RequestLabels]:
        """How often each kind of request was sent since this process began."""
        counts: Counter[RequestLabels] = Counter()
        for family in text_string_to_metric_families(await self.metrics()):
            if family.name == "rest_client_requests":
                for sample in family.samples:
                    if sample.name.endswith("_total"):
                        counts[RequestLabels(**sample.labels)] += int(sample.value)
        return counts

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of all samples of this name with these labels."""
        return sum(await self.samples(name, **labels))

    async def samples(self, name: str, **labels: str) -> list[float]:
        return [
            sample.value
            for family in text_string_to_metric_families(await self.metrics())
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    async def metrics(self) -> str:
        status, text = await self.ask("metrics", "/metrics")
        assert status == 200, text
        return text

    async def _ready(self) -> bool:
        if not self.is_running:
            end = "\n".join(self.log.splitlines()[-20:])
            raise AssertionError(f"the operator ended with exit code {self.exit_code}; the end of its log:\n{end}")
        status, _ = await self.ask("health-probe", "/readyz")
        return status == 200

    async def ask(self, address: str, path: str) -> tuple[int, str]:
        return await asyncio.to_thread(_get, self.url(address, path))

    def url(self, address: str, path: str) -> str:
        scheme = "https" if address in {"webhook", CONTENT} else "http"
        return f"{scheme}://127.0.0.1:{self._ports[address]}{path}"

    async def takes_connections(self, address: str) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._ports[address])
        except OSError:
            return False
        writer.close()
        return True


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own process
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)


@contextmanager
def ended_cleanly(operators: Sequence[Operator]) -> Iterator[None]:
    """After the block none of them runs, and none has logged a traceback."""
    yield
    for operator in operators:
        if operator.is_running:
            operator.kill()
    for operator in operators:
        assert not [trace for trace in TRACES if trace in operator.log], operator.log

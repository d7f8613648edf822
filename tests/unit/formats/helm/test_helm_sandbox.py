"""Bounds that hold for every chart: time, memory, output, environment, network, and the end of every process."""

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import MIB
from rukpak_py.formats.helm import process
from rukpak_py.formats.helm.process import VARIABLE, Bounds, HelmProgram, Stop, run
from tests.unit.charts import chart, config_map, limited, rendered

ROOT = Path(__file__).resolve().parents[4]
BOUNDS = Bounds(memory=512 * MIB, seconds=60, output=MIB)
# Tells its pid and that of a child, prints too much, and both go on for ever.
FAMILY = """
import os, sys, time
child = os.fork()
if child:
    with open(sys.argv[1], "w") as told:
        told.write(f"{os.getpid()} {child}")
    print("more than a byte", flush=True)
while True:
    time.sleep(1)
"""
SEEING = """
import json, os, resource
print(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "files": len(os.listdir("/proc/self/fd")),
    "core": resource.getrlimit(resource.RLIMIT_CORE)[0]}))
"""
CONNECTING = """
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    print("connected")
except OSError as error:
    print(error.strerror)
"""
HUGE = "{{ range until 1000000 }}{{ range until 1000000 }}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{{ end }}{{ end }}"
ENDLESS = "{{ range until 100000 }}{{ range until 100000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}"


def python(program: str, *arguments: str, bounds: Bounds = BOUNDS) -> process.Ended:
    return run([sys.executable, "-I", "-c", program, *arguments], bounds=bounds)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(*pids: int) -> None:
    waiting = threading.Event()
    while any(map(is_alive, pids)):  # the test's own time limit ends it
        waiting.wait(0.02)


def test_a_template_that_never_ends_is_stopped(helm: HelmProgram) -> None:
    with pytest.raises(ContentError, match=r"exceeds the limit of 1 .RUKPAK_LIMIT_HELM_SECONDS sets it"):
        rendered(helm, chart({"templates/a.yaml": ENDLESS}), limited(helm_seconds=1))


def test_a_template_that_needs_too_much_memory_is_stopped(helm: HelmProgram) -> None:
    with pytest.raises(
        ContentError, match=r"memory to render the chart exceeds the limit of 160 MiB .RUKPAK_LIMIT_HELM_BYTES"
    ):
        rendered(helm, chart({"templates/a.yaml": HUGE}), limited(helm_bytes=160 * MIB))


def test_a_process_that_is_bounded_itself_says_so(helm: HelmProgram) -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20));"
        "from rukpak_py.formats.helm.process import HelmProgram; from tests.unit.charts import chart, rendered;"
        f"rendered(HelmProgram(path={helm.path!r}), chart({{'templates/a.yaml': {HUGE!r}}}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "ContentError: rendering the chart needs more than 200 MiB of memory" in ran.stderr


def test_output_is_bounded_while_it_is_read(helm: HelmProgram) -> None:
    template = "{{ range until 3000 }}\n---\n" + config_map('"item-{{ . }}"', '(repeat 1000 "x")') + "{{ end }}"
    with pytest.raises(ContentError, match=r"exceeds the limit of 1 MiB .RUKPAK_LIMIT_RENDERED_BYTES"):
        rendered(helm, chart({"templates/a.yaml": template}), limited(rendered_bytes=MIB))


def test_messages_are_bounded(helm: HelmProgram) -> None:
    with pytest.raises(ContentError, match="xxx") as caught:
        rendered(helm, chart({"templates/a.yaml": '{{ fail (repeat 1000000 "x") }}'}))
    assert len(str(caught.value)) < 5_000


def test_nothing_of_our_environment_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "HELM_KUBETOKEN", "SOME_SECRET"):
        monkeypatch.setenv(name, "canary")
    said = python(SEEING).output.decode()
    assert "canary" not in said
    assert str(Path.home()) not in said.replace(sys.prefix, "")
    assert '"cwd": "/"' in said
    assert '"core": 0' in said


def test_files_cannot_be_written(tmp_path: Path) -> None:
    ended = python(f"open({str(tmp_path / 'a')!r}, 'w').write('x' * 100000)")
    assert ended.code != 0
    assert not (tmp_path / "a").exists() or (tmp_path / "a").stat().st_size == 0


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def has_network_namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "--user", "--net", "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not has_network_namespaces(), reason="the kernel gives no network namespace to this process")
def test_there_is_no_network_where_the_kernel_allows_that(listening: int) -> None:
    assert python(CONNECTING, str(listening)).output == b"Network is unreachable\n"


def test_a_group_is_ended_as_a_whole(tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.append(told.read_text(encoding="utf-8")))
    reader.start()
    ended = python(FAMILY, str(told), bounds=Bounds(memory=512 * MIB, seconds=170, output=1))
    assert ended.stop is Stop.OUTPUT
    reader.join()
    wait_until_dead(*map(int, seen[0].split()))


def test_program_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    asking = (
        "import sys; from rukpak_py.formats.helm.process import Bounds, run; "
        "run([sys.executable, '-I', '-c', 'import time; time.sleep(1000)'], "
        "bounds=Bounds(memory=512 << 20, seconds=600, output=1))"
    )
    asker = subprocess.Popen([sys.executable, "-c", asking], cwd=ROOT)
    children = Path(f"/proc/{asker.pid}/task/{asker.pid}/children")
    waiting = threading.Event()
    while not (pids := children.read_text(encoding="utf-8").split()) or b"sleep" not in _command(int(pids[0])):
        waiting.wait(0.02)
    asker.kill()
    asker.wait()
    wait_until_dead(*map(int, pids))


def _command(pid: int) -> bytes:
    try:
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        return b""
    return b"" if any(part.endswith(b"launcher.py") for part in parts) else b" ".join(parts)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo v3.15.4", "is helm v3.15.4. Install helm 3.16 or newer, below 4, or set RUKPAK_HELM"),
        ("echo v4.0.0", "is helm v4.0.0"),
        ("echo hello", "does not say which version of helm it is"),
        ("exit 1", "does not say which version"),
    ],
)
def test_another_program_is_refused(script: str, text: str, tmp_path: Path) -> None:
    program = tmp_path / "helm"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(UnavailableError, match=text):
        HelmProgram.find(str(program))


def test_without_helm_the_message_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UnavailableError, match=r"'helm' is not on PATH. Install helm .*, or set RUKPAK_HELM"):
        HelmProgram.find()
    monkeypatch.setenv(VARIABLE, "/opt/helm")
    with pytest.raises(UnavailableError, match="there is no program '/opt/helm'"):
        HelmProgram.find()


def test_a_program_that_went_away_is_not_the_fault_of_the_chart() -> None:
    with pytest.raises(UnavailableError, match="helm cannot be started: /nonexistent/helm: No such file"):
        rendered(HelmProgram(path="/nonexistent/helm"), chart())


def test_killed_program_is_not_the_fault_of_the_chart(tmp_path: Path) -> None:
    program = tmp_path / "helm"
    program.write_text("#!/bin/sh\nkill -9 $$\n", encoding="utf-8")
    program.chmod(0o700)
    with pytest.raises(UnavailableError, match="ended by signal 9"):
        rendered(HelmProgram(path=str(program)), chart())

"""The program as a whole: its names, help, completion, exit statuses, and how it ends when something goes wrong."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Never

import click
import pytest

import rukpak_py
from rukpak_py.cli import main
from tests.unit.cli.running import SAMPLES, CommandLine, program, run_python


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> click.Command:
    """A command `fail` that raises what `failure.error` says."""

    @click.command("fail")
    def fail() -> Never:
        raise ValueError("odd\x1b[2J")

    monkeypatch.setitem(main.program.commands, "fail", fail)
    return fail


def test_version(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("version")
    assert ran.out.startswith(f"rukpakctl {rukpak_py.__version__} (Python 3.")
    assert rukpakctl("--version") == ran


@pytest.mark.parametrize(
    ("called", "name"), [("/usr/bin/rukpakctl", "rukpakctl"), ("/opt/kubectl-rukpak", "kubectl rukpak")]
)
def test_usage_shows_how_it_was_called(rukpakctl: CommandLine, called: str, name: str) -> None:
    ran = rukpakctl("bundle", "validate", "--help", called=called)
    assert ran.out.startswith(f"Usage: {name} bundle validate [OPTIONS] PATH...")
    assert ran.status == 0


IN_A_CLUSTER = {
    (name,)
    for name in (
        *("check", "run", "content", "permissions", "release", "approve", "plan", "diff", "history", "rollback"),
        *("get", "tree", "why", "events", "suspend", "resume", "reconcile", "refresh", "wait", "ui"),
    )
}


def every_command(group: click.Command, *path: str) -> list[tuple[str, ...]]:
    if not isinstance(group, click.Group):
        return [path]
    context = click.Context(group)
    names = group.list_commands(context)
    return [path, *(one for name in names for one in every_command(group.get_command(context, name), *path, name))]  # type: ignore[arg-type]  # a listed command is there


@pytest.mark.parametrize("path", every_command(main.program), ids=" ".join)
def test_every_command_has_help_that_names_its_exit_statuses(rukpakctl: CommandLine, path: tuple[str, ...]) -> None:
    ran = rukpakctl(*path, "-h")
    _, _, statuses = " ".join(ran.out.split()).partition("Exit status: 0 success; ")
    answer_no = {
        *("validate", "diff", "build", "run", "check", "plan", "rollback", "why", "reconcile", "refresh", "wait"),
        *("lint", "fmt", "kind", "path", "stranded", "resolve", "install", "outdated"),
    }
    assert ("1 " in statuses) == (bool(path) and path[-1] in answer_no)
    assert "2 wrong usage" in statuses
    assert ("; 3 " in statuses) == (len(path) >= 2 or path[:1] in IN_A_CLUSTER)
    assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["bundle", "validate"], ["bundle", "render", "--certificates", "x", "."], ["bundle", "diff", "a"]],
)
def test_wrong_usage_is_told_with_2(rukpakctl: CommandLine, arguments: list[str]) -> None:
    ran = rukpakctl(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("Usage: rukpakctl")


@pytest.mark.parametrize("command", ["render", "inspect", "permissions"])
def test_absent_bundle_exits_with_3(rukpakctl: CommandLine, command: str, tmp_path: Path) -> None:
    ran = rukpakctl("bundle", command, tmp_path / "absent")
    assert (ran.status, ran.out) == (3, "")
    assert ran.err == f"Error: {tmp_path}/absent: there is no such file or directory\n"


def test_a_defect_is_one_line(rukpakctl: CommandLine, failing: click.Command, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = rukpakctl("fail")
    assert ran.status == 70
    assert "ValueError: odd\\u001b[2J" in ran.err
    assert "Traceback" not in ran.err
    monkeypatch.setenv(main.DEBUG_VARIABLE, "1")
    with pytest.raises(ValueError, match="odd"):
        rukpakctl("fail")


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_output_is_unicode_in_every_locale(tmp_path: Path, output: str) -> None:
    (tmp_path / "manifests").mkdir()
    manifest = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "→"}}'
    (tmp_path / "manifests/a.json").write_text(manifest, encoding="utf-8")
    command = [program(), "bundle", "render", str(tmp_path), "-o", output]
    done = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": "latin-1"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "→" in done.stdout.decode()


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_reader_that_goes_away_ends_it_quietly(output: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [program(), "bundle", "render", str(SAMPLES / "greeter-v1"), "-o", output]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_reader_that_goes_away_ends_several_checks_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [program(), "bundle", "validate", "--jobs", "2", *[str(SAMPLES / "greeter-broken")] * 12]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    fifo = tmp_path / "config"
    os.mkfifo(fifo)
    command = [program(), "bundle", "render", str(SAMPLES / "greeter-v1"), "--config", str(fifo)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        fifo.open("wb"),  # opened when it reads its configuration; it waits for more
    ):
        while process.poll() is None:  # a signal just before the read begins does not interrupt it
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_ctrl_c_ends_several_checks_quietly() -> None:
    """A terminal sends it to all processes of the group; only the first one may have something to say."""
    command = [program(), "bundle", "validate", "--jobs", "2", *[str(SAMPLES / "greeter-broken")] * 5_000]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert all(process.stdout.readline() for _ in range(100))  # of several bundles: the others run
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")


def test_starting_imports_nothing_that_is_heavy() -> None:
    heavy = {"asyncio", "kopf", "kubernetes", "aiohttp", "orjson", "yaml"}
    assert run_python(f"import sys, rukpak_py.cli.main; print({heavy} & set(sys.modules))") == "set()"


@pytest.mark.parametrize("name", ["rukpakctl", "kubectl-rukpak"])
def test_program_is_installed(name: str) -> None:
    done = subprocess.run([program(name), "version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rukpakctl ")
    assert sys.version.split()[0] in done.stdout


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["bundel", "validate"], " Did you mean rukpakctl bundle?"),
        (["bundle", "validat"], " Did you mean rukpakctl bundle validate?"),
        (["validate", "x"], " Did you mean rukpakctl bundle validate?"),
        (["zzz"], ""),
    ],
)
def test_mistyped_command_comes_with_a_suggestion(rukpakctl: CommandLine, arguments: list[str], advice: str) -> None:
    ran = rukpakctl(*arguments)
    assert ran.status == 2
    assert ran.err.splitlines()[-1].endswith(f"'.{advice}")

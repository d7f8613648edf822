"""`python -m e2e.cluster up [--node] [--audit] | down | status | load-image ARCHIVE`, each with `[--state DIR]`."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from e2e.cluster import binaries, lifecycle
from e2e.cluster.errors import ClusterError
from e2e.cluster.processes import Processes
from e2e.cluster.state import StateDir

BROKEN_PIPE = 141  # as a shell says that SIGPIPE ended it
DEFAULT_STATE = Path(__file__).parents[2] / ".cluster"


def main() -> int:
    arguments = _parser().parse_args()
    action = signal.SIG_IGN if arguments.command == "down" else _interrupt  # half of a `down` is of no use
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background jobs with SIGINT ignored
        signal.signal(number, action)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup has said so
        signal.signal(signal.SIGHUP, action)
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        # What is still buffered must not fail again when the interpreter closes its streams.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        done = ": what was started is taken down again" if arguments.command == "up" else ""
        print(f"interrupted{done}", file=sys.stderr)
        return 130
    return status


def _run(arguments: argparse.Namespace) -> int:
    path: Path = arguments.state
    match arguments.command:
        case "up":
            started = time.monotonic()
            state = lifecycle.up(path, node=arguments.node, audit=arguments.audit)
            print(f"ready after {time.monotonic() - started:.1f} s: export KUBECONFIG={state.kubeconfig}")
        case "down":
            started = time.monotonic()
            was_there = lifecycle.down(path)
            print(f"down, {time.monotonic() - started:.1f} s" if was_there else f"there is no cluster in {path}")
        case "load-image":
            names, is_foreign = lifecycle.load_image(path, arguments.archive), lifecycle.is_foreign(path)
            print("expected on the nodes:" if is_foreign else "loaded", *names)
        case _:
            return _status(StateDir(path))
    return 0


def _status(state: StateDir) -> int:
    if not state.exists:
        print(f"there is no cluster in {state.path}")
        return 1
    record = state.read()
    print(f"cluster     {record['provider']}, {'with' if record['node'] else 'without'} a node")
    for name, pid in Processes(record=state.processes, logs=state.logs).pids.items():
        print(f"  {name:<24} pid {pid}")
    print(f"kubeconfig  {state.kubeconfig}")
    for name in ("kubectl", "helm"):
        built = "" if binaries.location(name).exists() else "  (not built yet)"
        print(f"{name:<11} {binaries.location(name)}{built}")
    print(f"logs        {state.logs}")
    wrong = lifecycle.problems(state)
    print(f"state       {'; '.join(wrong) or 'healthy'}")
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m e2e.cluster", description="A Kubernetes on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="bring a cluster up, or make sure that it runs")
    up.add_argument("--node", action="store_true", help="with a node that runs pods (root on Linux)")
    up.add_argument("--audit", action="store_true", help="with an audit log of all requests: DIR/audit.log")
    down = commands.add_parser("down", help="take it down and remove everything it made")
    status = commands.add_parser("status", help="say what runs and where things are; exit 1 unless healthy")
    load = commands.add_parser("load-image", help="load a docker-archive or OCI archive into the cluster")
    load.add_argument("archive", type=Path, metavar="ARCHIVE")
    for command in (up, down, status, load):
        command.add_argument(
            "--state", type=Path, default=DEFAULT_STATE, metavar="DIR", help="state directory (default: .cluster)"
        )
    return parser


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())

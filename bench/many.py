"""N deployments of four objects, by our operator, by kubectl and by our client alone: what installing many costs.

The operator's side is the time from the creation of the first BundleDeployment (their content is there already) until
all of them are Ready, with the admission webhook on. kubectl's side is `kubectl apply --server-side` of the same 4 N
objects. The bare client sends the requests that the operator sent, 32 at once, and decides nothing. Every side of every
round has a control plane of its own, and the order turns round each time: only ratios of medians mean anything. Usage:

    python bench/many.py [N] [--rounds 3] [--side operator|kubectl|bare]... [--impersonate] [--rest SECONDS] [--edits N]

`--impersonate` adds our operator with a service account in each deployment.
"""

import argparse
import asyncio
import statistics
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import sides
from bench.bare_client import Recipe, measured
from bench.fresh_plane import fresh_plane
from bench.report import print_operator, print_ratios
from bench.sides import Measurement, OperatorMeasurement
from bench.workload import OBJECTS_EACH
from rukpak_py.runtime.loop import Loop

SIDES = ("operator", "kubectl", "bare")
IMPERSONATING = "as account"

T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("deployments", type=int, nargs="?", default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", action="append", choices=SIDES, help="only this one; may be given again")
    parser.add_argument("--impersonate", action="store_true", help="also by our operator, acting as an account")
    parser.add_argument("--rest", type=float, default=30.0, help="seconds of watching the operator at rest")
    parser.add_argument("--edits", type=int, default=100, help="objects to edit, for the time until each is corrected")
    arguments = parser.parse_args()
    chosen = [side for side in SIDES if side in (arguments.side or SIDES)]
    chosen += [IMPERSONATING] if arguments.impersonate else []
    count, recipe = arguments.deployments, Recipe()
    found: dict[str, list[Measurement]] = {side: [] for side in chosen}
    for number in range(arguments.rounds):
        for side in chosen if number % 2 == 0 else reversed(chosen):
            print(f"round {number + 1}: {side}", flush=True)
            one = _run(side, count, recipe, rest=arguments.rest, edits=min(arguments.edits, count))
            print(f"  {one.seconds:.2f} s, {one.cpu:.2f} s of CPU, API server {one.apiserver_cpu:.2f} s", flush=True)
            if isinstance(one, OperatorMeasurement) and side == "operator":
                recipe = measured(one.requests, count)
            found[side].append(one)
    _report(found, count)


def _run(side: str, count: int, recipe: Recipe, *, rest: float, edits: int) -> Measurement:
    with fresh_plane() as plane:
        match side:
            case "operator":
                return _in_loop(sides.by_operator(plane, count, rest=rest, edits=edits))
            case "as account":
                return _in_loop(sides.by_operator(plane, count, rest=rest, edits=edits, impersonates=True))
            case "kubectl":
                return sides.by_kubectl(plane, count)
            case _:
                return _in_loop(sides.by_bare_client(plane, count, recipe))


def _in_loop(work: Coroutine[Any, Any, T]) -> T:
    """In the event loop that the operator has."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)


def _report(found: dict[str, list[Measurement]], count: int) -> None:
    print(f"\n{count} deployments of {OBJECTS_EACH} objects, median of {len(next(iter(found.values())))}")
    medians = {side: _median(runs) for side, runs in found.items()}
    print_ratios(medians, count)
    ours = medians.get("operator")
    if isinstance(ours, OperatorMeasurement):
        print_operator(ours, count)


def _median(runs: Sequence[Measurement]) -> Measurement:
    """The run whose time is the median, whole: figures of one run belong together."""
    middle = statistics.median_low(run.seconds for run in runs)
    return next(run for run in runs if run.seconds == middle)


if __name__ == "__main__":
    main()

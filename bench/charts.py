"""helm as the oracle for charts: install, upgrade, other values, back, delete, by helm and by the operator.

Two control planes of their own, without a node: pods of Jobs are ended by the suite, and no workload has to be healthy.
In one the real `helm` does the steps, in the other the operator does, with BundleDeployments. After each step both have
the same objects, but for what is printed with its reason, and each key of each Secret was kept or renewed in the same
steps. Prints a table, what differs, and the reasons; the exit code is 1 when something differs that has none. Usage:

    python bench/charts.py                     # the charts of tests/helm_oracle/charts
    python bench/charts.py --archives FOLDER   # archives of others, two versions of each chart; NAME.yaml: their values
    python bench/charts.py --only NAME...      # some of them
    python bench/charts.py --lose-storage      # and the operator after each step, with its storage; nothing may change
    python bench/charts.py --seconds 3600      # begin no chart after that; those that are left count as different
"""

import argparse
import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.fresh_plane import fresh_plane
from bench.workload import SYSTEM
from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from e2e.local_operator import running
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.runtime.loop import Loop
from tests.helm_oracle.archives import served
from tests.helm_oracle.cases import Case, Step, own_cases, packed_cases
from tests.helm_oracle.cluster import Cluster
from tests.helm_oracle.comparing import KeyState, SecretKey
from tests.helm_oracle.sides import HelmSide, OperatorSide
from tests.helm_oracle.snapshot import LEFT_OUT_FIELDS, LEFT_OUT_OBJECTS
from tests.helm_oracle.suite import Outcome, run_case
from tests.integration.operator.process import TRACES

LOOPBACK = "127.0.0.0/8"
SHOWN = 20  # differences of one step
Outcomes = Mapping[str, Sequence[Outcome]]


@dataclass(kw_only=True)
class RestartedOperator:
    """`storage`: the folder of all that an operator keeps. Each one has a new one."""

    plane: ControlPlane
    storage: Path
    helm: Path
    logs: list[str] = field(default_factory=list)
    _life: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _log: Path | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self.storage.mkdir()
        kubeconfig, flags = self.plane.kubeconfig, (f"--helm={self.helm}",)
        made = running(kubeconfig=kubeconfig, folder=self.storage, source_addresses=LOOPBACK, flags=flags)
        self._log = self._life.enter_context(made).log

    def stop(self) -> None:
        self._life.close()
        if self._log is not None and self._log.is_file():
            self.logs.append(self._log.read_text(errors="replace"))
            shutil.rmtree(self.storage)

    async def lose_storage(self) -> None:
        await asyncio.to_thread(self.stop)
        await asyncio.to_thread(self.start)


@dataclass(frozen=True, kw_only=True)
class Bench:
    helm: ControlPlane
    operator: RestartedOperator
    archives: str
    home: Path
    until: float  # by the monotonic clock: no chart begins later
    loses_storage: bool

    async def run(self, cases: Sequence[Case]) -> dict[str, list[Outcome]]:
        found: dict[str, list[Outcome]] = {}
        async with (
            Client(await load_connection(self.helm.kubeconfig)) as there,
            Client(await load_connection(self.operator.plane.kubeconfig)) as here,
        ):
            program = self.operator.helm
            helm = HelmSide(program=program, kubeconfig=self.helm.kubeconfig, home=self.home, cluster=Cluster(there))
            operator = OperatorSide(cluster=Cluster(here), archives=self.archives, system=SYSTEM)
            lose_storage = self.operator.lose_storage if self.loses_storage else None
            for case in cases:
                if time.monotonic() > self.until:
                    break
                found[case.chart] = await run_case(case, helm, operator, lose_storage=lose_storage)
                for outcome in found[case.chart]:
                    print_row(case.chart, outcome)
        return found


def print_row(chart: str, outcome: Outcome) -> None:
    answers = f"{_word(outcome.helm.done)} {_word(outcome.operator.done)}"
    keys = f"{_counted(outcome.keys_of_helm)} : {_counted(outcome.keys_of_operator)}"
    differs = f"{len(outcome.differs)} differ" if outcome.differs else "same"
    listed = f", {len(outcome.expected)} with a reason" if outcome.expected else ""
    print(
        f"{chart:<20} {outcome.step:<8} {answers:<16} {outcome.objects:>3} objects  keys {keys:<42} "
        f"{outcome.seconds:5.1f} s  {differs}{listed}",
        flush=True,
    )


def is_wrong(outcome: Outcome) -> bool:
    """Also a chart that neither side installs: nothing was compared."""
    return bool(outcome.differs) or (outcome.step is Step.INSTALL and not outcome.helm.done)


def report(found: Outcomes) -> None:
    steps = [(chart, outcome) for chart, outcomes in found.items() for outcome in outcomes]
    for chart, outcome in steps:
        for one in outcome.differs[:SHOWN]:
            print(f"differs: {chart}, {outcome.step}: {one}")
        if len(outcome.differs) > SHOWN:
            print(f"differs: {chart}, {outcome.step}: {len(outcome.differs) - SHOWN} more")
    for chart, outcome in steps:
        if not outcome.operator.done:
            print(f"refused: {chart}, {outcome.step}: {outcome.operator.message}")
    reasons = Counter(reason for _, outcome in steps for _, reason in outcome.expected)
    print("\nDiffer, with a reason:")
    for reason, times in reasons.items():
        print(f"  {times} x {reason.chart}, {reason.object} {'.'.join(reason.path)}: {reason.why}")
    print_what_is_not_compared()


def print_what_is_not_compared() -> None:
    print("Not compared:")
    for objects in LEFT_OUT_OBJECTS:
        print(f"  {objects.what}: {objects.why}")
    by_reason: dict[str, list[str]] = {}
    for fields in LEFT_OUT_FIELDS:
        by_reason.setdefault(fields.why, []).append(f"{fields.kind} {'.'.join(fields.path)}".lstrip())
    for why, paths in by_reason.items():
        print(f"  {', '.join(paths)}: {why}")


def _word(done: bool) -> str:  # noqa: FBT001 - of an answer
    return "done" if done else "refused"


def _counted(keys: Mapping[SecretKey, KeyState]) -> str:
    counts = Counter(keys.values())
    return ", ".join(f"{counts[state]} {state}" for state in KeyState if counts[state]) or "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archives", type=Path, help="a folder of packaged charts, two versions of each")
    parser.add_argument("--only", nargs="+", default=(), help="names of charts")
    parser.add_argument("--lose-storage", action="store_true", help="after each step; nothing may change by that")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long charts may begin")
    parser.add_argument("--log", type=Path, help="where to put the operator's log")
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-charts-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        helm = binaries.path("helm")
        cases = (
            packed_cases(arguments.archives, arguments.only)
            if arguments.archives
            else own_cases(folder / "charts", helm, arguments.only)
        )
        archives = stack.enter_context(served(cases))
        planes = (stack.enter_context(fresh_plane()), stack.enter_context(fresh_plane()))
        operator = stack.enter_context(RestartedOperator(plane=planes[1], storage=folder / "operator", helm=helm))
        print(f"{len(cases)} charts; helm and operator after {time.monotonic() - began:.1f} s", flush=True)
        bench = Bench(
            helm=planes[0],
            operator=operator,
            archives=archives,
            home=folder,
            until=began + arguments.seconds,
            loses_storage=arguments.lose_storage,
        )
        with asyncio.Runner(loop_factory=Loop) as runner:
            found = runner.run(bench.run(cases))
    text = "".join(operator.logs)
    if arguments.log is not None:
        arguments.log.write_text(text)
    report(found)
    traces = [trace for trace in TRACES if trace in text]
    wrong = [chart for chart, outcomes in found.items() if any(map(is_wrong, outcomes))]
    wrong += [case.chart for case in cases if case.chart not in found]
    print(f"\ntraces of bugs in the operator's log: {traces or 'none'}")
    print(f"different or not compared: {', '.join(wrong) or 'none'}")
    print(f"{len(cases) - len(wrong)} of {len(cases)} charts as with helm, {time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong or traces else 0)


if __name__ == "__main__":
    main()

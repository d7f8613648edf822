"""Cost of `lookup`: one small chart rendered as before, with a cluster that it sees, and with five lookups.

The three ways alternate in each round, in one process, with the real helm; medians are compared, so only the ratios of
one run mean anything. Objects come from memory: what a real API server needs for its answers comes on top. Usage:

    python bench/lookups.py [--rounds N] [--shared]

`--shared`: as in a restricted pod, where helm gets no network of its own.
"""

import argparse
import sys
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from statistics import median
from time import perf_counter

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rukpak_py.content.tree import Tree
from rukpak_py.formats.helm import process
from rukpak_py.formats.helm.cluster_view import ClusterView, LookedUp, Lookup, ServedKind, ServedVersion
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.render import render_chart
from rukpak_py.formats.helm.request import ChartCluster, HelmRequest

LOOKUPS = 5
METADATA = b"apiVersion: v2\nname: web\nversion: 1.0.0\n"
LINE = '  key-%d: {{ (lookup "v1" "Secret" .Release.Namespace "login-%d").metadata.name | quote }}\n'
SECRETS = ServedKind(kind="Secret", plural="secrets", namespaced=True)
# As many as a cluster with a few operators serves.
SERVED = (
    ServedVersion(group="", version="v1", kinds=(SECRETS,)),
    *(
        ServedVersion(
            group=f"group-{group}.example.com",
            version="v1",
            kinds=tuple(ServedKind(kind=f"Kind{n}", plural=f"kinds{n}", namespaced=True) for n in range(10)),
        )
        for group in range(40)
    ),
)
VIEW = ClusterView(version=b'{"major":"1","minor":"35","gitVersion":"v1.35.4"}', served=SERVED)


def chart(template: str) -> Tree:
    return Tree({"Chart.yaml": METADATA, "templates/a.yaml": template.encode()})


def look_up(lookup: Lookup) -> LookedUp:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": lookup.name, "namespace": lookup.namespace}}
    return LookedUp(HTTPStatus.OK, orjson.dumps(body))


def milliseconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return (perf_counter() - began) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shared", action="store_true")
    given = parser.parse_args()
    process._HAS_NETWORK = given.shared  # noqa: SLF001 - what a restricted pod makes of it
    helm = HelmProgram.find()
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
    plain = chart(head + "  key: value\n")
    asking = chart(head + "".join(LINE % (number, number) for number in range(LOOKUPS)))
    offline = HelmRequest(namespace="shop")
    seeing = HelmRequest(namespace="shop", cluster=ChartCluster(view=VIEW, look_up=look_up))
    ways: dict[str, Callable[[], object]] = {
        "without a cluster": lambda: render_chart(plain, offline, helm),
        "with a cluster": lambda: render_chart(plain, seeing, helm),
        f"with {LOOKUPS} lookups": lambda: render_chart(asking, seeing, helm),
    }
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(given.rounds):
        for way, work in ways.items():
            taken[way].append(milliseconds(work))
    first = median(taken["without a cluster"])
    for way, times in taken.items():
        print(f"{way}: median {median(times):.0f} ms, {median(times) / first:.2f} of that without a cluster")


if __name__ == "__main__":
    main()

"""How many mistakes that an API server refuses our validation finds: mutants of bundles and charts, by family.

Mutants of real bundles (RUKPAK_CORPUS names their directory), of plain bundles and of charts are rendered, and the
objects applied with dry run. The exit code is 1 when the validation has an error about a mutant, or about a source,
that the server accepts. Usage:

    python -m bench.mutations                            # on a control plane of its own
    python -m bench.mutations --kubeconfig FILE          # on a given one; two namespaces are made and deleted
    python -m bench.mutations --keep-back 600            # and a second set: another seed, other sources, more cases
    python -m bench.mutations --verbose --write FILE     # the mutants that are not found, and all results as JSON lines
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.fresh_plane import fresh_plane
from bench.mutations.judging import AT_ONCE, Judge, Judged, template
from bench.mutations.mutants import CASES, Mutant, mutants
from bench.mutations.sources import NAMESPACE, WATCHED, Sort
from e2e.cluster import binaries
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError
from rukpak_py.runtime.loop import Loop
from tests.corpus.place import BUNDLES

HEADING = f"{'sort':7} {'family':22} {'mutants':>8} {'refused':>8} {'found':>6} {'recall %':>9} {'false errors':>13}"
FIRST, KEPT_BACK = "first", "kept back"
NAMESPACES = GroupVersionKind("", "v1", "Namespace")


def drawn(arguments: argparse.Namespace) -> Iterator[tuple[str, Mutant]]:
    sets = [(FIRST, arguments.count, arguments.seed)]
    if arguments.keep_back:
        sets.append((KEPT_BACK, arguments.keep_back, arguments.seed + 1))
    for name, number, seed in sets:
        for sort in arguments.sorts:
            for mutant in mutants(
                sort,
                number // len(arguments.sorts),
                seed=seed,
                is_kept_back=name == KEPT_BACK,
                families=arguments.families,
            ):
                yield name, mutant


async def judge_all(client: Client, arguments: argparse.Namespace) -> tuple[list[Judged], Judge]:
    """The results in the order of the mutants, and the judge, who knows what could not be judged."""
    discovery = Discovery(client)
    await discovery.refresh()
    judge = Judge(client, discovery, helm=os.environ["RUKPAK_HELM"])
    results: list[Judged] = []
    for batch in _batches(drawn(arguments)):
        judged = await asyncio.gather(*(judge.judge(mutant, in_set=name) for name, mutant in batch))
        results += [one for one in judged if one is not None]
    return results, judge


def _batches(items: Iterable[tuple[str, Mutant]]) -> Iterator[list[tuple[str, Mutant]]]:
    batch: list[tuple[str, Mutant]] = []
    for item in items:
        batch.append(item)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    yield batch


@contextlib.asynccontextmanager
async def _namespaces(client: Client) -> AsyncIterator[None]:
    """The namespaces that renderings name, for as long as it takes. Those that are there already stay."""
    discovery = Discovery(client)
    await discovery.refresh()
    resource = discovery.find(NAMESPACES)
    assert resource is not None  # every server has it
    made: list[str] = []
    try:
        for name in (NAMESPACE, WATCHED):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            with contextlib.suppress(AlreadyExistsError):
                await client.create(resource, "", json.dumps(body).encode())
                made.append(name)
        yield
    finally:
        for name in made:
            with contextlib.suppress(NotFoundError):
                await client.delete(resource, "", name)


async def run(kubeconfig: Path, arguments: argparse.Namespace) -> tuple[list[Judged], Judge]:
    async with Client(await load_connection(kubeconfig)) as client, _namespaces(client):
        return await judge_all(client, arguments)


# --- the report


def report(results: Sequence[Judged], judge: Judge) -> Iterator[str]:
    for name in dict.fromkeys(one.set for one in results):
        chosen = [one for one in results if one.set == name]
        yield f"{name} set"
        yield HEADING
        for sort, family in dict.fromkeys(sorted((one.sort, one.family) for one in chosen)):
            yield _row(sort, family, [one for one in chosen if (one.sort, one.family) == (sort, family)])
        for sort in dict.fromkeys(sorted(one.sort for one in chosen)):
            yield _row(sort, "all", [one for one in chosen if one.sort == sort])
        if unseen := [one for one in chosen if one.is_unseen]:
            for sort in dict.fromkeys(sorted(one.sort for one in unseen)):
                yield _row(sort, "cases of this set only", [one for one in unseen if one.sort == sort])
        yield ""
    yield f"sources that the server accepts and the validation does not: {len(judge.wrong_sources)}"
    for source, errors in judge.wrong_sources.items():
        yield f"       {source}: {errors[0]}"
    yield f"mutants that were not judged: {judge.set_aside.total()}"
    for reason, number in judge.set_aside.most_common():
        yield f"{number:5}  {reason[:160]}"


def _row(sort: str, family: str, some: Sequence[Judged]) -> str:
    refused, found = sum(one.is_refused for one in some), sum(one.is_found for one in some)
    recall = f"{100 * found / refused:.1f}" if refused else "-"
    wrong = sum(one.is_false_error for one in some)
    return f"{sort:7} {family:22} {len(some):8} {refused:8} {found:6} {recall:>9} {wrong:13}"


def misses(results: Sequence[Judged]) -> Iterator[str]:
    """The refusals that the validation does not find, by the sentence, and one example of each."""
    missed = [one for one in results if one.is_refused and not one.is_found]
    for sentence, number in Counter(template(one.sentence) for one in missed).most_common():
        example = next(one for one in missed if template(one.sentence) == sentence)
        yield f"{number:5}  {sentence}"
        yield f"       {example.sort}, {example.family}, {example.case}: {example.source} {example.place}"
    for one in results:
        if one.is_false_error:
            yield f"false error  {one.sort}, {one.family}, {one.case}: {one.source} {one.place}: {one.errors[0]}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kubeconfig", type=Path, help="a control plane that is there; by default one is started")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3000, help="mutants of the first set, a third of each sort")
    parser.add_argument("--keep-back", type=int, default=0, metavar="N", help="mutants of a second set")
    parser.add_argument("--sorts", nargs="*", type=Sort, default=list(Sort))
    parser.add_argument("--families", nargs="*", default=[], choices=sorted({case.family for case in CASES}))
    parser.add_argument("--write", type=Path, metavar="FILE", help="all results as JSON lines")
    parser.add_argument("--verbose", action="store_true", help="the misses, with the sentence of the server")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    if not BUNDLES.is_dir():
        print(f"skipped: no bundles in {BUNDLES}; RUKPAK_CORPUS names a corpus")
        return
    os.environ["RUKPAK_HELM"] = str(binaries.path("helm"))
    with contextlib.ExitStack() as stack:
        kubeconfig = arguments.kubeconfig or stack.enter_context(fresh_plane()).kubeconfig
        runner = stack.enter_context(asyncio.Runner(loop_factory=Loop))
        results, judge = runner.run(run(kubeconfig, arguments))
    if arguments.write:
        arguments.write.write_text("".join(f"{json.dumps(one.as_document())}\n" for one in results))
    print("\n".join(report(results, judge)))
    if arguments.verbose:
        print("\n".join(misses(results)))
    sys.exit(1 if judge.wrong_sources or any(one.is_false_error for one in results) else 0)


if __name__ == "__main__":
    main()

"""Whether an API server takes what `render` prints: all bundles of the corpus, each object by a server-side dry-run.

Needs the corpus: RUKPAK_CORPUS names its directory. On a control plane of its own. Every bundle is rendered with our
defaults (an operator that can only watch another namespace watches one), and its objects are applied as they are
printed, with dry run: what the operator does to them before it applies them is not done here. Kinds that the server
does not have are counted. The exit code is 1 when an object has a field that the server does not know. Usage:

    python bench/corpus_dry_run.py [--as-rendered]     the latter: with the fields that `render` leaves out
"""

import argparse
import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.fresh_plane import fresh_plane
from bench.workload import NAMESPACE, SYSTEM
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import Object
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.bundle import InstallMode, RegistryBundle
from rukpak_py.formats.registry_v1.render import render
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError, SchemaError
from rukpak_py.library import open_bundle
from rukpak_py.runtime.loop import Loop
from tests.corpus.place import BUNDLES

AT_ONCE = 8
_NAMES = re.compile(r'"[^"]*"|\'[^\']*\'|\([^)]*\)|\d+')


@dataclass(kw_only=True)
class Result:
    bundles: int = 0
    refused_bundles: Counter[str] = field(default_factory=Counter)  # by us, by rule
    taken: Counter[str] = field(default_factory=Counter)  # objects, by kind
    not_served: Counter[str] = field(default_factory=Counter)
    refusals: dict[str, list[str]] = field(default_factory=dict)  # of the server: who, by what it says
    undeclared: list[str] = field(default_factory=list)


def objects_of(path: Path, *, is_left_out: bool) -> Iterator[Object]:
    opened = open_bundle(path, format="registry+v1")
    options = RenderOptions(install_namespace=NAMESPACE, watch_namespaces=_watched(opened.bundle))
    manifests = opened.render(options).objects if is_left_out else render(opened.bundle, options)
    return map(Object.from_manifest, manifests)


def _watched(bundle: RegistryBundle) -> tuple[str, ...] | None:
    is_free = {InstallMode.ALL, InstallMode.OWN} & set(bundle.csv.supported_modes)
    return None if is_free or not bundle.csv.supported_modes else (SYSTEM,)


async def try_all(client: Client, paths: list[Path], *, is_left_out: bool) -> Result:
    discovery, result, slots = Discovery(client), Result(), asyncio.Semaphore(AT_ONCE)
    await discovery.refresh()

    async def try_one(bundle: str, made: Object) -> None:
        key, resource = made.head.key, discovery.find(made.head.gvk)
        if resource is None or not key.name:
            result.not_served[f"{key.kind}.{key.group}" if key.name else "without a name"] += 1
            return
        namespace = key.namespace if resource.namespaced else ""
        try:
            async with slots:
                await client.apply(
                    resource, namespace, key.name, made.json, field_manager="bench", force=True, dry_run=True
                )
        except ApiError as error:
            _note(result, f"{bundle}: {key}", error)
        else:
            result.taken[key.kind] += 1

    for path in paths:
        result.bundles += 1
        try:
            made = list(objects_of(path, is_left_out=is_left_out))
        except RukPakError as error:
            result.refused_bundles[_reason(error)] += 1
        else:
            await asyncio.gather(*(try_one(path.name, one) for one in made))
    return result


def _reason(error: RukPakError) -> str:
    rules: dict[str, None] = {finding.rule: None for finding in getattr(error, "findings", ())}
    return " ".join(rules) or _NAMES.sub("…", str(error).partition("\n")[0])


def _note(result: Result, who: str, error: ApiError) -> None:
    if isinstance(error, SchemaError) and error.unknown_fields:
        result.undeclared.append(f"{who}: {', '.join(error.unknown_fields)}")
    causes = "; ".join(sorted({f"{cause.field}: {_NAMES.sub('…', cause.message)}" for cause in error.causes}))
    result.refusals.setdefault(re.sub(r"\[\d+\]", "[]", causes) or _NAMES.sub("…", str(error)), []).append(who)


def report(result: Result) -> None:
    refused = sum(map(len, result.refusals.values()))
    print(f"bundles {result.bundles}, refused by us {sum(result.refused_bundles.values())}")
    for reason, number in result.refused_bundles.most_common():
        print(f"  {number:5}  {reason}")
    print(f"objects taken {sum(result.taken.values())}: {_listed(result.taken)}")
    print(f"kind not served {sum(result.not_served.values())}: {_listed(result.not_served)}")
    print(f"refused by the server {refused}, of these for a field that it does not know {len(result.undeclared)}")
    for text, who in sorted(result.refusals.items(), key=lambda one: -len(one[1])):
        print(f"  {len(who):5}  {text[:300]}\n         {who[0]}")
    for line in result.undeclared:
        print(f"unknown field  {line}")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in counts.most_common())


async def run(kubeconfig: Any, *, is_left_out: bool) -> Result:
    async with Client(await load_connection(kubeconfig)) as client:
        return await try_all(client, sorted(BUNDLES.iterdir()), is_left_out=is_left_out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--as-rendered", action="store_true", help="with the fields that `render` leaves out")
    arguments = parser.parse_args()
    if not BUNDLES.is_dir():
        print(f"skipped: no bundles in {BUNDLES}; RUKPAK_CORPUS names a corpus")
        return
    with fresh_plane() as plane, asyncio.Runner(loop_factory=Loop) as runner:
        result = runner.run(run(plane.kubeconfig, is_left_out=not arguments.as_rendered))
    report(result)
    sys.exit(1 if result.undeclared else 0)


if __name__ == "__main__":
    main()

"""`rukpakctl catalog validate` and `render` beside opm, on version directories like those of OpenShift.

Needs the corpus: RUKPAK_CORPUS names its directory; opm is built from its Go module. Version directories are made of
the bundles of the corpus, once with objects (as up to OpenShift 4.16) and once with metadata of CSVs (since 4.17), one
file per package; beside them is the largest recorded catalog. Each side runs in turn, in processes of their own; ours
cold (`--no-cache`) and with what it kept of every file. Memory is the largest sum of PSS over the process and its
children, read every few milliseconds, so that shared pages count once. Usage:

    python bench/catalogs.py [--rounds 5] [--megabytes 13]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.process_tree import pss_bytes
from e2e.cluster import binaries
from rukpak_py.catalog.making.bundle_blob import bundle_blob
from rukpak_py.catalog.making.csv_metadata import migrated
from rukpak_py.catalog.model import Bundle, Catalog, Channel, Entry, Package
from rukpak_py.catalog.rendering import rendered_bundle
from rukpak_py.catalog.writing import written
from rukpak_py.core import versions
from rukpak_py.core.errors import RukPakError
from rukpak_py.sources.local import open_tree
from tests.corpus.place import BUNDLES, CORPUS

MB = 1_000_000
SAMPLE_SECONDS = 0.004
RUKPAKCTL = str(Path(sys.executable).parent / "rukpakctl")
COPIES = {"objects": 2, "metadata": 6}  # of a bundle, with other versions: the corpus has few of each package


@dataclass(frozen=True, kw_only=True)
class Cost:
    seconds: float
    cpu: float
    pss: int


def measured(command: list[str], environment: dict[str, str]) -> Cost:
    began, before = time.monotonic(), children_cpu()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    peak = [0]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            with suppress(OSError):  # a process has just ended
                peak[0] = max(peak[0], pss_bytes(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, error = process.communicate()
    seconds = time.monotonic() - began
    ended.set()
    watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {error.decode()[-2000:]}")
    return Cost(seconds=seconds, cpu=children_cpu() - before, pss=peak[0])


def children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def bundles() -> Iterator[Bundle]:
    """Those of the corpus that a catalog can have: with a valid version and CSV, and an image that can be named so."""
    for directory in sorted(BUNDLES.iterdir()):
        try:
            bundle = bundle_blob(open_tree(directory))
            versions.strict(bundle.version)
            image = f"registry.example.com/{bundle.package}/bundle:{bundle.version}"
            if "+" not in image and "." not in bundle.package and image == image.lower():
                bundle = rendered_bundle(bundle_blob(open_tree(directory), image=image))
                migrated(bundle)
                yield bundle
        except (RukPakError, ValueError):
            continue


def copies_of(bundle: Bundle, number: int) -> Iterator[Bundle]:
    """The bundle, and others like it with pre-releases of its version."""
    yield bundle
    for copy in range(1, number):
        version = f"{bundle.version}{'.' if '-' in bundle.version else '-'}c{copy}"
        properties = tuple(
            msgspec.structs.replace(one, value={**one.value, "version": version}, text="")
            if one.type == "olm.package"
            else one
            for one in bundle.properties
        )
        yield msgspec.structs.replace(bundle, name=f"{bundle.name}-c{copy}", properties=properties)


def write_version_directory(root: Path, found: Iterable[Bundle], most: int) -> None:
    """One YAML file per package, with one channel that has all of its bundles."""
    by_package: dict[str, dict[str, Bundle]] = defaultdict(dict)
    taken, size = set(), 0
    for bundle in found:
        key = (bundle.package, bundle.version)
        if size < most and key not in taken and bundle.name not in by_package[bundle.package]:
            taken.add(key)
            by_package[bundle.package][bundle.name] = bundle
            size += len(b"".join(written(Catalog(bundles=(bundle,)), as_yaml=True)))
    for name, named in by_package.items():
        if not named:
            continue
        entries = [Entry(name=one, replaces=before) for before, one in zip(["", *named], named, strict=False)]
        catalog = Catalog(
            packages=(Package(name=name, default_channel="stable"),),
            channels=(Channel(package=name, name="stable", entries=tuple(entries)),),
            bundles=tuple(named.values()),
        )
        (root / name).mkdir(parents=True)
        (root / name / "catalog.yaml").write_bytes(b"".join(written(catalog, as_yaml=True)))


def catalogs(root: Path, most: int) -> dict[str, Path]:
    found = list(bundles())
    made = {kind: root / kind for kind in COPIES}
    with_copies = {kind: [copy for one in found for copy in copies_of(one, number)] for kind, number in COPIES.items()}
    write_version_directory(made["objects"], with_copies["objects"], most)
    write_version_directory(made["metadata"], map(migrated, with_copies["metadata"]), most)
    recorded = (CORPUS / "catalogs/real").iterdir()
    made["largest recorded"] = max(recorded, key=lambda path: (path / "catalog.yaml").stat().st_size)
    made["all recorded"] = CORPUS / "catalogs/real"
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=13)
    options = parser.parse_args()
    opm = str(binaries.path("opm"))
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        for name, path in catalogs(Path(folder), options.megabytes * MB).items():
            files = list(path.rglob("*.yaml"))
            size = sum(file.stat().st_size for file in files) / MB
            print(f"{name}: {len(files)} files, {size:.1f} MB", flush=True)
            sides = {
                "opm validate": [opm, "validate", str(path)],
                "validate, cold": [RUKPAKCTL, "catalog", "validate", "--no-cache", str(path)],
                "validate, warm": [RUKPAKCTL, "catalog", "validate", str(path)],
                "opm render": [opm, "render", str(path)],
                "render, cold": [RUKPAKCTL, "catalog", "render", "--no-cache", str(path)],
                "render, warm": [RUKPAKCTL, "catalog", "render", str(path)],
            }
            for command in sides.values():
                measured(command, environment)  # files are read, code is compiled, the cache is filled
            costs: dict[str, list[Cost]] = defaultdict(list)
            for number in range(options.rounds):
                for side in sides if number % 2 == 0 else reversed(sides):
                    costs[side].append(measured(sides[side], environment))
            report(costs)


def report(costs: dict[str, list[Cost]]) -> None:
    medians = {
        side: Cost(
            seconds=statistics.median(one.seconds for one in found),
            cpu=statistics.median(one.cpu for one in found),
            pss=round(statistics.median(one.pss for one in found)),
        )
        for side, found in costs.items()
    }
    for side, one in medians.items():
        other = medians["opm render" if "render" in side else "opm validate"]
        ratio = "" if one is other else f"; to opm {one.seconds / other.seconds:.2f}, memory {one.pss / other.pss:.2f}"
        print(f"  {side:16} {one.seconds:6.3f} s, {one.cpu:6.3f} s of CPU, {one.pss / MB:6.1f} MB{ratio}", flush=True)


if __name__ == "__main__":
    main()

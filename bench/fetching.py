"""Cost of fetching beside the tools of the field: images beside skopeo and tar, repositories beside git clone.

Both sides of a round read from the same server of this machine, and the order turns round each time: only ratios of
medians, and differences of small ones, mean anything. The registry is the distribution project's; skopeo is installed
by apt-get when it is missing. What attacks is read in a process of its own, whose memory is looked at. Usage:

    python bench/fetching.py [--rounds 5] [--image-mib 40] [--files 14000] [--only image|git|hostile]...
"""

import argparse
import asyncio
import gzip
import multiprocessing
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_network
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import GitRef, GitSource, ImageSource
from rukpak_py.content.tar import read_archive
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import GIB, MIB
from rukpak_py.runtime.loop import Loop
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.source import Fetched, FetchRequest
from tests.git_repositories import ENVIRONMENT, Repository
from tests.git_web_server import git_web_server
from tests.integration.images.registry import Registry, running_registry
from tests.sources_alone import sources_alone
from tests.unit.sources.image.image_registry import Contents

LARGE_BAR, LARGE_GIT_BAR, SMALL_BAR_SECONDS, GROWTH_BAR_MIB = 1.3, 0.8, 0.3, 50
PARTS = ("image", "git", "hostile")
MANIFEST = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"
Side = Callable[[], Awaitable[object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--image-mib", type=int, default=40, help="compressed size of the large image")
    parser.add_argument("--files", type=int, default=14_000, help="of the large repository")
    parser.add_argument("--only", action="append", choices=PARTS, help="may be given again")
    arguments = parser.parse_args()
    chosen = arguments.only or PARTS
    with asyncio.Runner(loop_factory=Loop) as runner:
        if "image" in chosen:
            runner.run(_images(arguments.rounds, arguments.image_mib))
        if "git" in chosen:
            runner.run(_repositories(arguments.rounds, arguments.files))
    if "hostile" in chosen:
        _hostile()


async def _images(rounds: int, mib: int) -> None:
    _install("skopeo")
    with tempfile.TemporaryDirectory(prefix="bench-registry-") as folder, running_registry(Path(folder)) as registry:
        _push_images(registry, mib)
        for tag, count in (("large", rounds), ("small", 4 * rounds)):
            ref = f"{registry.address}/bench:{tag}"
            source = Source(type="image", image=ImageSource(ref=ref))
            ours, theirs = await _rounds(partial(_fetched, source), partial(_skopeo, ref), count)
            _report(f"image, {tag} ({mib} MiB)" if tag == "large" else f"image, {tag}", "skopeo + tar", ours, theirs)


def _push_images(registry: Registry, mib: int) -> None:
    contents = Contents()
    noise = random.Random(1)  # noqa: S311 - the same image each time
    base = {f"usr/share/{number}": noise.randbytes(MIB) for number in range(mib)}
    contents.image(base, {"manifests/a.yaml": MANIFEST}, tag="large")
    contents.image({"manifests/a.yaml": MANIFEST}, tag="small")
    registry.push(contents, "bench")


async def _skopeo(ref: str) -> None:
    """To a directory, and then through every layer."""
    with tempfile.TemporaryDirectory(prefix="bench-skopeo-") as folder:
        copy = ("skopeo", "copy", "--quiet", "--insecure-policy", "--src-tls-verify=false", f"docker://{ref}")
        await _run(*copy, f"dir:{folder}/image")
        for path in _layers(Path(folder, "image")):
            await _run("tar", "-tzf", path)


def _layers(image: Path) -> list[str]:
    return [str(path) for path in image.iterdir() if path.read_bytes()[:2] == b"\x1f\x8b"]


async def _repositories(rounds: int, files: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-git-") as folder:
        for name, count, directory in (("large", files, "apps/7"), ("small", 10, "")):
            Repository.create(Path(folder, f"{name}.git")).commit(_tree(count))
            async with _served(Path(folder)) as base:
                url = f"{base}/{name}.git"
                spec = GitSource(repository=url, directory=directory, ref=GitRef(branch="main"))
                source = Source(type="git", git=spec)
                ours, theirs = await _rounds(partial(_fetched, source), partial(_clone, url), rounds)
            _report(f"git, {name} ({count} files)", "git clone", ours, theirs)


def _tree(count: int) -> dict[str, bytes]:
    noise = random.Random(1)  # noqa: S311 - the same repository each time
    files = {f"apps/{number % 140}/files/{number}.txt": noise.randbytes(1000).hex().encode() for number in range(count)}
    return {**files, "apps/7/manifests/a.yaml": MANIFEST, "manifests/a.yaml": MANIFEST}


@asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[str]:
    async with git_web_server(folder, scheme="http") as server:
        yield server.url("", host="127.0.0.1").rstrip("/")


async def _clone(url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-clone-") as folder:
        await _run("git", "clone", "--quiet", "--depth", "1", url, f"{folder}/clone", environment=ENVIRONMENT)


async def _fetched(source: Source) -> None:
    request = FetchRequest(bundle="bench", uid="1", source=source, provisioner_class=PLAIN_CLASS)
    fetched = await sources_alone(AddressPolicy(allowed=(ip_network("127.0.0.0/8"),))).fetch(request)
    assert isinstance(fetched, Fetched)
    assert fetched.tree


async def _rounds(ours: Side, theirs: Side, count: int) -> tuple[list[float], list[float]]:
    found: tuple[list[float], list[float]] = ([], [])
    sides = (ours, theirs)
    for number in range(count + 1):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            began = time.perf_counter()
            await sides[which]()
            if number:  # the first round warms up
                found[which].append(time.perf_counter() - began)
    return found


async def _run(*command: str, environment: Mapping[str, str] | None = None) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, env=dict(environment) if environment else None
    )
    if await process.wait():
        raise SystemExit(f"{command[0]} failed")


def _install(program: str) -> None:
    if shutil.which(program):
        return
    apt_get = shutil.which("apt-get")
    if os.geteuid() or apt_get is None:
        raise SystemExit(f"{program} is missing: install it")
    print(f"installing {program} with apt-get", flush=True)
    subprocess.run([apt_get, "install", "--yes", "--quiet", program], check=True, stdout=subprocess.DEVNULL)


def _report(what: str, other: str, ours: list[float], theirs: list[float]) -> None:
    mine, its = statistics.median(ours), statistics.median(theirs)
    bar = LARGE_GIT_BAR if what.startswith("git") else LARGE_BAR
    if "large" in what:
        figure = f"{mine / its:.2f}   (bar: <= {bar})"
    else:
        figure = f"{mine - its:+.3f} s   (bar: <= +{SMALL_BAR_SECONDS} s)"
    print(f"{what:32}{mine:8.3f} s, {other} {its:.3f} s: {figure}", flush=True)


def _hostile() -> None:
    for name, archive in (("a gzip bomb of 10 GiB", _bomb), ("a sparse member of 10 GiB", _sparse)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, growth, refusal = pool.apply(_judge, (archive,))
        print(f"{name:32}{seconds:8.3f} s, {growth:.1f} MiB more   (bar: <= {GROWTH_BAR_MIB} MiB): {refusal}")


def _judge(archive: Callable[[], Iterator[bytes]]) -> tuple[float, float, str]:
    chunks = list(archive())
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    try:
        read_archive(chunks)
    except ContentError as error:
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        return time.perf_counter() - began, grown / 1024, str(error)
    raise SystemExit("it was not refused")


def _bomb() -> Iterator[bytes]:
    """As much of it as the limit on archives lets in."""
    piece = gzip.compress(bytes(64 * MIB), 9)
    yield from [piece] * (10 * GIB // (64 * MIB))


def _sparse() -> Iterator[bytes]:
    header = bytearray(512)
    header[:1] = b"a"
    header[100:108], header[124:136], header[156:157] = b"0000644\0", b"\x80" + (10 * GIB).to_bytes(11), b"0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    yield gzip.compress(bytes(header))


if __name__ == "__main__":
    main()

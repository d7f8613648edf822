"""A full disk is a condition that passes: nothing is stored in part, others go on, and what failed is tried again."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching, is_unpacked, names_in, partial_files
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.unit.sources.websites import Site, tgz, website

SMALL, LARGE = "size=600k", "size=64m"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that is nearly full."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    (disk := tmp_path / "disk").mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", SMALL, "small", disk], check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture
async def fetch(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with website() as site:
        yield site


def grow(disk: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,{LARGE}", disk], check=True)


def incompressible(tenant: Tenant) -> dict[str, bytes]:
    maps = [config_map(f"m{n}", tenant.namespace, v=os.urandom(100_000).hex()) for n in range(10)]
    return {f"manifests/{n}.yaml": yaml.safe_dump(one).encode() for n, one in enumerate(maps)}


def has_no_space(bundle: Document) -> bool:
    found, ready = condition(bundle, "Unpacked"), condition(bundle, "Ready")
    return "o space left on device" in found.get("message", "") and ready["reason"] != "ContentError"


async def test_bundle_is_unpacked_once_its_store_has_space(
    operators: StartOperator, fetch: Fetching, disk: Path
) -> None:
    operator = operators(folder=disk, arguments=[LOOPBACK])
    await operator.start()
    fetch.contents.image(incompressible(fetch.tenant), tag="large")
    small = fetch.image("small")
    source = {"type": "image", "image": {"ref": small["image"]["ref"].replace(":small", ":large")}}
    large = await fetch.bundle("large", source)
    await fetch.until(large, has_no_space, what="says that there is no space")
    assert partial_files(operator) == []
    await fetch.until_unpacked(await fetch.bundle("small", small))
    grow(disk)
    await fetch.until(large, is_unpacked, what="is unpacked when there is space again")
    assert partial_files(operator) == []


async def test_archive_is_unpacked_once_temporary_files_have_space(
    operators: StartOperator, fetch: Fetching, site: Site, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.gives("/large.tgz", tgz(incompressible(fetch.tenant)))
    source = {"type": "http", "http": {"url": site.url("/large.tgz")}}
    await recovers(operators, fetch, source, disk, monkeypatch)


async def test_git_bundle_is_unpacked_once_temporary_files_have_space(
    operators: StartOperator,
    fetch: Fetching,
    git_web: GitWebServer,
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Repository(path=git_web.root / NAME).commit(incompressible(fetch.tenant))
    repository = {"repository": git_web.url(NAME), "ref": {"branch": "main"}, "caBundle": git_web.ca_bundle}
    await recovers(operators, fetch, {"type": "git", "git": repository}, disk, monkeypatch)


async def recovers(
    operators: StartOperator, fetch: Fetching, source: Document, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Bundle is unpacked once there is space for temporary files."""
    monkeypatch.setenv("TMPDIR", str(disk))
    operator = operators(arguments=[LOOPBACK])
    await operator.start()
    large = await fetch.bundle("large", source)
    await fetch.until(large, has_no_space, what="says that there is no space")
    await fetch.until_unpacked(await fetch.bundle("small", fetch.image("small")))
    grow(disk)
    await fetch.until(large, is_unpacked, what="is unpacked when there is space again")
    assert names_in(disk) == []

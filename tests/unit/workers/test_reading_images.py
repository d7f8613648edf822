"""Layers are read by a real worker process: what it loads, what comes back, and what a hostile layer costs."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.image.layer_files import LayerFile, read_layers
from rukpak_py.sources.image.pod_files import MissingFiles, PodArchive, read_archives
from rukpak_py.workers.pool import WorkerProcesses
from tests.unit.images import digest_of, layer, symlink

CLIENTS = {"requests", "urllib3", "oras", "aiohttp", "asyncio"}
READERS = "rukpak_py.workers.child, rukpak_py.sources.image.layer_files, rukpak_py.sources.image.pod_files"


def layer_file(folder: Path, data: bytes, *, diff_id: str = "") -> LayerFile:
    path = folder / "layer"
    path.write_bytes(gzip.compress(data))
    return LayerFile(path=path, diff_id=diff_id or digest_of(data))


def test_worker_that_reads_images_does_not_load_the_registry_client() -> None:
    """It costs time and memory, and a worker process starts often."""
    code = f"import sys, {READERS}; print({CLIENTS} & set(sys.modules))"
    loaded = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "set()"


async def test_layers_are_read_by_a_process(tmp_path: Path) -> None:
    file = layer_file(tmp_path, layer({"manifests/a": b"1", "usr/x": b"2"}))
    workers = WorkerProcesses(1)
    try:
        assert dict(await workers.run(read_layers, [file], PLAIN_CLASS, DEFAULT_LIMITS)) == {"manifests/a": b"1"}
    finally:
        await workers.close()


async def test_layers_that_are_wrong_are_named_in_the_error(tmp_path: Path) -> None:
    workers = WorkerProcesses(1)
    try:
        damaged = layer_file(tmp_path, layer({"manifests/a": b"1"}), diff_id=f"sha256:{0:064}")
        with pytest.raises(ContentError, match="is damaged: its content has the digest"):
            await workers.run(read_layers, [damaged], PLAIN_CLASS, DEFAULT_LIMITS)
        damaged.path.unlink()
        with pytest.raises(UnavailableError, match="the layers of the image cannot be read: No such file"):
            await workers.run(read_layers, [damaged], PLAIN_CLASS, DEFAULT_LIMITS)
    finally:
        await workers.close()


async def test_a_layer_that_takes_too_much_of_the_processor_is_refused(tmp_path: Path) -> None:
    """Its members do not count, because they are not kept; their headers are read all the same."""
    many = layer_file(tmp_path, layer({f"usr/{number}": b"" for number in range(20_000)}))
    workers = WorkerProcesses(1, processor_seconds=0.2)
    try:
        with pytest.raises(ContentError, match=r"more than 0\.2 s of processor time"):
            await workers.run(read_layers, [many] * 100, PLAIN_CLASS, DEFAULT_LIMITS)
    finally:
        await workers.close()


async def test_content_that_a_pod_has_sent_is_read_by_a_worker_process(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(layer({"manifests/a": symlink("/opt/a")}))
    workers = WorkerProcesses(1)
    try:
        archives = [PodArchive(path=path)]
        found = await workers.run(read_archives, archives, frozenset(), PLAIN_CLASS, DEFAULT_LIMITS, is_last=False)
        assert found == MissingFiles(ends=frozenset({"opt/a"}), ways=frozenset({"opt", "opt/a"}))
    finally:
        await workers.close()

"""Files of the store that were damaged, and a store that cannot be written: nothing wrong is served, and it is told."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.uploading import admin_of
from tests.manifests import Document
from tests.unit.web_servers import Answer

LARGE = "0123456789abcdef" * 8192  # no small content, which is in memory, too
PART = {"Range": "bytes=4-19"}


@pytest.fixture
async def fetch(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


def flip(data: bytes) -> bytes:
    return data[:10] + bytes([data[10] ^ 1]) + data[11:]


def damage(operator: Operator, change: Callable[[bytes], bytes]) -> Path:
    """Damage the file without a change of its mtime."""
    (stored,) = (operator.store / "content").iterdir()
    before = stored.stat()
    stored.write_bytes(change(stored.read_bytes()))
    os.utime(stored, ns=(before.st_atime_ns, before.st_mtime_ns))
    return stored


@pytest.mark.parametrize("change", [flip, lambda data: data[:-1]], ids=["damaged", "shortened"])
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_damaged_file_is_never_served(
    plane: ControlPlane,
    tenant: Tenant,
    operators: StartOperator,
    fetch: Fetching,
    *,
    change: Callable[[bytes], bytes],
    is_restarted: bool,
) -> None:
    operator = operators(arguments=[LOOPBACK])
    await operator.start()
    client = await admin_of(plane, tenant, operator)
    name = await fetch.bundle("b", fetch.image("v1", LARGE))
    await fetch.until_unpacked(name)
    whole, part = await client.get(name), await client.get(name, **PART)
    assert (whole.status, part.status, part.body) == (200, 206, whole.body[4:20])

    if is_restarted:
        await operator.stop()
    path = damage(operator, change)
    fetch.registry.answer = lambda _: Answer(503)
    if is_restarted:
        await operator.start()
    for headers in (PART, {}):
        answer = await client.get(name, **headers)
        assert answer.status in {404, 503}
        assert b"bundle" in answer.body, "a sentence, and not a byte of the file"
    assert str(path) in operator.log

    fetch.registry.answer = fetch.contents.answer
    await fetch.until_unpacked(name)
    assert (await client.get(name)).body == whole.body
    damage(operator, change)
    again = await client.get(name, **PART)
    assert (again.status, again.body) == (206, part.body), "it was fetched again while the client waited"


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """The volume with the store of an operator in `tmp_path`; it can be made read-only."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    (volume := tmp_path / "bundles").mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "store", volume], check=False, capture_output=True)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.decode().strip()}")
    yield volume
    subprocess.run(["umount", "--lazy", volume], check=True)


def remount(volume: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", volume], check=True)


def says_read_only(bundle: Document) -> bool:
    unpacked, ready = condition(bundle, "Unpacked"), condition(bundle, "Ready")
    is_told = "Read-only file system; mount its volume writable" in unpacked.get("message", "")
    return is_told and (unpacked["reason"], ready["reason"]) == ("UnpackFailed", "Unavailable")


async def test_a_store_that_becomes_read_only_is_told_and_what_it_has_is_served(
    plane: ControlPlane, tenant: Tenant, operators: StartOperator, fetch: Fetching, volume: Path
) -> None:
    operator = operators(folder=volume.parent, arguments=[LOOPBACK])
    await operator.start()
    client = await admin_of(plane, tenant, operator)
    there = await fetch.bundle("there", fetch.image("v1"))
    await fetch.until_unpacked(there)
    remount(volume, "ro")
    same, other = await fetch.bundle("same", fetch.image("v1")), await fetch.bundle("other", fetch.image("v2"))
    for name in (same, other):
        await fetch.until(name, says_read_only, what="says that the store cannot be written")
    assert (await client.get(there)).status == 200
    await operator.stop()
    await operator.start()
    assert (await client.get(there)).status == 200
    remount(volume, "rw")
    await fetch.until_unpacked(same, other)


async def test_a_store_that_is_read_only_from_the_start(
    tenant: Tenant, operators: StartOperator, fetch: Fetching, volume: Path
) -> None:
    remount(volume, "ro")
    operator = operators(folder=volume.parent, arguments=[LOOPBACK])
    await operator.start()
    name = await fetch.bundle("b", fetch.image("v1"))
    await fetch.until(name, says_read_only, what="says that the store cannot be written")
    assert operator.is_running
    remount(volume, "rw")
    await fetch.until_unpacked(name)
    assert tenant.name in name

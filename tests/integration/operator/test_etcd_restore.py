"""Etcd is restored from a backup under a running operator: what it knows is of a future that did not happen.

Its watches would be silent without an error until the versions have caught up, and what it knows would have it delete
what the backup brought back. So it writes nothing any more and ends, and the next process starts from what is there. A
control plane that only restarts is not taken for a restored one.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.cluster import WORKERS_PLANE
from tests.integration.backup import Backup
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document, config_map
from tests.waiting import eventually


@pytest.fixture
def plane(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane of this test alone, which ends after it was restored."""
    yield plane
    WORKERS_PLANE.end()


@pytest.fixture
def backup(plane: ControlPlane, tmp_path: Path) -> Backup:
    return Backup(plane, tmp_path)


def objects(tenant: Tenant, version: str) -> list[Document]:
    return [config_map(name, tenant.namespace, v=version) for name in ("one", f"only-in-{version}")]


async def installed(tenant: Tenant, version: str) -> None:
    async def look() -> bool:
        with suppress(ApiError):
            owned = await tenant.owned(CONFIG_MAPS)
            return {name: one["data"] for (_, name), one in owned.items()} == {
                "one": {"v": version},
                f"only-in-{version}": {"v": version},
            }
        return False

    await eventually(look, what=f"the objects of {version} are there, and no others")


async def answers(admin: Client) -> None:
    """The connections of the test were closed, too."""

    async def look() -> bool:
        with suppress(ApiError):
            await admin.raw_get("/readyz")
            return True
        return False

    await eventually(look, what="the API server answers")


async def test_an_operator_ends_when_etcd_was_restored_and_the_next_process_keeps_what_the_backup_has(
    admin: Client, tenant: Tenant, operators: StartOperator, backup: Backup
) -> None:
    operator = operators()  # no lease: it would run out while the control plane restarts
    await operator.start()
    for version in ("v1", "v2", "v3"):
        await tenant.publish(version, objects(tenant, version))
    await tenant.deploy("v1")
    await tenant.ready()
    backup.take()
    await answers(admin)
    await tenant.deploy("v2")
    await tenant.ready()
    await installed(tenant, "v2")

    backup.restore()

    await eventually(lambda: _has_ended(operator), what="it ends")
    assert operator.exit_code == 1
    assert "etcd was restored from a backup" in operator.log
    await answers(admin)
    await installed(tenant, "v1")

    await operator.start()
    await tenant.ready()
    await admin.delete(CONFIG_MAPS, tenant.namespace, "one")
    await installed(tenant, "v1")
    await tenant.deploy("v3")
    await tenant.ready()
    await installed(tenant, "v3")
    assert operator.starts == 2, "it ended once"
    assert operator.is_running


async def test_a_control_plane_that_restarts_is_not_taken_for_a_restored_one(
    admin: Client, tenant: Tenant, operators: StartOperator, backup: Backup
) -> None:
    operator = operators()
    await operator.start()
    for version in ("v1", "v2"):
        await tenant.publish(version, objects(tenant, version))
    await tenant.deploy("v1")
    await tenant.ready()

    for _ in range(2):
        backup.restart()
        await answers(admin)

    await admin.delete(CONFIG_MAPS, tenant.namespace, "one")
    await installed(tenant, "v1")
    await tenant.deploy("v2")
    await tenant.ready()
    await installed(tenant, "v2")
    assert operator.is_running
    assert "restored" not in operator.log


async def _has_ended(operator: Operator) -> bool:
    return not operator.is_running

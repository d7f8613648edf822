"""Installed content is kept with the options that it was installed with, until new content and options go through.

Each test edits the spec in a way that cannot be carried out yet, and looks at the old content meanwhile.
"""

from collections.abc import AsyncIterator

import orjson
import pytest

from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document
from tests.waiting import eventually

EDIT = b'{"data":{"v":"edited"}}'


def settings(value: str) -> list[Document]:
    """A ConfigMap without a namespace, which is an option."""
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"v": value}}]


async def value(tenant: Tenant, namespace: str) -> str | None:
    """None: it is not there."""
    try:
        found: str = (await tenant.read(CONFIG_MAPS, namespace, "settings"))["data"]["v"]
    except NotFoundError:
        return None
    return found


async def edit(tenant: Tenant, namespace: str) -> None:
    await tenant.admin.patch(CONFIG_MAPS, namespace, "settings", EDIT, field_manager="somebody")


async def is_kept(tenant: Tenant, namespace: str) -> None:
    async def look() -> bool:
        return await value(tenant, namespace) == "1"

    await eventually(look, what="drift of the old content is corrected")


async def create_namespace(tenant: Tenant, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await tenant.admin.create(NAMESPACES, "", orjson.dumps(body))


@pytest.fixture
async def old(tenant: Tenant, operator: Operator) -> AsyncIterator[str]:
    """The namespace that the first version is installed in."""
    name = f"{tenant.namespace}-old"
    await create_namespace(tenant, name)
    await tenant.publish("v1", settings("1"))
    await tenant.deploy("v1", installNamespace=name)
    await tenant.ready()
    assert await value(tenant, name) == "1"
    yield name
    await tenant.admin.delete(NAMESPACES, "", name)


@pytest.fixture
def new(tenant: Tenant) -> str:
    return f"{tenant.namespace}-new"


async def moves(tenant: Tenant, old: str, new: str, version: str) -> None:
    await tenant.ready()
    assert await value(tenant, new) == version

    async def look() -> bool:
        return await value(tenant, old) is None

    await eventually(look, what="the old content is pruned")


async def test_one_edit_of_template_and_namespace_moves_nothing_while_the_content_cannot_be_had(
    tenant: Tenant, operator: Operator, old: str, new: str
) -> None:
    await create_namespace(tenant, new)
    await tenant.deploy("v2", installNamespace=new)
    await tenant.until(
        lambda one: condition(one, "HasValidBundle").get("status") == "False", what="the content cannot be had"
    )
    await edit(tenant, old)
    await is_kept(tenant, old)
    assert await value(tenant, new) is None

    await operator.stop()
    await operator.start()
    await edit(tenant, old)
    await is_kept(tenant, old)
    assert await value(tenant, new) is None

    await operator.stop()
    await edit(tenant, old)
    await operator.start()
    await is_kept(tenant, old)
    assert await value(tenant, new) is None

    await tenant.publish("v2", settings("2"))
    await moves(tenant, old, new, "2")


async def test_a_namespace_that_a_gate_refuses_leaves_the_content_where_it_is(
    tenant: Tenant, operator: Operator, old: str, new: str
) -> None:
    await tenant.deploy("v1", installNamespace=new)
    await is_refused(tenant, new)
    await edit(tenant, old)
    await is_kept(tenant, old)

    await operator.stop()
    await operator.start()
    await edit(tenant, old)
    await is_kept(tenant, old)

    await create_namespace(tenant, new)
    await moves(tenant, old, new, "1")


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_drift_while_the_operator_was_away_is_corrected_although_a_gate_refuses_the_upgrade(
    tenant: Tenant, operator: Operator, old: str, new: str, version: str
) -> None:
    await tenant.publish("v2", settings("2"))
    await tenant.deploy(version, installNamespace=new)
    await is_refused(tenant, new)
    await operator.stop()
    await edit(tenant, old)
    await operator.start()
    await is_kept(tenant, old)
    await is_refused(tenant, new)


async def is_refused(tenant: Tenant, namespace: str) -> None:
    found = await tenant.until(lambda one: condition(one, "Installed").get("status") == "False", what="it is refused")
    assert f"Namespace {namespace} not found" in condition(found, "Installed")["message"]

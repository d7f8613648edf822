"""The table of roles that every cluster has, compared with the API server."""

from typing import Any

import orjson
import pytest

from rukpak_py.apply.permissions.builtin_roles import AGGREGATED_PARTS, Json, builtin_role
from rukpak_py.apply.permissions.permission import Permission, permissions_of
from rukpak_py.kube.client import Client
from tests.integration.permissions.test_view import ROLES


async def served(client: Client, name: str) -> dict[str, Any]:
    role: dict[str, Any] = orjson.loads(await client.get(ROLES, "", name))
    return role


def single(rules: object) -> set[Permission]:
    return set(permissions_of(rules, ""))


@pytest.mark.parametrize("name", [*AGGREGATED_PARTS, "cluster-admin", "system:auth-delegator"])
async def test_role_has_exactly_the_rules_of_the_server(client: Client, name: str) -> None:
    known: tuple[Json, ...] = AGGREGATED_PARTS.get(name, ())
    if builtin := builtin_role("ClusterRole", name):
        known = builtin.rules
    assert single(list(known)) == single((await served(client, name))["rules"])


@pytest.mark.parametrize("name", ["admin", "edit", "view"])
async def test_role_that_the_server_fills_has_at_least_the_rules_of_the_table(client: Client, name: str) -> None:
    """Other clients of the cluster may have added to it."""
    builtin = builtin_role("ClusterRole", name)
    assert builtin is not None
    role = await served(client, name)
    assert role["aggregationRule"]
    assert single(list(builtin.rules)) <= single(role["rules"])

"""Each permission that an account lacks is named by the review, and no other one."""

import random
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.installer import Needs, needs_of, rules_by_scope
from rukpak_py.apply.permissions.manifests import roles_for
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.permissions.review import missing_permissions
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError
from tests.integration.operator.granting import RESOURCES
from tests.unit.cli.objects import binding, manifest, role, rule, workload
from tests.waiting import eventually

SAMPLES = 8


@dataclass(kw_only=True)
class Lacking:
    """An account with given permissions, for which nothing but rules exists."""

    admin: Client
    namespace: str
    mark: str = field(default_factory=lambda: f"m{uuid.uuid4().hex[:8]}")

    @property
    def account(self) -> Account:
        return Account(self.namespace, self.mark)

    async def has(self, permissions: frozenset[Permission]) -> None:
        """A scope without permissions has a role without rules."""
        rules = {scope: rules_by_scope(permissions).get(scope, []) for scope in ("", self.namespace)}
        for one in roles_for(rules, name=self.mark, account=self.account):
            resource, metadata = RESOURCES[one["kind"]], one["metadata"]
            place = metadata.get("namespace", ""), metadata["name"]
            await self.admin.apply(resource, *place, orjson.dumps(one), field_manager="tests", force=True)

    async def lacks(self, needs: Needs, expected: set[Permission]) -> None:
        """Once the server knows the roles, which takes it a moment."""
        found: list[frozenset[Permission]] = []

        async def look() -> bool:
            client = self.admin.acting_as(self.account.user)
            found.append(await missing_permissions(client, needs, namespace=self.namespace))
            return found[-1] == expected

        try:
            await eventually(look, what="exactly these are missing")
        except TimeoutError:
            assert found[-1] == expected

    async def clear(self) -> None:
        for kind in ("ClusterRole", "ClusterRoleBinding"):
            with suppress(NotFoundError):
                await self.admin.delete(RESOURCES[kind], "", self.mark)


@pytest.fixture
async def lacking(client: Client, namespace: str) -> AsyncIterator[Lacking]:
    lacking = Lacking(admin=client, namespace=namespace)
    yield lacking
    await lacking.clear()


def objects_in(namespace: str, mark: str) -> list[dict[str, Any]]:
    group = f"{mark}.example.com"
    names = {"kind": "Ox", "plural": "oxen"}
    return [
        manifest("ConfigMap", "settings", namespace=namespace),
        workload("web", namespace=namespace),
        manifest(
            "CustomResourceDefinition",
            f"oxen.{group}",
            api_version="apiextensions.k8s.io/v1",
            spec={"group": group, "scope": "Cluster", "names": names},
        ),
        manifest("Ox", "olaf", api_version=f"{group}/v1"),
        role(mark, rule("get list", "nodes")),
        binding(mark, mark),
        role("local", rule("get", "pods/log", names=["web-0"]), namespace=namespace),
        binding("local", "local", namespace=namespace),
        binding("view", "view", namespace=namespace, kind="ClusterRole"),
    ]


async def test_each_permission_that_is_taken_away_is_named(lacking: Lacking) -> None:
    needs = needs_of(objects_in(lacking.namespace, lacking.mark), install_namespace=lacking.namespace)
    await lacking.has(needs.least)
    await lacking.lacks(needs, set())
    seed = random.randrange(2**32)  # noqa: S311 - a choice of samples
    print(f"seed {seed}")  # noqa: T201 - the report of a failure shows it
    for permission in random.Random(seed).sample(sorted(needs.least), SAMPLES):  # noqa: S311 - the same
        await lacking.has(needs.least - {permission})
        await lacking.lacks(needs, {permission})


async def test_account_without_rights_lacks_all_of_them(lacking: Lacking) -> None:
    needs = needs_of(objects_in(lacking.namespace, lacking.mark), install_namespace=lacking.namespace)
    await lacking.lacks(needs, set(needs.least))


async def test_rights_in_the_namespace_are_none_in_the_whole_cluster(lacking: Lacking) -> None:
    """The rules of the namespace list the nodes, too, because the RoleBinding is there."""
    nodes = Permission("", "get", "", "nodes", "a")
    await lacking.has(frozenset({nodes._replace(scope=lacking.namespace)}))
    await lacking.lacks(Needs(permissions=frozenset({nodes})), {nodes})


async def test_permission_to_escalate_and_bind_replaces_what_roles_grant(lacking: Lacking) -> None:
    objects = objects_in(lacking.namespace, lacking.mark)
    needs = needs_of(objects, install_namespace=lacking.namespace)
    short = needs_of(objects, install_namespace=lacking.namespace, escalate=True)
    await lacking.has(short.least)
    await lacking.lacks(needs, set())

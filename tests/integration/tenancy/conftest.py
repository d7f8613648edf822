"""Operators and tenants for deployments that run under accounts, and the policies of the setting of an attempt.

All on the control plane of the worker.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import OPERATOR_ACCOUNT
from rukpak_py.api.policies.installation import Installation
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection, load_connection
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES
from tests.cluster import WORKERS_PLANE
from tests.integration.listing import listed
from tests.integration.operator.conftest import (
    StartOperator,
    controllers,
    operator,
    operators,
    policies,
    proxy,
    pytest_runtest_makereport,
    tenant,
)
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.policies import (
    apply_policies,
    install_policies,
    remove_policies,
    until_none_refuses,
)
from tests.integration.proxy import proxy_before
from tests.integration.tenancy.accounts import EVERYTHING, grant_everywhere
from tests.integration.tenancy.attempts import Room, documents_of, installation_of, room_of
from tests.integration.tenancy.guarded import serve
from tests.integration.tenancy.users import make_users, remove_users

__all__ = ["controllers", "operator", "operators", "policies", "proxy", "pytest_runtest_makereport", "tenant"]


ATTEMPT = "a-"  # begins the name of each


class Grounds:
    """Users and policies of the attempts of a module; the policies change with the setting only."""

    def __init__(self, kubeconfig: Path) -> None:
        self.mark = uuid.uuid4().hex[:8]
        self.connection: Connection = asyncio.run(load_connection(kubeconfig))
        self._setting = ""
        self._run(lambda admin: make_users(admin, self.mark))

    def change_to(self, setting: str) -> None:
        if setting == self._setting:
            return
        self._setting = setting
        self._run(self._install)

    def end(self) -> None:
        documents = installation_of("narrow", self.mark).policies()
        self._run(lambda admin: remove_policies(admin, documents))
        self._run(lambda admin: remove_users(admin, self.mark))
        self._run(remove_attempts)

    async def _install(self, admin: Client) -> None:
        await install_policies(admin, installation_of(self._setting, self.mark))
        if self._setting == "warned":
            await apply_policies(admin, documents_of(self._setting, self.mark))
            await until_none_refuses(admin)

    def _run(self, work: Callable[[Client], Awaitable[None]]) -> None:
        async def with_client() -> None:
            async with Client(self.connection) as admin:
                await work(admin)

        asyncio.run(with_client())


async def remove_attempts(admin: Client) -> None:
    """Delete what attempts have made besides what they were to: operators of later tests would see to it."""
    for resource in (BUNDLE_INSTANCES, BUNDLE_DEPLOYMENTS, BUNDLES):
        for one in await listed(admin, resource):
            name = one["metadata"]["name"]
            if name.startswith(ATTEMPT):
                with suppress(NotFoundError):
                    await admin.patch(resource, "", name, b'{"metadata":{"finalizers":null}}')
                    await admin.delete(resource, "", name)


@pytest.fixture(scope="module")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grounds]:
    """On the worker's control plane, which tests with the fixture `plane` have to themselves."""
    plane = WORKERS_PLANE.get(tmp_path_factory.getbasetemp() / f"plane-{uuid.uuid4().hex[:8]}")
    grounds = Grounds(plane.kubeconfig)
    yield grounds
    grounds.end()


@pytest.fixture
def setting(request: pytest.FixtureRequest, grounds: Grounds) -> str:
    """The policies of this setting are in force."""
    grounds.change_to(request.param)
    return str(request.param)


@pytest.fixture
async def room(grounds: Grounds) -> AsyncIterator[Room]:
    async with room_of(grounds.connection, grounds.mark, f"{ATTEMPT}{uuid.uuid4().hex[:8]}") as room:
        yield room


@pytest.fixture
async def served(tenant: Tenant, policies: Installation, operators: StartOperator) -> Operator:
    """An operator, and a deployment of the tenant that it serves as the tenant's account."""
    operator = operators()
    await serve(tenant, operator)
    return operator


@pytest.fixture
async def guarded_operator(  # noqa: PLR0917 - fixtures
    plane: ControlPlane, admin: Client, tenant: Tenant, operators: StartOperator, helm: HelmProgram, tmp_path: Path
) -> AsyncIterator[Operator]:
    """An operator with a user of its own, which has every right, while the policies are in force."""
    account = Account(tenant.system, OPERATOR_ACCOUNT)
    await grant_everywhere(admin, account, (EVERYTHING,))
    await tenant.guard()
    async with proxy_before(plane, tmp_path, user=account.user) as proxy:
        operator = operators(kubeconfig=proxy.kubeconfig, arguments=[f"--helm={helm.path}"])
        await operator.start()
        yield operator
        await operator.stop()

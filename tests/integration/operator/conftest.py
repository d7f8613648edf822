"""Operators on the control plane of the worker."""

import signal
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Mode
from rukpak_py.api.policies.installation import Installation
from rukpak_py.api.upgrades import Approval
from rukpak_py.kube.client import Client
from tests.cluster import CONTROLLERS
from tests.integration.operator.process import Operator, ended_cleanly
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Proxy, proxy_before

StartOperator = Callable[..., Operator]
HAS_FAILED = pytest.StashKey[bool]()


def installation_of(system_namespace: str, arguments: Sequence[str]) -> Installation:
    """The installation that these flags of an operator make."""
    given = dict(one.removeprefix("--").split("=", 1) for one in arguments if "=" in one)
    return Installation(
        system_namespace=system_namespace,
        mode=Mode(given.get("mode", Mode.CLASSIC)),
        default_account=given.get("default-service-account", ""),
        least_approval=Approval(given.get("least-approval", Approval.AUTOMATIC)),
    )


class Controllers:
    """The process of the garbage collector, of the one that empties namespaces, and of many others."""

    def __init__(self, plane: ControlPlane) -> None:
        self._processes = plane.processes

    def pause(self) -> None:
        self._processes.send(CONTROLLERS, signal.SIGSTOP)

    def resume(self) -> None:
        self._processes.send(CONTROLLERS, signal.SIGCONT)


@pytest.fixture
async def tenant(admin: Client) -> AsyncIterator[Tenant]:
    tenant = Tenant(admin)
    await tenant.begin()
    yield tenant
    await tenant.end()


@pytest.fixture
async def policies(tenant: Tenant) -> Installation:
    """The admission policies are in force from now on; else they are from the first deployment with an account on."""
    await tenant.guard()
    return tenant.installation


@pytest.fixture
async def controllers(plane: ControlPlane, tenant: Tenant) -> AsyncIterator[Controllers]:
    """The controllers, which go on before the tenant ends: it waits for them."""
    controllers = Controllers(plane)
    yield controllers
    controllers.resume()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[HAS_FAILED] = True
    return report


@pytest.fixture
def operators(
    request: pytest.FixtureRequest, plane: ControlPlane, tenant: Tenant, tmp_path: Path
) -> Iterator[StartOperator]:
    """Make operators of the tenant. They end with the test, and none of them may have logged a traceback.

    The report of a test that failed shows what they logged, and what they were doing.

    `folder`: where store and log are, for one that goes on with what another has left.
    """
    made: list[Operator] = []

    def make(
        *,
        kubeconfig: Path | None = None,
        arguments: Sequence[str] = (),
        webhook: bool = False,
        module: str = "rukpak_py",
        tree: Path | None = None,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Operator:
        tenant.installation = installation_of(tenant.system, arguments)
        operator = Operator(
            kubeconfig=kubeconfig or plane.kubeconfig,
            folder=folder or tmp_path / f"operator-{len(made)}",
            arguments=[f"--system-namespace={tenant.system}", *arguments],
            webhook=webhook,
            module=module,
            tree=tree,
            environment=environment,
        )
        made.append(operator)
        return operator

    with ended_cleanly(made):
        yield make
        if HAS_FAILED in request.node.stash:
            for operator in made:
                request.node.add_report_section("teardown", "log of an operator", operator.where_it_is())


@pytest.fixture
async def proxy(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Proxy]:
    """A proxy before the API server, for operators that are given its kubeconfig."""
    async with proxy_before(plane, tmp_path) as proxy:
        yield proxy


@pytest.fixture
async def operator(operators: StartOperator) -> Operator:
    """One that is ready."""
    operator = operators()
    await operator.start()
    return operator

"""Typical mistakes: the conditions name the cause, and the documented way out leads to Ready."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from tests.broken_deployments.cases import CASES, Case
from tests.broken_deployments.scene import Scene, scene_on
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant

FLAGS = ("--image-unpack=direct", "--allow-source-addresses=127.0.0.0/8,::1")


@pytest.fixture
async def scene(
    plane: ControlPlane, tenant: Tenant, operators: StartOperator, case: Case, tmp_path: Path
) -> AsyncIterator[Scene]:
    """On the control plane of the worker, with an operator of its own."""
    if case.needs_policies:
        await tenant.settled()
    helm = [f"--helm={binaries.path('helm')}"] if case.needs_helm else []
    operator = operators(arguments=[*FLAGS, *helm])
    await operator.start()
    tenant.sees_to(tenant.name)
    async with scene_on(
        tenant.admin,
        plane.kubeconfig,
        tmp_path / "scene",
        name=tenant.name,
        namespace=tenant.namespace,
        system=tenant.system,
        content_url=operator.url("http", ""),
    ) as scene:
        yield scene


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_cause_is_named_and_the_way_out_leads_to_ready(case: Case, scene: Scene) -> None:
    broken = await case.bring(scene)
    await broken.until_told()
    await broken.repair()
    await broken.until_repaired()

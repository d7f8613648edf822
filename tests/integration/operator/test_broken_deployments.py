"""Typical mistakes: the conditions name the cause, and the documented way out leads to Ready."""

import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.diagnosis.explaining import explain
from rukpak_py.diagnosis.reading import read_view
from rukpak_py.server.page.deployment import deployment_page
from rukpak_py.server.page.layout import Frame
from tests.broken_deployments.cases import CASES, Case
from tests.broken_deployments.scene import Scene, scene_on
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant
from tests.waiting import eventually

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
    await _until_page_explains(scene)
    await broken.repair()
    await broken.until_repaired()


async def _until_page_explains(scene: Scene) -> None:
    """The sentence of `why` and its way out stand on the page."""

    async def explains() -> bool:
        view = await read_view(scene.client, scene.name)
        found, page = explain(view), _text(deployment_page(Frame(root="../"), view, datetime.now(UTC)))
        return bool(found.sentence and found.to_do) and found.sentence in page and found.to_do.replace("`", "") in page

    await eventually(explains, what="the page says why, and what to do")


def _text(page: bytes) -> str:
    """As a reader sees it."""
    return "".join(ET.fromstring(page).itertext())  # noqa: S314 - of our own page

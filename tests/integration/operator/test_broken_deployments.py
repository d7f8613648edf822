"""Typical mistakes: the conditions name the cause, so does `rukpakctl why`, and the way out leads to Ready."""

import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from e2e.cluster import binaries
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.explaining import explain
from rukpak_py.diagnosis.reading import read_view
from rukpak_py.server.page.deployment import deployment_page
from rukpak_py.server.page.layout import Frame
from tests.broken_deployments.cases import CASES, Case, Expected
from tests.broken_deployments.scene import Scene, scene_on
from tests.integration.command_line import rukpakctl
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document
from tests.waiting import eventually

WHY = {  # the cause by which the way out is found
    "image-name-misspelt": "FetchUnavailable",
    "image-tag-missing": "FetchUnavailable",
    "image-without-pull-secret": "FetchDenied",
    "image-digest-wrong": "FetchUnavailable",
    "git-branch-missing": "FetchUnavailable",
    "git-without-login": "FetchDenied",
    "http-not-found": "FetchUnavailable",
    "http-checksum-wrong": "FetchContent",
    "config-map-missing": "FetchUnavailable",
    "content-without-objects": "FetchContent",
    "manifest-invalid-yaml": "FetchContent",
    "upload-not-sent": "UploadPending",
    "chart-values-refused": "RenderingContent",
    "chart-values-missing": "ValuesMissing",
    "kind-missing": "KindMissing",
    "namespace-missing": "NamespaceMissing",
    "object-not-managed": "Conflict",
    "object-of-another-tool": "Conflict",
    "field-immutable": "Refused",
    "account-lacks-rights": "PermissionsMissing",
    "account-missing": "AccountMissing",
    "quota-exceeded": "Access",
    "policy-refuses": "Refused",
    "dependency-missing": "DependencyMissing",
    "container-image-missing": "ImagePullBackOff",
    "container-crashes": "CrashLoopBackOff",
    "container-config-missing": "CreateContainerConfigError",
    "never-ready": "ContainersNotReady",
    "pod-unschedulable": "Unschedulable",
    "pods-refused": "FailedCreate",
    "claim-unbound": "NoStorageClass",
    "stateful-set-claim-unbound": "NoStorageClass",
    "job-failed": "BackoffLimitExceeded",
    "custom-resource-fails": "Unhealthy",
    "class-misspelt": "ClassUnknown",
    "suspended": "Suspended",
    "upgrade-not-approved": "UpgradeNotApproved",
    "prune-over-budget": "PruneBudget",
    "deletion-loses-data": "DataLoss",
}
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
async def test_cause_is_named_and_the_way_out_leads_to_ready(case: Case, scene: Scene, plane: ControlPlane) -> None:
    broken = await case.bring(scene)
    await broken.until_told()
    await _until_page_explains(scene, broken.expected.event)
    await explained(plane, scene.name, broken.expected, WHY[case.name])
    await broken.repair()
    await broken.until_repaired()


async def _until_page_explains(scene: Scene, event: str) -> None:
    """The sentence of `why` and its way out stand on the page. `event`: reason of one that the cluster sends later."""

    async def explains() -> bool:
        view = await read_view(scene.client, scene.name)
        found, page = explain(view), _text(deployment_page(Frame(root="../"), view, datetime.now(UTC)))
        if event and event not in {one.reason for one in found.events}:
            return False
        return bool(found.sentence and found.to_do) and found.sentence in page and found.to_do.replace("`", "") in page

    await eventually(explains, what="the page says why, and what to do")


def _text(page: bytes) -> str:
    """As a reader sees it."""
    return "".join(ET.fromstring(page).itertext())  # noqa: S314 - of our own page


async def explained(plane: ControlPlane, name: str, expected: Expected, cause: str) -> None:
    """`rukpakctl why` names the object, the cause and a way out, and exits with 1 unless the deployment is ready."""
    done = await rukpakctl(plane, "why", name, "-o", "json")
    assert done.returncode == (0 if expected.is_ready else 1), done.stderr
    answer = orjson.loads(done.stdout)
    assert expected.object in answer["sentence"]
    at_fault = expected.at_fault or expected.object
    if at_fault:
        assert _key(answer["object"]) == at_fault
        assert at_fault in answer["sentence"]
    else:
        assert answer["object"]["kind"] in {BUNDLE_KIND, BUNDLE_DEPLOYMENT_KIND}
    if not expected.at_fault:
        assert expected.words[0] in answer["sentence"]
    assert answer["cause"] == cause
    assert answer["toDo"]
    assert answer["link"].endswith(f"#{expected.reason.lower()}")
    assert not expected.event or expected.event in {one["reason"] for one in answer["events"]}
    assert answer["unread"] == []


def _key(found: Document) -> str:
    return str(ObjectKey(found["group"], found["kind"], found["namespace"] or "", found["name"]))

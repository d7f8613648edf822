"""`rukpakctl approve` as users type it, for upgrades that wait on a real API server."""

from functools import partial

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import APPROVED_ANNOTATION, BUNDLE_INSTANCE_KIND
from rukpak_py.cli.cluster import approving
from rukpak_py.cli.cluster.deployments import DeploymentCommandError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES
from tests import manifests
from tests.integration.command_line import rukpakctl
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.upgrading import (
    MANUAL,
    NEVER,
    begun,
    installed,
    pending,
    publish,
    upgraded,
    waits,
)


async def test_approve_shows_the_plan_and_the_upgrade_begins(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await begun(tenant, MANUAL)
    plan = pending(await waits(tenant))
    done = await rukpakctl(plane, "approve", tenant.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"Upgrade of BundleDeployment {tenant.name} to Bundle {plan['bundle']}",
        "  Safe: 1 object created, 1 object changed",
        "  objects",
        f"    ConfigMap {tenant.namespace}/b",
        f"    ConfigMap {tenant.namespace}/a",
        f"bundledeployments.core.rukpak.io/{tenant.name} approved: {plan['digest']}",
    ]
    deployment = await upgraded(tenant, "two")
    owners = [
        one["manager"]
        for one in deployment["metadata"]["managedFields"]
        if f"f:{APPROVED_ANNOTATION}" in one["fieldsV1"].get("f:metadata", {}).get("f:annotations", {})
    ]
    assert owners == ["rukpakctl"]
    done = await rukpakctl(plane, "approve", tenant.name)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"Error: no upgrade of BundleDeployment {tenant.name} waits\n"


async def test_approve_refuses_the_digest_of_another_plan(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await begun(tenant, MANUAL)
    first = pending(await waits(tenant))["digest"]
    await publish(tenant, "three")
    await tenant.deploy("three", upgrades=MANUAL)
    second = pending(await waits(tenant, than=first))["digest"]
    done = await rukpakctl(plane, "approve", tenant.name, "--digest", first)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"that waits is {second}, not {first}: nothing is approved" in done.stderr
    assert APPROVED_ANNOTATION not in (await tenant.deployment())["metadata"].get("annotations", {})
    done = await rukpakctl(plane, "approve", tenant.name, "--digest", second, "-o", "json")
    assert done.returncode == 0, done.stderr
    printed = orjson.loads(done.stdout)
    assert (printed["kind"], printed["digest"], printed["approved"]) == ("BundleDeployment", second, True)
    await upgraded(tenant, "three")


async def test_plan_that_changes_after_it_was_shown_is_not_approved(tenant: Tenant, operator: Operator) -> None:
    await begun(tenant, MANUAL)
    await waits(tenant)
    _, shown = await approving.find_pending(tenant.admin, tenant.name)
    await publish(tenant, "three")
    await tenant.deploy("three", upgrades=MANUAL)
    await waits(tenant, than=shown.digest)
    with pytest.raises(DeploymentCommandError, match="nothing is approved"):
        await approving.approve(tenant.admin, tenant.name, shown.digest, now=False)
    assert await installed(tenant) == "one"


async def test_approval_is_written_to_what_was_read_and_nothing_newer(
    tenant: Tenant, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deployment changes between the look and the write: the command looks again."""
    await begun(tenant, MANUAL | NEVER)
    digest = pending(await waits(tenant))["digest"]
    looks, find = list[int](), approving.find_pending

    async def find_and_change(*arguments: str) -> object:
        found = await find(tenant.admin, *arguments[1:])
        looks.append(1)
        if len(looks) == 1:
            await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, b'{"metadata":{"labels":{"changed":"yes"}}}')
        return found

    monkeypatch.setattr(approving, "find_pending", find_and_change)
    await approving.approve(tenant.admin, tenant.name, digest, now=False)
    assert len(looks) == 2
    assert pending(await waits(tenant, reason="OutsideWindow"))["approved"] == digest


async def test_withdrawn_approval_counts_no_more_and_now_skips_windows(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await begun(tenant, MANUAL | NEVER)
    await waits(tenant)
    run = partial(rukpakctl, plane, "approve", tenant.name)
    assert (await run()).returncode == 0
    assert pending(await waits(tenant, reason="OutsideWindow"))["approved"]
    done = await run("--withdraw")
    assert (done.returncode, done.stderr) == (0, "")
    assert "approval withdrawn: sha256:" in done.stdout
    assert not pending(await waits(tenant, reason="NotApproved")).get("approved")
    assert (await run("--withdraw", "--now")).returncode == 2
    assert (await run("--now")).returncode == 0
    await upgraded(tenant, "two")


async def test_instance_that_owns_the_deployment_is_annotated(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await publish(tenant, "one")
    await publish(tenant, "two")

    async def apply(source: str) -> None:
        body = manifests.deployment(tenant.name, manifests.source(source), upgrades=MANUAL)
        body["kind"] = BUNDLE_INSTANCE_KIND
        await tenant.admin.apply(
            BUNDLE_INSTANCES, "", tenant.name, orjson.dumps(body), field_manager="user", force=True
        )

    tenant.sees_to(tenant.name)
    try:
        await apply("one")
        await tenant.until(
            lambda found: condition(found, "Ready").get("status") == "True", what="version one is installed"
        )
        await apply("two")
        await waits(tenant)
        done = await rukpakctl(plane, "approve", tenant.name)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"bundleinstances.core.rukpak.io/{tenant.name} approved" in done.stdout
        await upgraded(tenant, "two")
        instance = await tenant.read(BUNDLE_INSTANCES, "", tenant.name)
        assert APPROVED_ANNOTATION in instance["metadata"]["annotations"]
    finally:
        await tenant.admin.delete(BUNDLE_INSTANCES, "", tenant.name)


async def test_deployment_that_does_not_exist_is_named(tenant: Tenant, plane: ControlPlane) -> None:
    done = await rukpakctl(plane, "approve", tenant.name)
    assert (done.returncode, done.stdout) == (3, "")
    assert f'"{tenant.name}" not found' in done.stderr

"""Upgrades that wait while values change, and while GitOps tools write their manifest again.

And what keeps one from being safe, beside rights: a hook, and a version of a CRD that goes.
"""

from typing import Any

import orjson
import pytest

from rukpak_py.api.names import APPROVED_ANNOTATION, RECONCILE_AT_ANNOTATION
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, SECRETS
from tests import manifests
from tests.integration.operator import charts
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.kinds import instance, things
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.upgrading import (
    MANUAL,
    NEVER,
    WHEN_SAFE,
    annotate,
    begun,
    installed,
    pending,
    publish,
    upgraded,
    waits,
)
from tests.manifests import Document, crd, strings
from tests.unit.charts import config_map, hook

FLUX, ARGO = "kustomize-controller", "argocd-controller"
PASSWORD, NEXT_PASSWORD = "correct-horse-battery", "staple-the-horse"
TEMPLATE = config_map("a", ".Values.version") + (
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: {{ .Values.password }}}\n"
)


@pytest.fixture
async def renderer(operators: StartOperator, helm: HelmProgram) -> Operator:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    return operator


async def put_password(tenant: Tenant, password: str) -> None:
    text = {"values.yaml": f"password: {password}\n"}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": text}
    await tenant.admin.apply(SECRETS, tenant.system, "login", orjson.dumps(body), field_manager="user", force=True)


async def chart_data(tenant: Tenant) -> str:
    return str((await tenant.read(CONFIG_MAPS, tenant.namespace, "a"))["data"]["value"])


async def test_secret_of_values_that_changes_while_an_upgrade_waits_voids_its_approval(
    tenant: Tenant, renderer: Operator
) -> None:
    items = await charts.publish(tenant, TEMPLATE)
    login = {"kind": "Secret", "name": "login"}
    config = {"valuesFrom": [login], "values": {"version": "one"}}
    await put_password(tenant, PASSWORD)
    await charts.deploy(tenant, items, config=config, upgrades=MANUAL | NEVER)
    await tenant.ready()
    config = config | {"values": {"version": "two"}}
    await charts.deploy(tenant, items, config=config, upgrades=MANUAL | NEVER)
    first = pending(await waits(tenant))["digest"]
    await annotate(tenant, first)
    await waits(tenant, reason="OutsideWindow")

    await put_password(tenant, NEXT_PASSWORD)
    deployment = await waits(tenant, than=first)
    assert not pending(deployment).get("approved")
    assert not [one for one in (PASSWORD, NEXT_PASSWORD) if one in orjson.dumps(deployment).decode() + renderer.log]
    await annotate(tenant, f"{first},now")
    await _looked_at(tenant, "again")
    assert await chart_data(tenant) == "one"
    await annotate(tenant, f"{pending(deployment)['digest']},now")
    await tenant.until(lambda one: len(one["status"]["history"]) == 2, what="it is installed", seconds=60)
    assert await chart_data(tenant) == "two"


async def test_hook_that_was_not_there_keeps_an_upgrade_from_being_safe(tenant: Tenant, renderer: Operator) -> None:
    await charts.deploy(tenant, await charts.publish(tenant, config_map("a", '"1"')), upgrades=WHEN_SAFE)
    await tenant.ready()
    more = config_map("a", '"2"') + "---\n" + hook("before", "pre-upgrade")
    await charts.deploy(tenant, await charts.publish(tenant, more, name="next"), upgrades=WHEN_SAFE)
    deployment = await waits(tenant)
    assert pending(deployment)["verdict"] == "NeedsReview"
    assert any("before" in line for line in pending(deployment)["hooks"])
    assert await chart_data(tenant) == "1"


async def test_version_of_a_crd_that_goes_keeps_an_upgrade_from_being_safe(tenant: Tenant, operator: Operator) -> None:
    group = f"{tenant.name}.rukpak.test"
    both, thing = crd(group, "v2", "v1", schema=strings("a")), instance(group, "v2", "one", tenant.namespace, a="x")
    await publish(tenant, "one", both, thing)
    await publish(tenant, "two", crd(group, "v2", schema=strings("a")), thing)
    await tenant.deploy("one", upgrades=WHEN_SAFE)
    await tenant.ready()
    await tenant.deploy("two", upgrades=WHEN_SAFE)
    deployment = await waits(tenant)
    plan = pending(deployment)
    assert plan["verdict"] == "NeedsReview"
    assert any("v1" in line for line in plan["crds"])
    assert await installed(tenant) == "one"


@pytest.mark.parametrize("spec", [{"upgrades": MANUAL}, {"upgrades": {"approval": "Automatic"}}], ids=str)
async def test_value_that_is_stored_while_an_upgrade_waits_is_not_lost(
    tenant: Tenant, operator: Operator, spec: Document
) -> None:
    """Once it may begin, by an approval or because the rules changed, its gates look at the objects of that moment."""
    group = f"{tenant.name}.rukpak.test"
    await publish(tenant, "one", crd(group, schema=strings("a", "b")))
    await publish(tenant, "two", crd(group, schema=strings("a")))
    await tenant.deploy("one", upgrades=MANUAL)
    await tenant.ready()
    await tenant.deploy("two", upgrades=MANUAL)
    digest = pending(await waits(tenant))["digest"]
    stored = instance(group, "v1", "late", tenant.namespace, b="precious")
    await tenant.admin.create(things(group), tenant.namespace, orjson.dumps(stored))

    if spec["upgrades"] == MANUAL:
        await annotate(tenant, digest)
    else:
        await tenant.deploy("two", **spec)
    deployment = await tenant.until(
        lambda one: condition(one, "Installed").get("reason") == "UpgradeFailed", what="it is refused"
    )
    assert f"{tenant.namespace}/late" in condition(deployment, "Installed")["message"]
    assert await installed(tenant) == "one"
    assert "upgrade" not in deployment["status"], "it has not begun"
    assert (await tenant.read(things(group), tenant.namespace, "late"))["spec"] == {"b": "precious"}

    await tenant.admin.patch(things(group), tenant.namespace, "late", b'{"spec":{"b":null}}')
    await upgraded(tenant, "two")


async def test_stricter_safety_of_crds_counts_for_an_upgrade_that_waits(tenant: Tenant, operator: Operator) -> None:
    group = f"{tenant.name}.rukpak.test"
    schema, required = strings("a"), strings("a")
    required["properties"]["spec"]["required"] = ["a"]
    await publish(tenant, "one", crd(group, schema=schema))
    await publish(tenant, "two", crd(group, schema=required))
    await tenant.deploy("one", upgrades=MANUAL)
    await tenant.ready()
    stored = instance(group, "v1", "bare", tenant.namespace)
    await tenant.admin.create(things(group), tenant.namespace, orjson.dumps(stored))
    await tenant.deploy("two", upgrades=MANUAL, crdSafety="Warn")
    found = pending(await waits(tenant))
    assert any("spec.a" in line for line in found["crds"]), found
    await tenant.deploy("two", upgrades=MANUAL, crdSafety="Enforce")
    deployment = await tenant.until(
        lambda one: condition(one, "Installed").get("reason") == "UpgradeFailed", what="it is refused"
    )
    assert "spec.crdSafety: Warn" in condition(deployment, "Installed")["message"]
    assert await installed(tenant) == "one"


async def reconciled(tenant: Tenant, tool: str, version: str, upgrades: Document, **metadata: Any) -> None:
    """The tool applies its manifest, as Flux and Argo CD do: everything that it says, with force."""
    body = manifests.deployment(tenant.name, manifests.source(version), upgrades=upgrades)
    body["metadata"] |= metadata
    await tenant.admin.apply(BUNDLE_DEPLOYMENTS, "", tenant.name, orjson.dumps(body), field_manager=tool, force=True)


@pytest.mark.parametrize("tool", [FLUX, ARGO])
async def test_gitops_tools_that_write_their_manifest_again_withdraw_no_approval(
    tenant: Tenant, operator: Operator, tool: str
) -> None:
    tenant.sees_to(tenant.name)
    for version in ("one", "two"):
        await publish(tenant, version)
    rules = MANUAL | NEVER
    await reconciled(tenant, tool, "one", rules)
    await tenant.ready()
    await reconciled(tenant, tool, "two", rules)
    digest = pending(await waits(tenant))["digest"]
    await annotate(tenant, digest)
    await waits(tenant, reason="OutsideWindow")

    await annotate(tenant, None)  # Flux removes what kubectl has set, and Argo CD what prune finds
    await reconciled(tenant, tool, "two", rules)
    deployment = await _looked_at(tenant, "after the tool")
    assert (pending(deployment)["digest"], pending(deployment)["approved"]) == (digest, digest)
    assert await installed(tenant) == "one"

    await reconciled(tenant, tool, "two", MANUAL)  # Git drops the window
    await upgraded(tenant, "two")


async def test_gitops_tool_undoes_edited_rules_and_what_waits_still_waits(tenant: Tenant, operator: Operator) -> None:
    """An approval in Git is one for what Git says: a digest there counts once, and is no yes for later content."""
    tenant.sees_to(tenant.name)
    for version in ("one", "two", "three"):
        await publish(tenant, version)
    await reconciled(tenant, FLUX, "one", MANUAL | NEVER)
    await tenant.ready()
    await reconciled(tenant, FLUX, "two", MANUAL | NEVER)
    digest = pending(await waits(tenant))["digest"]
    body = orjson.dumps({"spec": {"upgrades": {"windows": None}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body, field_manager="kubectl-patch")
    await waits(tenant)  # generations that the operator never saw would make it another plan
    await reconciled(tenant, FLUX, "two", MANUAL | NEVER)
    again = pending(await waits(tenant))
    assert again["digest"] == digest
    assert await installed(tenant) == "one"

    approved = {"annotations": {APPROVED_ANNOTATION: f"{digest},now"}}
    await reconciled(tenant, FLUX, "two", MANUAL | NEVER, **approved)
    await upgraded(tenant, "two")
    await reconciled(tenant, FLUX, "three", MANUAL | NEVER, **approved)
    assert not pending(await waits(tenant)).get("approved")
    assert await installed(tenant) == "two"


async def _looked_at(tenant: Tenant, mark: str) -> Document:
    body = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: mark}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)
    return await tenant.until(lambda one: one["status"].get("lastHandledReconcileAt") == mark, what="it was looked at")


async def test_first_install_drift_and_deletion_never_wait(tenant: Tenant, operator: Operator) -> None:
    await begun(tenant, MANUAL | NEVER)
    await waits(tenant)
    assert condition(await tenant.deployment(), "Installed")["status"] == "True"
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await tenant.left_nothing()

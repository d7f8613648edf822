"""`rukpakctl history` and `rollback` as users type them, of every format, on a real API server."""

from contextlib import suppress
from functools import partial
from typing import Any

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND, CONTENT_DIGEST_ANNOTATION, PLAIN_CLASS
from rukpak_py.cli.cluster import rolling_back
from rukpak_py.cli.cluster.deployments import DeploymentCommandError
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES, CONFIG_MAPS, CRDS
from tests import manifests
from tests.integration.command_line import Done, rukpakctl
from tests.integration.operator import charts, olm
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, asked_of, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.test_half_upgrades import half_upgraded
from tests.integration.operator.upgrading import MANUAL, annotate, installed, pending, publish, upgraded, waits
from tests.integration.operator.uploading import admin_of, archive
from tests.integration.tenancy.accounts import EVERYTHING, create_account, grant, rule
from tests.manifests import Document
from tests.unit.charts import config_map as template
from tests.unit.charts import hook
from tests.unit.web_servers import Answer
from tests.waiting import eventually

USER = "kubectl-client-side-apply"


async def rolled_back(plane: ControlPlane, tenant: Tenant, *arguments: str) -> Done:
    """The tests deploy as a field manager that is no kubectl."""
    done = await rukpakctl(plane, "rollback", tenant.name, "--force", *arguments)
    assert done.returncode == 0, done.stderr
    return done


async def revisions(tenant: Tenant) -> list[int]:
    return [entry["revision"] for entry in (await tenant.deployment())["status"]["history"]]


async def one_then_two(tenant: Tenant, **spec: Any) -> None:
    await publish(tenant, "one")
    await publish(tenant, "two")
    for version in ("one", "two"):
        await tenant.deploy(version, **spec)
        await tenant.ready()


async def test_history_lists_what_rollback_goes_back_to(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await one_then_two(tenant)
    done = await rukpakctl(plane, "history", tenant.name)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[:3] for line in lines if not line.startswith(" ")] == [
        ["REVISION", "STATE", "OUTCOME"],
        ["2", "installed", "Healthy"],
        ["1", "former", "Healthy"],
    ]
    assert max(map(len, lines)) <= 100
    found = orjson.loads((await rukpakctl(plane, "history", tenant.name, "-o", "json")).stdout)
    assert [(one["revision"], one["restorable"]) for one in found["revisions"]] == [(2, True), (1, True)]

    done = await rolled_back(plane, tenant)
    bundle = found["revisions"][1]["bundle"]
    assert done.stdout == (f"bundledeployments.core.rukpak.io/{tenant.name} set back to revision 1 (Bundle {bundle})\n")
    await tenant.ready()
    assert await installed(tenant) == "one"
    assert await revisions(tenant) == [3, 2, 1]
    await rolled_back(plane, tenant, "--to", "2")
    await tenant.ready()
    assert (await installed(tenant), await revisions(tenant)) == ("two", [4, 3, 2, 1])
    done = await rukpakctl(plane, "rollback", tenant.name, "--to", "9")
    assert (done.returncode, done.stdout) == (3, "")
    assert "has no revision 9; its revisions are 4, 3, 2, 1" in done.stderr


async def test_options_come_back_and_nothing_else(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    await publish(tenant, "one")
    override = {"kind": "ConfigMap", "name": "a", "prune": False}
    await tenant.deploy("one", overrides=[override], config={"any": {"null": None, "list": [1, None]}})
    await tenant.ready()
    await tenant.deploy("one", prune={"enabled": False})
    await tenant.until(lambda found: len(found["status"]["history"]) == 2, what="the second revision")
    await rolled_back(plane, tenant, "--to", "1")
    spec = (await tenant.ready())["spec"]
    assert [(one["kind"], one["name"], one["prune"]) for one in spec["overrides"]] == [("ConfigMap", "a", False)]
    assert spec["config"] == {"any": {"null": None, "list": [1, None]}}
    assert spec["prune"] == {"enabled": False}


async def test_account_goes_back_with_its_rights_of_today(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    """The account stays what the spec says, and a right that it has lost refuses the rollback."""
    account = await create_account(tenant.admin, tenant.namespace, rules=(EVERYTHING,))
    await one_then_two(tenant, installNamespace=tenant.namespace, serviceAccountName=account.name)
    await grant(tenant.admin, account, (rule("configmaps", verbs=("get", "list", "watch")),))
    await rolled_back(plane, tenant)
    refused = await tenant.until(
        lambda seen: "lacks" in condition(seen, "Installed").get("message", ""), what="the rollback is refused"
    )
    assert condition(refused, "Installed")["reason"] == "UpgradeFailed"
    assert await installed(tenant) == "two"
    await grant(tenant.admin, account, (EVERYTHING,))
    deployment = await tenant.ready(seconds=90.0)
    assert await installed(tenant) == "one"
    assert deployment["spec"]["serviceAccountName"] == account.name
    assert [one["account"] for one in deployment["status"]["history"]] == [str(account)] * 3


async def test_content_whose_source_is_gone_comes_from_the_store(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await one_then_two(tenant)
    await tenant.admin.delete(CONFIG_MAPS, tenant.system, "one")
    await rolled_back(plane, tenant)
    deployment = await tenant.ready()
    assert await installed(tenant) == "one"
    assert deployment["spec"]["template"]["metadata"]["annotations"][CONTENT_DIGEST_ANNOTATION]


async def test_source_that_is_changed_later_is_fetched_and_refused_by_the_digest_that_is_left(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    """A client that applies another source keeps the annotation, which it does not know."""
    await one_then_two(tenant)
    await rolled_back(plane, tenant)
    await tenant.ready()
    await publish(tenant, "three")
    await tenant.deploy("three")
    await tenant.until(
        lambda seen: "remove the annotation" in condition(seen, "Ready").get("message", ""), what="it is refused"
    )
    assert await installed(tenant) == "one"
    removed = {"spec": {"template": {"metadata": {"annotations": {CONTENT_DIGEST_ANNOTATION: None}}}}}
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, orjson.dumps(removed))
    await tenant.ready()
    assert await installed(tenant) == "three"


async def test_image_that_is_gone_from_the_registry_comes_from_the_store(
    tenant: Tenant, operators: StartOperator, plane: ControlPlane
) -> None:
    operator = operators(arguments=[LOOPBACK])
    await operator.start()

    async def value(expected: str) -> None:
        async def look() -> bool:
            (found,) = (await tenant.owned(CONFIG_MAPS)).values()
            return bool(found["data"]["v"] == expected)

        await eventually(look, what=f"the value is {expected}")

    async with fetching(tenant) as fetch:
        for tag in ("v1", "v2"):
            await fetch.deploy(fetch.image(tag))
            await tenant.ready()
        await value("v2")
        fetch.registry.answer = lambda _: Answer(404)
        await operator.stop()
        await operator.start()
        fetch.registry.asked.clear()
        await rolled_back(plane, tenant)
        deployment = await tenant.ready()
        await value("v1")
        assert "@sha256:" in deployment["spec"]["template"]["spec"]["source"]["image"]["ref"]
        assert asked_of(fetch.registry) == []


async def test_upload_comes_back_from_the_store(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    client, bundle = await admin_of(plane, tenant, operator), ""
    for value in ("1", "2"):
        source = {"type": "upload", "upload": {}}
        content = {
            "metadata": {"labels": {"content": value}},
            "spec": {"provisionerClassName": PLAIN_CLASS, "source": source},
        }
        await tenant.deploy(template=content)

        async def other(than: str) -> str | None:
            return next((name for _, name in await tenant.owned(BUNDLES) if name != than), None)

        bundle = await eventually(partial(other, bundle), what="its Bundle is there")
        assert (await client.put(bundle, archive(tenant, value))).status == 201
        await tenant.ready()
    await rolled_back(plane, tenant)
    await tenant.ready()
    (found,) = (await tenant.owned(CONFIG_MAPS)).values()
    assert found["data"] == {"v": "1"}


async def test_change_is_made_to_what_was_read_and_nothing_newer(tenant: Tenant, operator: Operator) -> None:
    """The operator writes to the object all the time, which is no reason to fail; another spec is one."""
    await one_then_two(tenant)
    found = await rolling_back.find(tenant.admin, tenant.name)
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, b'{"metadata":{"labels":{"changed":"yes"}}}')
    await rolling_back.roll_back(tenant.admin, found)
    await tenant.ready()
    assert await installed(tenant) == "one"
    found = await rolling_back.find(tenant.admin, tenant.name, 2)
    await tenant.deploy("one", createNamespace=True, installNamespace=tenant.namespace)
    with pytest.raises(DeploymentCommandError, match="was changed meanwhile, and nothing is set back"):
        await rolling_back.roll_back(tenant.admin, found)


async def test_half_an_upgrade_is_undone(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    await half_upgraded(tenant)
    await rolled_back(plane, tenant)
    await tenant.ready()
    found = await tenant.owned(CONFIG_MAPS)
    assert {name: one["data"] for (_, name), one in found.items()} == {"both": {"v": "1"}, "dropped": {"v": "1"}}
    assert (await revisions(tenant))[-1] == 1


async def test_olm_bundle_goes_back_from_a_crd_with_another_version(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    package = f"p{tenant.name.removeprefix('t-')}"
    first = await olm.published(tenant, package)
    second = await olm.published(tenant, package, version="2.0.0", more_versions=("v2",))
    for spec in (first, second):
        await tenant.deploy(**spec)
        await tenant.ready()
    name = f"demos.{package}.example.com"

    async def versions() -> list[str]:
        return [one["name"] for one in (await tenant.read(CRDS, "", name))["spec"]["versions"]]

    assert await versions() == ["v1", "v2"]
    done = await rolled_back(plane, tenant)
    assert f"CustomResourceDefinition {name}: objects are stored as v1;" in done.stderr
    deployment = await tenant.ready()
    assert await versions() == ["v1"]
    assert deployment["status"]["content"]["name"] == f"{package}.v1.0.0"
    assert await revisions(tenant) == [3, 2, 1]


async def test_chart_runs_its_hooks_of_rollbacks(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram, plane: ControlPlane
) -> None:
    await operators(arguments=[f"--helm={helm.path}"]).start()
    hooks = "---\n".join(hook(f"{event}-{{{{ .Values.v }}}}", event) for event in ("pre-upgrade", "pre-rollback"))
    items = await charts.publish(tenant, f"{template('settings')}---\n{hooks}")

    async def ran(deployment: Document) -> list[tuple[str, str]]:
        return [(one["event"], one["name"]) for one in deployment["status"].get("hooks", [])]

    for v in ("one", "two"):
        await charts.deploy(tenant, items, config={"values": {"v": v}})
        deployment = await tenant.ready()
    assert await ran(deployment) == [("pre-upgrade", "pre-upgrade-two")]
    done = await rolled_back(plane, tenant)
    assert "(pre-upgrade) has run (succeeded): what it changed stays changed" in done.stderr
    await tenant.until(lambda found: len(found["status"]["history"]) == 3, what="the third revision")
    deployment = await tenant.ready()
    assert await ran(deployment) == [("pre-rollback", "pre-rollback-one")]
    assert deployment["spec"]["config"]["values"] == {"v": "one"}


async def test_rollback_waits_for_its_own_approval(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    await publish(tenant, "one")
    await publish(tenant, "two")
    await tenant.deploy("one", upgrades=MANUAL)
    await tenant.ready()
    await tenant.deploy("two", upgrades=MANUAL)
    first = pending(await waits(tenant))["digest"]
    await annotate(tenant, first)
    await upgraded(tenant, "two")
    await rolled_back(plane, tenant)
    second = pending(await waits(tenant))["digest"]
    assert (second != first, await installed(tenant)) == (True, "two")
    await annotate(tenant, second)
    deployment = await upgraded(tenant, "one")
    assert deployment["spec"]["upgrades"]["approval"] == "Manual"
    await rolled_back(plane, tenant, "--to", "2")
    third = pending(await waits(tenant))["digest"]
    assert third not in {first, second}


ARGO = {"annotations": {"argocd.argoproj.io/tracking-id": "shop:core.rukpak.io/BundleDeployment:/web"}}
FLUX = {"labels": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}


@pytest.mark.parametrize(
    "case",
    [
        (ARGO, USER, "it is managed by Argo CD (application shop)"),
        (FLUX, USER, "it is managed by Flux (Kustomization flux-system/apps)"),
        ({}, "kustomize-controller", 'field manager "kustomize-controller" owns spec.template'),
        ({}, USER, ""),
    ],
    ids=["argo", "flux", "manager", "kubectl"],
)
async def test_deployment_that_another_client_manages_is_not_changed(
    tenant: Tenant, operator: Operator, plane: ControlPlane, case: tuple[Document, str, str]
) -> None:
    metadata, manager, text = case
    await publish(tenant, "one")
    await publish(tenant, "two")
    tenant.sees_to(tenant.name)
    for version in ("one", "two"):
        body = manifests.deployment(tenant.name, manifests.source(version))
        body["metadata"] |= metadata
        await tenant.admin.apply(
            BUNDLE_DEPLOYMENTS, "", tenant.name, orjson.dumps(body), field_manager=manager, force=True
        )
        await tenant.ready()
    before = await tenant.deployment()
    done = await rukpakctl(plane, "rollback", tenant.name)
    if not text:
        assert done.returncode == 0, done.stderr
        await tenant.ready()
        assert await installed(tenant) == "one"
        return
    assert done.returncode == 1
    assert text in done.stderr
    assert "Nothing was changed" in done.stderr
    assert "kind: BundleDeployment" in done.stdout
    assert "name: one" in done.stdout
    after = await tenant.deployment()
    assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], before["metadata"]["generation"])
    await rolled_back(plane, tenant)
    await tenant.ready()
    assert await installed(tenant) == "one"


async def test_instance_that_owns_the_deployment_is_changed(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await publish(tenant, "one")
    await publish(tenant, "two")
    tenant.sees_to(tenant.name)
    try:
        for version in ("one", "two"):
            body = manifests.deployment(tenant.name, manifests.source(version))
            body["kind"] = BUNDLE_INSTANCE_KIND
            await tenant.admin.apply(
                BUNDLE_INSTANCES, "", tenant.name, orjson.dumps(body), field_manager=USER, force=True
            )

            async def is_there(version: str = version) -> bool:
                with suppress(NotFoundError):
                    return await installed(tenant) == version
                return False

            await eventually(is_there, what=f"{version} is installed", seconds=30)
            await tenant.ready()
        done = await rukpakctl(plane, "rollback", tenant.name)
        assert done.returncode == 0, done.stderr
        assert f"bundleinstances.core.rukpak.io/{tenant.name} set back to revision 1" in done.stdout
        await tenant.until(lambda found: len(found["status"]["history"]) == 3, what="the third revision")
        await tenant.ready()
        assert await installed(tenant) == "one"
        assert condition(await tenant.deployment(), "Ready")["status"] == "True"
    finally:
        await tenant.admin.delete(BUNDLE_INSTANCES, "", tenant.name)

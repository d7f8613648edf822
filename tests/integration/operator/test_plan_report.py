"""The plan of an upgrade as the operator serves it, on a real API server: all of it, and to whom."""

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import GROUP
from tests.integration.operator.counting import calls_during, settled
from tests.integration.operator.planning import by_name, fields_of, plan_for
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.upgrading import MANUAL, annotate, begun, pending, publish, upgraded, waits
from tests.integration.operator.uploading import accounts
from tests.manifests import Document, config_map, manifest, workload

SECRET_VALUES = ("hunter2-old", "hunter2-new")


def secret(tenant: Tenant, value: str) -> Document:
    return manifest("v1", "Secret", "s", tenant.namespace, stringData={"password": value, "same": "unchanged-value"})


def web(tenant: Tenant, image: str) -> Document:
    found = workload("web", tenant.namespace)
    found["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return found


async def waiting(tenant: Tenant) -> str:
    """An upgrade that changes a ConfigMap, a Secret and a workload, creates one object and drops one. Its digest."""
    old = [secret(tenant, SECRET_VALUES[0]), web(tenant, "web:1"), config_map("gone", tenant.namespace)]
    await publish(tenant, "one", *old)
    await publish(
        tenant, "two", secret(tenant, SECRET_VALUES[1]), web(tenant, "web:2"), config_map("b", tenant.namespace)
    )
    await tenant.deploy("one", upgrades=MANUAL)
    await tenant.until(
        lambda found: condition(found, "Installed").get("status") == "True", what="version one is installed"
    )
    await tenant.deploy("two", upgrades=MANUAL)
    digest: str = pending(await waits(tenant))["digest"]
    return digest


async def test_plan_has_the_digest_of_the_status_and_the_fields_that_change(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    digest = await waiting(tenant)
    plan = await plan_for(tenant, plane, operator)
    assert (plan.state, plan.digest, plan.verdict) == ("Waiting", digest, "Safe")
    assert plan.counts == {"created": 1, "changed": 3, "pruned": 1, "taken": 0, "kept": 0, "replaced": 0}
    objects = by_name(plan)
    assert {name: one.action for name, one in objects.items()} == {
        "ConfigMap/gone": "pruned",
        "ConfigMap/a": "changed",
        "ConfigMap/b": "created",
        "Secret/s": "changed",
        "Deployment/web": "changed",
    }
    assert fields_of(objects["ConfigMap/a"]) == {"data.version": ('"one"', '"two"')}
    image = "spec.template.spec.containers[name=c].image"
    assert fields_of(objects["Deployment/web"]) == {image: ('"web:1"', '"web:2"')}
    assert [(one.container, one.old, one.new) for one in plan.images] == [("c", "web:1", "web:2")]
    (password,) = objects["Secret/s"].fields
    assert (password.path, password.secret) == ("data.password", True)
    assert {one.basis for one in plan.objects if one.action == "changed"} == {"dryRun"}
    assert not [one for one in ("hunter2", "aHVudGVyMi") if one in repr(plan)]
    before = await tenant.deployment()
    assert before["status"]["pendingUpgrade"]["digest"] == digest, "a report leaves everything as it was"
    await annotate(tenant, plan.digest)
    await upgraded(tenant, "two")
    assert (await plan_for(tenant, plane, operator)).state == "Installed"


async def test_dry_runs_are_sent_once_for_each_changed_object_and_nothing_is_written(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await waiting(tenant)
    await settled(operator)
    first = await calls_during(operator, lambda: plan_for(tenant, plane, operator))
    assert {call: number for call, number in first.items() if call[0] == "dry_run"} == {
        ("dry_run", "configmaps", "200"): 1,
        ("dry_run", "secrets", "200"): 1,
        ("dry_run", "deployments", "200"): 1,
    }
    assert not {verb for verb, _, _ in first} - {"dry_run", "get"}
    again = await calls_during(operator, lambda: plan_for(tenant, plane, operator))
    assert not {call for call in again if call[0] == "dry_run"}
    assert not await calls_during(operator, lambda: settled(operator)), "a waiting upgrade costs nothing at rest"


async def test_plan_is_for_users_who_may_get_the_deployment_and_impersonate_its_account(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await begun(tenant, MANUAL)
    await waits(tenant)
    users = accounts(plane, tenant, operator)
    get = {"apiGroups": [GROUP], "resources": ["bundledeployments"], "verbs": ["get"]}
    impersonate = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}
    for name, rules, status in (
        ("nothing", [], 403),
        ("reads", [get], 403),
        ("impersonates", [impersonate], 403),
        ("both", [get, impersonate], 200),
    ):
        caller = await users.caller(name)
        await users.grant(name, "plans", rules)
        answer = await caller.ask("GET", f"/plans/{tenant.name}")
        assert (name, answer.status) == (name, status)
        assert ('"objects"' in answer.text) is (status == 200)
    assert (await caller.ask("GET", f"/plans/{tenant.name}-other")).status == 404


async def test_upgrade_that_a_gate_refuses_has_a_plan_and_the_reason(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    """Nothing of it waits in the status: it goes on by itself as soon as nothing refuses it."""
    await publish(tenant, "one")
    await publish(tenant, "two", config_map("b", "missing-namespace"))
    await tenant.deploy("one")
    await tenant.ready()
    assert (await plan_for(tenant, plane, operator)).state == "Installed"
    await tenant.deploy("two")
    await tenant.until(lambda found: condition(found, "Ready").get("status") == "False", what="it is refused")
    plan = await plan_for(tenant, plane, operator)
    assert plan.state == "Refused"
    assert "missing-namespace" in " ".join(plan.why)
    assert fields_of(by_name(plan)["ConfigMap/a"]) == {"data.version": ('"one"', '"two"')}
    assert by_name(plan)["ConfigMap/b"].action == "created"


async def test_first_install_that_may_not_begin_is_planned(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await publish(tenant, "one", config_map("b", "missing-namespace"))
    await tenant.deploy("one")
    await tenant.until(
        lambda found: "missing-namespace" in condition(found, "Installed").get("message", ""), what="it is refused"
    )
    plan = await plan_for(tenant, plane, operator)
    assert (plan.state, plan.from_revision, plan.verdict) == ("Refused", 0, "Safe")
    assert {one.action for one in plan.objects} == {"created"}


async def test_content_that_is_not_there_has_no_plan(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    await tenant.deploy("nothing-of-this-name")
    await tenant.until(lambda found: condition(found, "Ready").get("status") == "False", what="it has no content")
    caller = await accounts(plane, tenant, operator).admin()
    answer = await caller.ask("GET", f"/plans/{tenant.name}")
    assert answer.status in {422, 503}
    assert "nothing-of-this-name" in answer.text

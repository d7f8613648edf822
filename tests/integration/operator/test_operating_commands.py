"""The commands by which users operate deployments, on a real API server: what they show, what they ask, and of whom."""

from functools import partial

import orjson

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND, GROUP
from rukpak_py.core.objects import RBAC_GROUP
from rukpak_py.kube.resources import (
    BUNDLE_DEPLOYMENTS,
    BUNDLE_INSTANCES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
)
from tests import manifests
from tests.integration.command_line import rukpakctl
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document, config_map, manifest

PASSWORD = "hunter2-of-the-shop"


async def installed(tenant: Tenant) -> None:
    """A ConfigMap, a Secret, and a workload that is healthy without a node."""
    secret = manifest("v1", "Secret", "login", tenant.namespace, stringData={"password": PASSWORD})
    documents = [config_map("a", tenant.namespace), secret, manifests.workload("web", tenant.namespace)]
    await tenant.publish("one", documents)
    await tenant.deploy("one")
    await tenant.ready()


async def test_reading_commands_show_what_is_installed(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    await installed(tenant)
    run = partial(rukpakctl, plane)
    done = await run("get", tenant.name, "-o", "json")
    (row,) = orjson.loads(done.stdout)["deployments"]
    assert (row["name"], row["state"], row["source"]) == (tenant.name, "ready", "configMaps")
    done = await run("tree", tenant.name, "-o", "json")
    tree = orjson.loads(done.stdout)
    assert {(one["kind"], one["name"], one["state"]) for one in tree["objects"]} == {
        ("ConfigMap", "a", "ready"),
        ("Secret", "login", "ready"),
        ("Deployment", "web", "ready"),
    }
    assert [(one["installed"], one["wanted"]) for one in tree["bundles"]] == [(True, True)]
    assert tree["unread"] == []
    assert PASSWORD not in done.stdout
    done = await run("why", tenant.name)
    assert (done.returncode, done.stdout) == (0, f"{tenant.name} is ready (Succeeded)\n  nothing is wrong\n")
    done = await run("events", tenant.name, "-o", "json")
    assert "Installed" in [one["reason"] for one in orjson.loads(done.stdout)["events"]]


async def test_absent_deployment_exits_with_3(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    for command in ("get", "tree", "why", "events", "wait", "suspend", "reconcile"):
        done = await rukpakctl(plane, command, "no-such-deployment")
        assert (done.returncode, "no-such-deployment" in done.stderr) == (3, True), command
    assert (await rukpakctl(plane, "wait", "no-such-deployment", "--for", "deleted")).returncode == 0


async def test_suspended_deployment_is_not_waited_for_until_it_is_resumed(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await installed(tenant)
    run = partial(rukpakctl, plane)
    done = await run("suspend", tenant.name)
    assert done.stdout == f"bundledeployments.{GROUP}/{tenant.name} suspended\n"
    done = await run("wait", tenant.name, "--timeout", "60s")
    assert (done.returncode, f"rukpakctl resume {tenant.name}" in done.stderr) == (1, True)
    assert (await run("resume", tenant.name)).returncode == 0
    done = await run("wait", tenant.name, "--timeout", "60s")
    assert done.returncode == 0, done.stderr
    assert "suspend" not in (await tenant.deployment())["spec"]


async def test_requests_are_waited_for_until_they_are_handled(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await installed(tenant)
    before = (await tenant.deployment())["status"]["activeBundle"]
    done = await rukpakctl(plane, "reconcile", tenant.name, "--wait", "--timeout", "60s")
    assert done.returncode == 0, done.stderr
    assert (await tenant.deployment())["status"]["lastHandledReconcileAt"]
    done = await rukpakctl(plane, "refresh", tenant.name, "--wait", "--timeout", "60s")
    assert done.returncode == 0, done.stderr
    status = (await tenant.deployment())["status"]
    assert status["lastHandledRefreshAt"]
    assert status["activeBundle"] != before


async def test_wait_ends_early_where_the_content_is_wrong(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    await tenant.publish("wrong", [{"kind": "ConfigMap"}])
    await tenant.deploy("wrong")
    done = await rukpakctl(plane, "wait", tenant.name, "--timeout", "10m")
    assert done.returncode == 1
    assert f"{tenant.name} is stalled: " in done.stderr
    assert "ConfigMap  has no apiVersion" in done.stderr
    assert "change spec.template to corrected content" in done.stderr


async def test_user_with_few_rights_sees_these_parts_and_no_others(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    """The role view in one namespace, and get and list on our kinds: no Secrets, and no watch."""
    other = config_map("elsewhere", tenant.system)
    secret = manifest("v1", "Secret", "login", tenant.namespace, stringData={"password": PASSWORD})
    await tenant.publish("one", [config_map("a", tenant.namespace), secret, other])
    await tenant.deploy("one", installNamespace=tenant.namespace)
    await tenant.ready()
    user = f"viewer-{tenant.name}"
    await grant_view(tenant, user)
    run = partial(rukpakctl, plane, kubeconfig=plane.user_kubeconfig(user))
    done = await run("tree", tenant.name, "-o", "json")
    assert done.returncode == 0, done.stderr
    tree = orjson.loads(done.stdout)
    assert [(one["kind"], one["name"]) for one in tree["objects"]] == [("ConfigMap", "a")]
    assert any(one["part"].startswith("Secret objects") for one in tree["unread"])
    assert PASSWORD not in done.stdout
    done = await run("why", tenant.name)
    assert done.returncode == 0, done.stderr
    done = await run("get", tenant.name)
    assert done.returncode == 0, done.stderr
    done = await run("wait", tenant.name, "--timeout", "60s")
    assert done.returncode == 0, done.stderr
    done = await run("suspend", tenant.name)
    assert (done.returncode, "cannot patch resource" in done.stderr) == (3, True)


async def grant_view(tenant: Tenant, user: str) -> None:
    subject = {"kind": "User", "apiGroup": RBAC_GROUP, "name": user}

    def binding(kind: str, role: str, namespace: str = "") -> Document:
        reference = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role}
        return manifest(f"{RBAC_GROUP}/v1", kind, user, namespace, roleRef=reference, subjects=[subject])

    rules = [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["get", "list"]}]
    role = manifest(f"{RBAC_GROUP}/v1", "ClusterRole", user, rules=rules)
    await tenant.admin.create(CLUSTER_ROLES, "", orjson.dumps(role))
    await tenant.admin.create(CLUSTER_ROLE_BINDINGS, "", orjson.dumps(binding("ClusterRoleBinding", user)))
    await tenant.admin.create(
        ROLE_BINDINGS, tenant.namespace, orjson.dumps(binding("RoleBinding", "view", tenant.namespace))
    )


async def test_instance_is_suspended_where_users_edit_it(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    """Its BundleDeployment is written by the operator, so the request goes to the BundleInstance, and is mirrored."""
    await tenant.publish("one", [config_map("a", tenant.namespace)])
    body = manifests.deployment(tenant.name, manifests.source("one")) | {"kind": BUNDLE_INSTANCE_KIND}
    tenant.sees_to(tenant.name)
    await tenant.admin.create(BUNDLE_INSTANCES, "", orjson.dumps(body))
    await tenant.ready()
    done = await rukpakctl(plane, "suspend", tenant.name)
    assert done.stdout == f"bundleinstances.{GROUP}/{tenant.name} suspended\n"
    assert (await tenant.read(BUNDLE_INSTANCES, "", tenant.name))["spec"]["suspend"] is True
    await tenant.until(lambda one: one["spec"].get("suspend"), what="the deployment is suspended, too")
    assert (await rukpakctl(plane, "resume", tenant.name)).returncode == 0
    await tenant.until(lambda one: not one["spec"].get("suspend"), what="it is resumed")
    await tenant.admin.delete(BUNDLE_INSTANCES, "", tenant.name)


async def test_refresh_of_uploaded_content_says_what_to_do_instead(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    spec = manifests.deployment(tenant.name, {"type": "upload", "upload": {}})
    tenant.sees_to(tenant.name)
    await tenant.admin.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(spec))
    done = await rukpakctl(plane, "refresh", tenant.name)
    assert (done.returncode, f"rukpakctl run {tenant.name} DIRECTORY" in done.stderr) == (3, True)
    assert "annotations" not in (await tenant.deployment())["metadata"]

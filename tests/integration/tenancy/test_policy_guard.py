"""An operator impersonates no account while the policies are not in force, nor for what was written meanwhile."""

import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import orjson
import pytest

from e2e.cluster.control_plane import APISERVER, ControlPlane
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.api.policies.document import Document
from rukpak_py.api.policies.installation import Installation
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.resources import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    BUNDLE_DEPLOYMENTS,
    BUNDLE_INSTANCES,
    Resource,
)
from tests import manifests
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.policies import install_policies, remove_policies
from tests.integration.tenancy.accounts import create_account, rule
from tests.integration.tenancy.guarded import (
    MISSING,
    UNJUDGED,
    becomes,
    deploy,
    drifts,
    is_corrected,
    make_instance,
    version_of,
    write_again,
)
from tests.manifests import config_map
from tests.waiting import eventually

ACCOUNTS = "rukpak-accounts"


@asynccontextmanager
async def changed(tenant: Tenant, resource: Resource, name: str, *change: Document) -> AsyncIterator[None]:
    """A field of one of them is changed, and changed back."""
    former = orjson.loads(await tenant.admin.get(resource, "", name))["spec"]
    await tenant.admin.patch(resource, "", name, orjson.dumps(change), content_type=JSON_PATCH)
    yield
    back = orjson.dumps([{"op": "replace", "path": "/spec", "value": former}])
    await tenant.admin.patch(resource, "", name, back, content_type=JSON_PATCH)


async def test_deployment_with_an_account_is_recorded_as_judged(tenant: Tenant, served: Operator) -> None:
    deployment = await tenant.deployment()
    judged = deployment["status"]["judged"]
    assert judged["generation"] == deployment["metadata"]["generation"]
    assert len(judged["metadata"]) == len(judged["policies"]) == 64


async def test_a_policy_that_is_removed_and_put_back(tenant: Tenant, policies: Installation, served: Operator) -> None:
    """While it is gone, neither drift nor a template is served; a template that was edited then waits for a user."""
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING, "does not exist", "helm upgrade")
    await drifts(tenant, "drifted")
    await deploy(tenant, "v2")

    await install_policies(tenant.admin, policies)

    deployment = await becomes(tenant, UNJUDGED, "kubectl annotate", RECONCILE_AT_ANNOTATION)
    assert condition(deployment, "Stalled")["status"] == "True"
    assert await version_of(tenant) == "drifted"
    await write_again(tenant, "once more")
    await tenant.ready()
    assert await version_of(tenant) == "v2"


async def test_deployment_that_was_judged_goes_on_by_itself_when_the_policies_are_back(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    await drifts(tenant, "drifted")

    await install_policies(tenant.admin, policies)

    await is_corrected(tenant, "v1")
    await tenant.until(lambda one: one["status"]["judged"].get("policies"), what="the policies are trusted again")
    await deploy(tenant, "v2")  # and what is written now is judged
    await is_corrected(tenant, "v2")


async def test_a_deployment_that_came_while_the_policies_were_gone_waits_for_a_user(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    other = f"{tenant.name}-other"
    await tenant.publish("v3", [config_map("other", tenant.namespace, v="3")])
    await tenant.deploy("v3", name=other, installNamespace=tenant.namespace, serviceAccountName="installer")

    await install_policies(tenant.admin, policies)

    await tenant.until(lambda one: condition(one, "Ready").get("reason") == UNJUDGED, what="NotJudged", name=other)
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", other, b'{"metadata":{"labels":{"judged":"now"}}}')
    await tenant.ready(name=other)


async def test_deployment_that_is_created_once_the_operator_is_ready_is_judged(
    tenant: Tenant, policies: Installation, operators: StartOperator
) -> None:
    """The policies are made with the operator, as `helm install --wait` makes them."""
    await create_account(tenant.admin, tenant.namespace, rules=(rule("configmaps"),))
    await tenant.publish("v1", [config_map("settings", tenant.namespace, v="v1")])
    await remove_policies(tenant.admin, policies.policies())
    await install_policies(tenant.admin, policies)
    operator = operators()

    await operator.start()

    tenant.sees_to(tenant.name)
    spec = {"installNamespace": tenant.namespace, "serviceAccountName": "installer"}
    await tenant.admin.create(
        BUNDLE_DEPLOYMENTS, "", orjson.dumps(manifests.deployment(tenant.name, manifests.source("v1"), **spec))
    )
    await tenant.ready()
    assert "not ready: policies: the admission policies are new" in operator.log


async def test_an_account_that_was_taken_away_meanwhile_stays_in_doubt(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    """Without its account it would be served with the operator's rights."""
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    await drifts(tenant, "drifted")
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, b'{"spec":{"serviceAccountName":null}}')

    await install_policies(tenant.admin, policies)

    await becomes(tenant, UNJUDGED)
    assert await version_of(tenant) == "drifted"
    await write_again(tenant, "by an admin")
    deployment = await tenant.ready()
    assert "judged" not in deployment["status"]


async def test_one_deleted_meanwhile_is_not_taken_down_before_a_user_says_so(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    body = b'{"metadata":{"finalizers":["core.rukpak.io/ordered-deletion"]}}'
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)

    await install_policies(tenant.admin, policies)

    await becomes(tenant, "Deleting", "created or changed while the admission policies")
    await write_again(tenant, "go")
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)


async def test_a_restart_knows_what_was_written_while_the_policies_were_gone(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    served.kill()
    await deploy(tenant, "v2")
    await install_policies(tenant.admin, policies)

    await served.start()

    await becomes(tenant, UNJUDGED)
    assert await version_of(tenant) == "v1"


async def test_template_that_changes_while_no_operator_runs_is_judged_by_the_policies(
    tenant: Tenant, served: Operator
) -> None:
    served.kill()
    await deploy(tenant, "v2")
    await served.start()
    await tenant.ready()
    assert await version_of(tenant) == "v2"


@pytest.mark.parametrize(
    ("resource", "change", "words"),
    [
        (
            ADMISSION_POLICY_BINDINGS,
            {"op": "replace", "path": "/spec/validationActions", "value": ["Warn"]},
            "spec.validationActions[0] is Warn, and should be Deny",
        ),
        (
            ADMISSION_POLICIES,
            {"op": "add", "path": "/spec/matchConditions/-", "value": {"name": "never", "expression": "false"}},
            "spec.matchConditions has 3 entries, and should have 2",
        ),
        (
            ADMISSION_POLICIES,
            {"op": "replace", "path": "/spec/failurePolicy", "value": "Ignore"},
            "spec.failurePolicy is Ignore, and should be Fail",
        ),
        (
            ADMISSION_POLICIES,
            {"op": "add", "path": "/spec/matchConstraints/objectSelector/matchLabels", "value": {"a": "b"}},
            "spec.matchConstraints.objectSelector.matchLabels is set, and should not be",
        ),
    ],
    ids=["a binding that warns", "a foreign match condition", "failures that are ignored", "a selector"],
)
async def test_policies_that_are_not_as_shipped_are_none(
    tenant: Tenant, served: Operator, resource: Resource, change: Document, words: str
) -> None:
    async with changed(tenant, resource, ACCOUNTS, change):
        await becomes(tenant, MISSING, words)
        await drifts(tenant, "drifted")
    await is_corrected(tenant, "v1")
    await tenant.ready()


async def test_policies_of_another_mode_are_none(
    tenant: Tenant, policies: Installation, operators: StartOperator
) -> None:
    """They would judge otherwise than the operator acts."""
    await create_account(tenant.admin, tenant.namespace, rules=(rule("configmaps"),))
    operator = operators(arguments=["--default-service-account=installer"])
    await operator.start()
    await tenant.publish("v1", [config_map("settings", tenant.namespace, v="v1")])
    await deploy(tenant, "v1")
    await becomes(tenant, MISSING, "should be")


async def test_an_instance_written_meanwhile_is_not_passed_on(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    """The operator writes the BundleDeployment, so no policy judges that: the instance itself has to be judged."""
    name = await make_instance(tenant)
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    await tenant.admin.patch(BUNDLE_INSTANCES, "", name, b'{"spec":{"suspend":true}}')

    await install_policies(tenant.admin, policies)

    async def is_unjudged() -> bool:
        return condition(await tenant.read(BUNDLE_INSTANCES, "", name), "Ready").get("reason") == UNJUDGED

    await eventually(is_unjudged, what="the instance is not judged")
    assert "suspend" not in (await tenant.deployment(name))["spec"]
    await tenant.admin.patch(BUNDLE_INSTANCES, "", name, b'{"metadata":{"labels":{"judged":"now"}}}')
    await tenant.until(lambda one: one["spec"].get("suspend"), what="the instance is passed on", name=name)
    await tenant.admin.delete(BUNDLE_INSTANCES, "", name)


async def test_a_server_without_the_admission_plugin_is_found_out(
    tenant: Tenant, policies: Installation, served: Operator, plane: ControlPlane
) -> None:
    """Its policies are stored as they should be, and judge nothing."""
    line = plane.processes.line_of(APISERVER)
    restart(plane, [*line, "--disable-admission-plugins=ValidatingAdmissionPolicy"])
    try:
        await becomes(tenant, MISSING, "does not enforce", "admission plugin")
        await deploy(tenant, "v2")
    finally:
        restart(plane, line)
    await install_policies(tenant.admin, policies)  # as they are: it waits until they are in force
    await becomes(tenant, UNJUDGED)
    assert await version_of(tenant) == "v1"
    await write_again(tenant, "now")
    await is_corrected(tenant, "v2")


def restart(plane: ControlPlane, line: Sequence[str]) -> None:
    """Start the API server anew, with this command line from now on."""
    plane.stop_apiserver(signal.SIGKILL)
    plane.start_apiserver(line)


async def test_without_accounts_nothing_is_asked(tenant: Tenant, operators: StartOperator) -> None:
    """The operator works as it did, whether the policies are there or not; their age alone is read at the start."""
    operator = operators()
    await operator.start()
    before = await operator.requests()
    await tenant.publish("v1", [config_map("settings", tenant.namespace, v="v1")])
    await tenant.deploy("v1", installNamespace=tenant.namespace)
    deployment = await tenant.ready()
    asked = {one.resource for one in await operator.requests() - before}
    assert not {one for one in asked if one.startswith("validatingadmissionpolic")}
    assert "judged" not in deployment["status"]

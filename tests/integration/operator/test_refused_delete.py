"""A delete that is forbidden is told and tried again, and nothing pretends to be done."""

from contextlib import suppress

import orjson

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import CONFIG_MAPS, Resource
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.unit.charts import config_map as template
from tests.unit.charts import hook
from tests.waiting import eventually

ADMISSION = "admissionregistration.k8s.io"
WORDS = "this one stays, says the policy"


def _resource(kind: str, plural: str) -> Resource:
    return Resource(gvk=GroupVersionKind(ADMISSION, "v1", kind), plural=plural, namespaced=False)


POLICIES = _resource("ValidatingAdmissionPolicy", "validatingadmissionpolicies")
BINDINGS = _resource("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings")


async def forbid_deletes(tenant: Tenant) -> None:
    """Forbid to delete ConfigMaps in the tenant's namespace; returns when the API server does so."""
    name = tenant.name
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": tenant.namespace}}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"namespaceSelector": selector, "resourceRules": [rule]},
        "validations": [{"expression": "false", "message": WORDS}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    await _create(tenant, POLICIES, name, policy)
    await _create(tenant, BINDINGS, name, binding)

    async def is_in_force() -> bool:
        try:
            await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "dropped", dry_run=True)
        except ApiError as error:
            return WORDS in str(error)
        return False

    await eventually(is_in_force, what="the policy is in force")


async def allow_deletes(tenant: Tenant) -> None:
    for resource in (BINDINGS, POLICIES):
        with suppress(ApiError):
            await tenant.admin.delete(resource, "", tenant.name)


async def _create(tenant: Tenant, resource: Resource, name: str, spec: Document) -> None:
    kind = resource.gvk
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
    await tenant.admin.create(resource, "", orjson.dumps(body))


async def test_a_prune_that_is_denied_is_told_and_tried_again(tenant: Tenant, operator: Operator) -> None:
    kept, dropped = (config_map(name, tenant.namespace, v="1") for name in ("kept", "dropped"))
    await tenant.publish("v1", [kept, dropped])
    await tenant.publish("v2", [kept])
    await tenant.deploy("v1")
    await tenant.ready()
    await forbid_deletes(tenant)
    try:
        await tenant.deploy("v2")
        told = await tenant.until(lambda one: WORDS in condition(one, "Ready").get("message", ""), what="the refusal")
        assert condition(told, "Ready")["status"] == "False"
        assert f"ConfigMap {tenant.namespace}/dropped" in condition(told, "Ready")["message"]
        assert condition(told, "Installed")["status"] == "True"
        assert ("ConfigMap", "dropped") in await tenant.owned(CONFIG_MAPS)
    finally:
        await allow_deletes(tenant)

    await tenant.gone(CONFIG_MAPS, "dropped", tenant.namespace)
    await tenant.ready()
    assert list(await tenant.owned(CONFIG_MAPS)) == [("ConfigMap", "kept")]


async def test_a_hook_that_may_not_go_as_its_policy_says_is_told_and_tried_again(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    dropped = config_map("dropped", tenant.namespace)
    await tenant.admin.create(CONFIG_MAPS, tenant.namespace, orjson.dumps(dropped))
    await forbid_deletes(tenant)
    try:
        policy = {"delete-policy": "hook-succeeded"}
        chart = f"{hook('account', 'pre-install', **policy)}---\n{template('settings')}"
        await deploy(tenant, await publish(tenant, chart))
        found = await tenant.until(lambda seen: WORDS in condition(seen, "Ready").get("message", ""), what="it is told")
        assert f"pre-install hook: ConfigMap {tenant.namespace}/account" in condition(found, "Installed")["message"]
        assert list(await tenant.owned(CONFIG_MAPS)) == []
    finally:
        await allow_deletes(tenant)
    await tenant.gone(CONFIG_MAPS, "account", tenant.namespace)
    await tenant.ready()

"""A field that is ignored from now on costs no calls, nor do the changes that others make to it then."""

import json

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, Resource
from tests.integration.operator.counting import calls_of_each, has_seen, now
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import workload

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
OVERRIDE = {"group": "apps", "kind": "Deployment", "name": "web", "ignore": ["/spec/revisionHistoryLimit"]}


async def test_a_field_is_given_up_by_one_read_and_one_patch_and_is_no_drift_then(
    tenant: Tenant, operator: Operator
) -> None:
    document = workload("web", tenant.namespace)
    document["spec"]["revisionHistoryLimit"] = 3
    await tenant.publish("v1", [document])
    await tenant.deploy("v1")
    await tenant.ready()

    async def ignore() -> None:
        override = OVERRIDE | {"namespace": tenant.namespace}
        body = json.dumps({"spec": {"overrides": [override]}}).encode()
        generation = (await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)).metadata.generation
        await tenant.until(
            lambda one: condition(one, "Ready").get("observedGeneration") == generation, what="it is ignored"
        )

    async def change() -> None:
        since = now()
        body = b'{"spec":{"revisionHistoryLimit":7}}'
        await tenant.admin.patch(DEPLOYMENTS, tenant.namespace, "web", body, field_manager="somebody")
        await has_seen(operator, ["deployments"], since)

    ignored, changed = await calls_of_each(operator, ignore, change)
    assert {call: count for call, count in ignored.items() if call[1] == "deployments"} == {
        ("dry_run", "deployments", "200"): 1,
        ("get", "deployments", "200"): 1,
        ("patch", "deployments", "200"): 1,
        ("apply", "deployments", "200"): 1,
    }
    assert not [call for call in changed if call[1] == "deployments"]
    live = await tenant.read(DEPLOYMENTS, tenant.namespace, "web")
    assert live["spec"]["revisionHistoryLimit"] == 7

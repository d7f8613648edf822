"""An admission policy of a test, which denies writes of one kind in the tenant's namespace."""

from contextlib import suppress

import orjson

from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.kube.resources import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, Resource
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document
from tests.waiting import eventually

WORDS = "this one stays, says the policy"


async def forbid(
    tenant: Tenant, operation: str, resource: Resource, *, user: str = "", probe: Document | None = None
) -> None:
    """Forbid it to all users, or to one; returns when the API server does so.

    `probe`: an object of the kind, whose creation is tried. Without one, there are objects of the kind already.
    """
    kind = resource.gvk
    rule = {"apiGroups": [kind.group], "apiVersions": [kind.version], "operations": [operation]}
    spec: Document = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": tenant.namespace}},
            "resourceRules": [rule | {"resources": [resource.plural]}],
        },
        "validations": [{"expression": "false", "message": WORDS}],
    }
    if user:
        spec["matchConditions"] = [{"name": "user", "expression": f"request.userInfo.username == '{user}'"}]
    await _create(tenant, ADMISSION_POLICIES, spec)
    await _create(tenant, ADMISSION_POLICY_BINDINGS, {"policyName": tenant.name, "validationActions": ["Deny"]})
    client = tenant.admin.acting_as(user) if user else tenant.admin

    async def is_in_force() -> bool:
        try:
            if probe is not None:
                await client.create(resource, tenant.namespace, orjson.dumps(probe), dry_run=True)
            for one in (await tenant.admin.list_metadata(resource, tenant.namespace)).items:
                if operation == "DELETE":
                    await client.delete(resource, tenant.namespace, one.key.name, dry_run=True)
                if operation == "UPDATE":
                    label = b'{"metadata":{"labels":{"probed":"yes"}}}'
                    await client.patch(resource, tenant.namespace, one.key.name, label, dry_run=True)
        except ApiError as error:
            return WORDS in str(error)
        return False

    await eventually(is_in_force, what="the policy is in force")


async def allow(tenant: Tenant) -> None:
    for resource in (ADMISSION_POLICY_BINDINGS, ADMISSION_POLICIES):
        with suppress(NotFoundError):
            await tenant.admin.delete(resource, "", tenant.name)


async def _create(tenant: Tenant, resource: Resource, spec: Document) -> None:
    kind = resource.gvk
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": tenant.name}, "spec": spec}
    await tenant.admin.create(resource, "", orjson.dumps(body))

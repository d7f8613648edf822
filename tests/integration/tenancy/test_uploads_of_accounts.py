"""Uploads to the Bundle of a deployment with an account: its content is installed with the rights of that account."""

import orjson

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import API_VERSION, PLAIN_CLASS
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.uploading import accounts, archive
from tests.integration.tenancy.accounts import create_account, rule
from tests.manifests import Document
from tests.waiting import eventually

IMPERSONATES = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}


async def deploy(tenant: Tenant) -> None:
    tenant.sees_to(tenant.name)
    source = {"type": "upload", "upload": {}}
    inner = {"provisionerClassName": PLAIN_CLASS, "source": source}
    spec = {"provisionerClassName": PLAIN_CLASS, "template": {"spec": inner}}
    spec |= {"installNamespace": tenant.namespace, "serviceAccountName": "installer"}
    body = {"apiVersion": API_VERSION, "kind": "BundleDeployment", "metadata": {"name": tenant.name}, "spec": spec}
    await tenant.admin.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(body))


async def bundle_of(tenant: Tenant, *, reason: str = "UnpackPending", but: str = "") -> Document:
    """The Bundle of the deployment once it is told so. `but`: the uid of a former one."""

    async def look() -> Document | None:
        for one in (await tenant.owned(BUNDLES)).values():
            is_told = condition(one, "Unpacked").get("reason") == reason
            if is_told and one["metadata"]["uid"] != but and one["metadata"].get("ownerReferences"):
                return one
        return None

    return await eventually(look, what=f"a Bundle is {reason}")


async def test_upload_takes_the_right_to_impersonate_and_a_stripped_bundle_is_made_anew(
    plane: ControlPlane, tenant: Tenant, operators: StartOperator
) -> None:
    await tenant.settled()
    operator = operators()
    await operator.start()
    await create_account(tenant.admin, tenant.namespace, rules=(rule("configmaps"),))
    await deploy(tenant)
    bundle = await bundle_of(tenant)
    name = bundle["metadata"]["name"]

    callers = accounts(plane, tenant, operator)
    uploader = await callers.caller("uploader", "bundle-uploader")
    refused = await uploader.put(name, archive(tenant))
    assert refused.status == 403
    assert f"cannot impersonate service account {tenant.namespace}/installer" in refused.text
    assert condition(await tenant.read(BUNDLES, "", name), "Unpacked")["reason"] == "UnpackPending"

    await callers.grant("uploader", "impersonator", [{**IMPERSONATES, "resourceNames": ["installer"]}])
    assert (await uploader.put(name, archive(tenant))).status == 201
    await tenant.ready()

    await tenant.admin.patch(BUNDLES, "", name, b'{"metadata":{"ownerReferences":null}}')
    again = b'{"metadata":{"annotations":{"core.rukpak.io/reconcile-at":"now"}}}'
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, again)
    anew = await bundle_of(tenant, reason="ContentLost", but=bundle["metadata"]["uid"])
    assert anew["metadata"]["name"] == name
    assert (await uploader.put(name, archive(tenant, "other"))).status == 409
    assert (await uploader.put(name, archive(tenant))).status == 201
    await tenant.ready()

"""Nothing that a user writes while the admission policies are gone counts as judged when they are back.

Each of these users may write any object of ours in the gap, statuses included.
"""

import orjson
import pytest

from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import ALLOW_DATA_LOSS_ANNOTATION
from rukpak_py.api.policies.document import Document
from rukpak_py.api.policies.installation import Installation
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.controllers.judging import state_of
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, CONFIG_MAPS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.policies import install_policies, remove_policies
from tests.integration.tenancy.guarded import (
    MISSING,
    UNJUDGED,
    becomes,
    deploy,
    drifts,
    is_corrected,
    make_instance,
    template,
    version_of,
    write_again,
)
from tests.manifests import config_map
from tests.waiting import eventually


async def change(tenant: Tenant, name: str, body: Document) -> None:
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", name, orjson.dumps(body))


async def forge(tenant: Tenant, status: Document) -> None:
    await tenant.admin.patch_status(BUNDLE_DEPLOYMENTS, "", tenant.name, orjson.dumps({"status": status}))


async def test_annotation_of_a_mirror_is_not_judged_by_what_the_operator_mirrors(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    """The operator reverts the spec, and passes on an edit of the instance: the annotation still is not judged."""
    name = await make_instance(tenant)
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    annotations = {ALLOW_DATA_LOSS_ANNOTATION: "true"}
    await change(tenant, name, {"spec": {"suspend": True}, "metadata": {"annotations": annotations}})

    await install_policies(tenant.admin, policies)

    def waits(one: Document) -> bool:
        ready = condition(one, "Ready")
        is_current = ready.get("observedGeneration") == one["metadata"]["generation"]
        return is_current and ready.get("reason") == UNJUDGED and "kubectl label" in ready["message"]

    await tenant.until(
        lambda one: "suspend" not in one["spec"] and waits(one), what="reverted, and in doubt", name=name, seconds=90.0
    )
    await tenant.publish("v5", [config_map("later", tenant.namespace, v="5")])
    spec = {"template": await template(tenant, "v5")}
    before = (await tenant.deployment(name))["metadata"]["generation"]
    await tenant.admin.patch(BUNDLE_INSTANCES, "", name, orjson.dumps({"spec": spec}))
    await tenant.until(
        lambda one: one["metadata"]["generation"] > before and waits(one), what="passed on, and in doubt", name=name
    )
    assert not await has_map(tenant, "later")

    await change(tenant, name, {"metadata": {"labels": {"judged": "now"}}})
    await tenant.ready(name=name)
    assert await has_map(tenant, "later")
    await tenant.admin.delete(BUNDLE_INSTANCES, "", name)


async def test_spec_of_a_mirror_alone_is_reverted_and_goes_on(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    name = await make_instance(tenant)

    async def is_recorded() -> bool:
        return "judged" in (await tenant.read(BUNDLE_INSTANCES, "", name)).get("status", {})

    await eventually(is_recorded, what="the instance is judged, and that is recorded")
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    await change(tenant, name, {"spec": {"suspend": True}})

    await install_policies(tenant.admin, policies)

    try:
        await tenant.until(lambda one: "suspend" not in one["spec"], what="it is reverted", name=name, seconds=90.0)
        await tenant.ready(name=name)
    finally:
        await tenant.admin.delete(BUNDLE_INSTANCES, "", name)


async def has_map(tenant: Tenant, name: str) -> bool:
    return name in {one.key.name for one in (await tenant.admin.list_metadata(CONFIG_MAPS, tenant.namespace)).items}


@pytest.mark.parametrize("keeps_proof", [True, False], ids=["the proof of another state", "no proof"])
async def test_status_that_says_that_an_edit_was_judged_is_not_believed(
    tenant: Tenant, policies: Installation, served: Operator, *, keeps_proof: bool
) -> None:
    genuine = (await tenant.deployment())["status"]["judged"]
    served.kill()
    await remove_policies(tenant.admin, policies.policies())
    await deploy(tenant, "v2")
    state = state_of(await metadata_of(tenant))
    forged = {"generation": state.generation, "metadata": state.metadata, "policies": genuine["policies"]}
    await forge(tenant, {"judged": forged | {"proof": genuine["proof"] if keeps_proof else ""}})
    await install_policies(tenant.admin, policies)

    await served.start()

    await becomes(tenant, UNJUDGED)
    assert await version_of(tenant) == "v1"
    await write_again(tenant, "now")
    await is_corrected(tenant, "v2")


async def metadata_of(tenant: Tenant) -> ObjectMeta:
    return read_bundle_deployment(await tenant.admin.get(BUNDLE_DEPLOYMENTS, "", tenant.name)).metadata


async def test_status_of_another_deployment_proves_nothing(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    """Its record is genuine, and of the same generation and metadata."""
    genuine = (await tenant.deployment())["status"]["judged"]
    served.kill()
    await remove_policies(tenant.admin, policies.policies())
    uid = (await tenant.deployment())["metadata"]["uid"]
    await change(tenant, tenant.name, {"metadata": {"finalizers": None}})
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name, uid=uid)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await deploy(tenant, "v2")
    await forge(tenant, {"judged": genuine})
    await install_policies(tenant.admin, policies)

    await served.start()

    await becomes(tenant, UNJUDGED)
    assert not await has_map(tenant, "settings") or await version_of(tenant) == "v1"


async def test_account_that_was_taken_away_with_its_record_stays_in_doubt(
    tenant: Tenant, policies: Installation, served: Operator
) -> None:
    """Without both it looks like a deployment that never had an account."""
    await remove_policies(tenant.admin, policies.policies())
    await becomes(tenant, MISSING)
    await drifts(tenant, "drifted")
    await change(tenant, tenant.name, {"spec": {"serviceAccountName": None}})
    await forge(tenant, {"judged": None})

    await install_policies(tenant.admin, policies)

    await becomes(tenant, UNJUDGED)
    assert await version_of(tenant) == "drifted"
    await write_again(tenant, "by an admin")

    async def is_forgotten() -> bool:
        return "judged" not in (await tenant.deployment())["status"]

    await tenant.ready()
    await eventually(is_forgotten, what="its account is forgotten")

"""A kind that cannot be listed, because its conversion webhook is down, holds back its own objects and no others.

Such a webhook is often part of what the same deployment installs.
"""

import orjson
import pytest

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS
from tests.integration.operator.kinds import instance, things
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map, crd
from tests.waiting import eventually

OTHERS = 25
SOON = 8.0  # seconds; a wait for a list of the kind lasts for ever
WEBHOOK = {"clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"]}
DOWN = {"spec": {"conversion": {"strategy": "Webhook", "webhook": WEBHOOK}}}
UP = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}


def group_of(tenant: Tenant) -> str:
    return f"{tenant.name}.rukpak.test"


async def webhook_is(tenant: Tenant, state: Document) -> None:
    """The stored version is not the one that the instances are in, so every list needs a conversion."""
    await tenant.admin.patch(CRDS, "", f"things.{group_of(tenant)}", orjson.dumps(state), field_manager="somebody")


@pytest.fixture
async def installed(tenant: Tenant, operator: Operator) -> Operator:
    """A CRD that is no content, an instance of it beside a ConfigMap; its webhook goes, the operator restarts."""
    group = group_of(tenant)
    await tenant.admin.create(CRDS, "", orjson.dumps(crd(group, "v1", "v2")))
    await tenant.publish(
        "v1", [instance(group, "v2", "one", tenant.namespace), config_map("one", tenant.namespace, v="1")]
    )
    await tenant.deploy("v1")
    await tenant.ready()
    await operator.stop()
    await webhook_is(tenant, DOWN)
    await operator.start()
    return operator


async def drift_is_corrected(tenant: Tenant, name: str) -> None:
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, name, b'{"data":{"v":"2"}}', field_manager="somebody")

    async def look() -> bool:
        return bool((await tenant.read(CONFIG_MAPS, tenant.namespace, name))["data"] == {"v": "1"})

    await eventually(look, what="the drift is corrected", seconds=SOON)


def cannot_list(tenant: Tenant, deployment: Document) -> bool:
    return f"cannot list Thing.{group_of(tenant)}" in condition(deployment, "Ready").get("message", "")


@pytest.mark.usefixtures("installed")
async def test_drift_of_an_unrelated_object_of_the_deployment_is_corrected(tenant: Tenant) -> None:
    await drift_is_corrected(tenant, "one")
    told = await tenant.until(lambda one: cannot_list(tenant, one), what="it says what cannot be listed")
    assert condition(told, "Installed")["status"] == "True"
    await drift_is_corrected(tenant, "one")

    await webhook_is(tenant, UP)
    await tenant.ready(seconds=60)  # the watch tries again every 30 s


@pytest.mark.usefixtures("installed")
async def test_many_deployments_of_the_unlisted_kind_delay_no_other(tenant: Tenant) -> None:
    group = group_of(tenant)
    for number in range(OTHERS):
        name = f"{tenant.name}-{number}"
        await tenant.publish(name, [instance(group, "v2", name, tenant.namespace)])
        await tenant.deploy(name, name=name)
    await tenant.publish("good", [config_map("good", tenant.namespace, v="1")])
    good = f"{tenant.name}-good"
    await tenant.deploy("good", name=good)
    await tenant.ready(name=good, seconds=SOON)
    await drift_is_corrected(tenant, "good")
    await tenant.until(
        lambda one: cannot_list(tenant, one), what="a first install says what it waits for", name=f"{tenant.name}-0"
    )
    await webhook_is(tenant, UP)
    for number in range(OTHERS):
        await tenant.ready(name=f"{tenant.name}-{number}", seconds=60)


@pytest.mark.usefixtures("installed")
async def test_deletion_says_what_it_waits_for_and_goes_on_when_the_webhook_is_back(tenant: Tenant) -> None:
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    told = await tenant.until(lambda one: cannot_list(tenant, one), what="it says what it waits for")
    assert condition(told, "Ready")["reason"] == "Deleting"

    await webhook_is(tenant, UP)
    await eventually(lambda: _is_gone(tenant), what="it goes", seconds=60)


async def _is_gone(tenant: Tenant) -> bool:
    names = {"things": things(group_of(tenant), "v2")}
    return not await tenant.owned(*names.values())

"""Every request of a first install, Events included, with the admission webhook on.

Four objects from one ConfigMap, a Deployment among them. `test_call_counts` has larger things, without Events and
without the webhook. The watches of the kinds are there already: a first deployment, not counted, has opened them.
"""

from collections.abc import AsyncIterator

import orjson
import pytest

from rukpak_py.api.names import WEBHOOK_CONFIGURATION
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests import manifests
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import settled_with_events
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import Document, ingress, service, service_account, workload
from tests.waiting import eventually

OBJECTS = ("serviceaccounts", "services", "deployments", "ingresses")
REQUESTS = {
    ("get", "configmaps", "200"): 1,  # the source; the webhook knows from its watch that it is immutable
    ("create", "bundles", "201"): 1,
    ("patch", "bundles/status", "200"): 1,
    **{("get", plural, "404"): 1 for plural in OBJECTS},
    **{("apply", plural, "201"): 1 for plural in OBJECTS},
    ("patch", "bundledeployments/status", "200"): 2,  # the kinds; applied and healthy
    ("create", "events", "201"): 2,  # Unpacked, Installed
}


def application(tenant: Tenant, name: str) -> list[Document]:
    parts = (service_account, service, workload, ingress)
    return [part(name, tenant.namespace) for part in parts]


async def install(tenant: Tenant, name: str) -> None:
    await tenant.publish(name, application(tenant, name))
    await tenant.deploy(name, name=f"{tenant.name}-{name}")
    await tenant.ready(name=f"{tenant.name}-{name}")


@pytest.fixture
async def guarded(tenant: Tenant, operators: StartOperator) -> AsyncIterator[Operator]:
    """An operator whose webhook the API server calls."""
    operator = operators(webhook=True)
    await operator.start()
    mutable = {**manifests.config_map("mutable", tenant.system), "immutable": False}
    await tenant.admin.create(CONFIG_MAPS, tenant.system, canonical_json(mutable))

    async def is_called() -> bool:
        try:
            await tenant.admin.create(
                BUNDLES, "", orjson.dumps(manifests.bundle("probe", manifests.source("mutable"))), dry_run=True
            )
        except ApiError as error:
            return "immutable" in str(error)
        return False

    await eventually(is_called, what="the API server calls the webhook")
    yield operator
    operator.kill()  # or it would put the configuration back
    await tenant.admin.delete(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)


async def test_a_first_install_of_four_objects_sends_these_requests_and_no_event_is_dropped(
    tenant: Tenant, guarded: Operator
) -> None:
    await install(tenant, "first")
    before = await settled_with_events(guarded)
    await install(tenant, "second")
    sent = await settled_with_events(guarded) - before

    assert sent == REQUESTS
    assert await guarded.metric("rukpak_events_dropped_total") == 0

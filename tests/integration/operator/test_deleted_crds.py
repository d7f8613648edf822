"""Our CRDs are deleted: the operator ends once and says why; the next process waits for them and does not lead."""

from collections.abc import AsyncIterator

import pytest

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_DEPLOYMENT_PLURAL, BUNDLE_KIND, BUNDLE_PLURAL
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.definitions import definitions, install, remove
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.leases import holder, leads
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map
from tests.waiting import eventually

ENDS_WITHIN = 40.0
RETURNS_WITHIN = 10.0


@pytest.fixture
async def crds(admin: Client, tenant: Tenant) -> AsyncIterator[None]:
    """Install the CRDs again before the tenant ends."""
    yield
    await install(admin, definitions())
    await tenant.end()


async def not_ready_because(operator: Operator, words: str) -> bool:
    status, text = await operator.ask("health-probe", "/readyz")
    return status == 503 and words in text


@pytest.mark.usefixtures("crds")
@pytest.mark.parametrize(
    ("plural", "kind"),
    [(BUNDLE_DEPLOYMENT_PLURAL, BUNDLE_DEPLOYMENT_KIND), (BUNDLE_PLURAL, BUNDLE_KIND)],
)
async def test_a_deleted_crd_ends_the_operator_once_and_the_next_process_waits_for_it(
    admin: Client, tenant: Tenant, operators: StartOperator, plural: str, kind: str
) -> None:
    operator = operators(arguments=["--leader-elect"])
    await operator.start()
    await eventually(lambda: leads(operator), what="it leads")

    await remove(admin, plural)

    async def has_ended() -> bool:
        return not operator.is_running

    await eventually(has_ended, what="the operator ends", seconds=ENDS_WITHIN)
    assert operator.exit_code == 1
    assert f"does not serve {kind}" in operator.log
    assert not await holder(tenant), "the lease was given back"

    operator.launch()
    await eventually(lambda: not_ready_because(operator, kind), what="it waits, not ready")
    assert (await operator.ask("health-probe", "/healthz"))[0] == 200
    assert not await holder(tenant)

    await install(admin, definitions())
    await eventually(lambda: leads(operator), what="it leads again", seconds=RETURNS_WITHIN)
    await tenant.publish("v1", [config_map("one", tenant.namespace)])
    await tenant.deploy("v1")
    await tenant.ready()
    assert await tenant.owned(CONFIG_MAPS)
    assert operator.starts == 2, "it ended once"


@pytest.mark.usefixtures("crds")
async def test_installed_content_is_kept_again_when_the_crd_of_bundles_is_back_although_its_successor_is_refused(
    admin: Client, tenant: Tenant, operators: StartOperator
) -> None:
    operator = operators(arguments=["--leader-elect"])
    await operator.start()
    await tenant.publish("v1", [config_map("one", tenant.namespace, v="1")])
    await tenant.deploy("v1")
    active = (await tenant.ready())["status"]["activeBundle"]
    missing = {"apiVersion": "missing.example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    await tenant.publish("v2", [config_map("one", tenant.namespace, v="2"), missing])
    await tenant.deploy("v2")
    await tenant.until(lambda one: condition(one, "Installed").get("reason") == "UpgradeFailed", what="it is refused")

    await remove(admin, BUNDLE_PLURAL)
    text = "the API server does not serve Bundle (core.rukpak.io/v1alpha1): install config/crds"
    await tenant.until(lambda one: condition(one, "Ready").get("message") == text, what="it says what is missing")
    await operator.stop()
    await admin.patch(CONFIG_MAPS, tenant.namespace, "one", b'{"data":{"v":"drift"}}', field_manager="somebody")

    await install(admin, definitions())
    operator.launch()

    async def is_corrected() -> bool:
        return bool((await tenant.read(CONFIG_MAPS, tenant.namespace, "one"))["data"] == {"v": "1"})

    await eventually(is_corrected, what="drift is corrected")
    assert (await tenant.deployment())["status"]["activeBundle"] == active

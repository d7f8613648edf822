"""Exact numbers of requests for a chart: what plain content costs.

Rendering asks the API server for nothing but what templates look up.

A wait of more than a second is one more status write. On a busy machine helm may take that long, so the operator of
these tests writes none.
"""

from collections.abc import Awaitable, Callable

import orjson
import pytest

from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, SECRETS
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import calls_of_each
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import SERVICES, Tenant, condition
from tests.manifests import Document

# Two ConfigMaps change with a value, and as many Services are there as another one says.
TEMPLATE = """
{{ range $number := until 5 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map-{{ $number }}}
data: {text: {{ if lt $number 2 }}{{ $.Values.text }}{{ else }}same{{ end }}}
{{ end }}
{{ range $number := until (int .Values.services) }}
---
apiVersion: v1
kind: Service
metadata: {name: service-{{ $number }}}
spec: {ports: [{port: 80}]}
{{ end }}
"""
WITH_PASSWORD = """
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: {{ .Values.password }}}
"""
FIRST, SECOND = {"text": "one", "services": 3}, {"text": "two", "services": 2}
SECRET = "values"
FIRST_INSTALL = {
    ("get", "configmaps", "200"): 2,  # the source
    ("create", "bundles", "201"): 1,
    ("patch", "bundles/status", "200"): 1,
    ("patch", "bundledeployments/status", "200"): 2,  # the kinds; the result
    ("get", "configmaps", "404"): 5,  # metadata: is the name free?
    ("get", "services", "404"): 3,
    ("apply", "configmaps", "201"): 5,
    ("apply", "services", "201"): 3,
    ("watch", "configmaps", "200"): 1,
    ("watch", "services", "200"): 1,
}
STATUS = {("patch", "bundledeployments/status", "200"): 1}
UPGRADE = {  # no Bundle: the content is the same
    ("dry_run", "configmaps", "200"): 2,
    ("apply", "configmaps", "200"): 2,
    ("delete", "services", "200"): 1,
    **STATUS,
}
# The collector deletes what the deployment owned; the watch of an object may tell that before the own one does.
DELETION: tuple[dict[tuple[str, str, str], int], ...] = ({}, {("get", "bundledeployments", "404"): 1})
READ_VALUES = {("get", "secrets", "200"): 1}
MAKE_KEY = {("get", "secrets", "404"): 1, ("create", "secrets", "201"): 1}  # of digests; once for all charts


@pytest.fixture
async def operator(operators: StartOperator, helm: HelmProgram) -> Operator:
    operator = operators(arguments=[f"--helm={helm.path}"], module="tests.integration.operator.patient")
    await operator.start()
    return operator


class Chart:
    """The tenant's."""

    def __init__(self, tenant: Tenant, items: list[Document]) -> None:
        self._tenant = tenant
        self._items = items

    def install(self, **config: object) -> Callable[[], Awaitable[Document]]:
        async def work() -> Document:
            await deploy(self._tenant, self._items, config=config)
            return await self._tenant.ready()

        return work

    async def look_again(self) -> None:
        note = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: "1"}}})
        await self._tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", self._tenant.name, note)
        await self._tenant.until(
            lambda seen: seen["status"].get("lastHandledReconcileAt") == "1", what="it was looked at"
        )

    async def drift(self) -> None:
        edit = b'{"data":{"text":"edited"}}'
        await self._tenant.admin.patch(CONFIG_MAPS, self._tenant.namespace, "map-0", edit, field_manager="somebody")

    async def delete(self) -> None:
        await self._tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", self._tenant.name)
        await self._tenant.left_nothing(CONFIG_MAPS, SERVICES)


@pytest.fixture
async def chart(tenant: Tenant) -> Chart:
    return Chart(tenant, await publish(tenant, TEMPLATE))


class Values:
    """A Secret of the tenant."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant

    async def put(self, values: Document) -> None:
        data = {"values.yaml": orjson.dumps(values).decode()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": data}
        admin, system = self._tenant.admin, self._tenant.system
        await admin.apply(SECRETS, system, SECRET, orjson.dumps(body), field_manager="user", force=True)

    async def upgrade(self) -> None:
        await self.put(SECOND)
        await self._tenant.until(lambda seen: len(seen["status"]["history"]) == 2, what="it was upgraded")

    async def touch(self) -> None:
        """Another version with the same values."""
        patch = b'{"metadata":{"annotations":{"noted":"yes"}},"stringData":{"another":"key"}}'
        await self._tenant.admin.patch(SECRETS, self._tenant.system, SECRET, patch, field_manager="somebody")

    async def delete(self) -> None:
        await self._tenant.admin.delete(SECRETS, self._tenant.system, SECRET)
        text = f"Secret {self._tenant.system}/{SECRET} does not exist"
        await self._tenant.until(lambda seen: text in condition(seen, "HasValidBundle")["message"], what="it is told")


async def test_a_chart_costs_what_plain_content_costs(operator: Operator, chart: Chart) -> None:
    install, upgrade = chart.install(values=FIRST), chart.install(values=SECOND)
    works = install, install, chart.look_again, chart.drift, upgrade, chart.delete
    *others, deletion = await calls_of_each(operator, *works)
    assert others == [
        FIRST_INSTALL,
        {},
        {("apply", "configmaps", "200"): 5, ("apply", "services", "200"): 3, **STATUS},  # when it was asked for
        {("apply", "configmaps", "200"): 1},
        UPGRADE,
    ]
    assert deletion in DELETION


async def test_a_secret_that_an_upgrade_changes_is_read_before_and_after_a_rendering_to_compare(
    tenant: Tenant, operator: Operator
) -> None:
    """It is not read when its value is listed, nor where the Secret stays as it is."""
    chart = Chart(tenant, await publish(tenant, TEMPLATE + WITH_PASSWORD))
    listed = ["login/password"]
    works = (
        chart.install(values={**FIRST, "password": "one"}),
        chart.install(values={**SECOND, "password": "one"}),
        chart.install(values={**SECOND, "password": "two"}),
        chart.install(values={**SECOND, "password": "three"}, acceptNewSecrets=listed),
        chart.install(values={**SECOND, "password": "three"}),
    )
    _, *upgrades = await calls_of_each(operator, *works)
    changed = {("dry_run", "secrets", "200"): 1, ("apply", "secrets", "200"): 1, **STATUS}
    assert upgrades == [
        UPGRADE,
        {("get", "secrets", "200"): 2, **changed},
        {("get", "secrets", "200"): 1, **changed},
        STATUS,  # of another generation
    ]


async def test_a_secret_with_values_is_read_once_for_each_change(
    tenant: Tenant, operator: Operator, chart: Chart
) -> None:
    values = Values(tenant)
    await values.put(FIRST)
    install = chart.install(valuesFrom=[{"kind": "Secret", "name": SECRET}])
    works = install, values.upgrade, values.touch, chart.look_again, values.delete, chart.delete
    *others, deletion = await calls_of_each(operator, *works)
    assert others == [
        {**FIRST_INSTALL, **READ_VALUES, **MAKE_KEY},
        {**UPGRADE, **READ_VALUES},
        READ_VALUES,
        {("apply", "configmaps", "200"): 5, ("apply", "services", "200"): 2, **STATUS},
        {("get", "secrets", "404"): 1, **STATUS},
    ]
    assert deletion in DELETION

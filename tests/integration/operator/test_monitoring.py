"""A real Prometheus scrapes real operators: queries of the dashboard have answers, and alerts fire.

Alerts fire here at once: they are those of the chart, without the time for which they have to last. Those that nothing
can cause within seconds are fired in `tests/unit/monitoring`, with series that are compared with the real ones here.
"""

import asyncio
import json
import os
import re
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import orjson
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from e2e.servers import prometheus
from e2e.servers.prometheus import Prometheus
from rukpak_py.api.names import BUNDLE_WEBHOOK_PATH, SERVING_CERTIFICATE_ANNOTATION
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests import manifests
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK
from tests.integration.operator.process import Operator
from tests.integration.operator.reviewing import created_bundle
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.upgrading import MANUAL, publish, waits
from tests.integration.proxy import Exchange, Fail, Proxy
from tests.manifests import Document, config_map, service, workload
from tests.unit.monitoring.alert_cases import CASES
from tests.waiting import eventually

FILES = Path(__file__).parents[3] / "charts/rukpak/files"
STOPPED_SECONDS = 0.6  # of the process: its timers are late by that
EDITS = 6
OWN_LABELS = frozenset({"job", "instance", "le"})  # of the scrape, and of buckets


def shipped_rules() -> list[Document]:
    """The alerts of the chart, which need not last."""
    groups: list[Document] = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return [
        {**group, "rules": [{key: value for key, value in rule.items() if key != "for"} for rule in group["rules"]]}
        for group in groups
    ]


def dashboard_queries() -> list[tuple[str, str]]:
    """Title of the panel and expression, as Grafana sends it."""
    panels = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    variables = {"$job": prometheus.JOB, "$__rate_interval": "10s"}
    found = []
    for panel in panels:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in variables.items():
                expression = expression.replace(name, value)
            found.append((panel["title"], expression))
    return found


def series_of(text: str) -> set[tuple[str, frozenset[str]]]:
    """Name and names of labels of all samples of a scrape."""
    return {
        (sample.name, frozenset(sample.labels) - OWN_LABELS)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped_at(*operators: Operator) -> list[str]:
    return [operator.url("metrics", "").removeprefix("http://") for operator in operators]


async def firing(server: Prometheus, *names: str) -> dict[str, Document]:
    """An alert of each of these names, once all fire."""

    async def look() -> dict[str, Document] | None:
        alerts = await asyncio.to_thread(server.alerts)
        found = {one["labels"]["alertname"]: one for one in alerts if one["state"] == "firing"}
        return found if set(names) <= set(found) else None

    try:
        return await eventually(look, what=f"alerts fire: {', '.join(names)}", seconds=60)
    except TimeoutError as error:
        alerts = sorted(one["labels"]["alertname"] for one in await asyncio.to_thread(server.alerts))
        raise AssertionError(f"{error}; these do: {alerts}") from error


@pytest.fixture
async def monitored(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, tmp_path: Path
) -> AsyncIterator[tuple[Operator, Prometheus]]:
    """An operator with one deployment of each sort, and the Prometheus that scrapes it."""
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=[LOOPBACK])
    await operator.start()
    with prometheus.running(tmp_path / "prometheus", scraped_at(operator), shipped_rules()) as server:
        await publish(
            tenant, "v1", service("hooks", tenant.namespace, annotations={SERVING_CERTIFICATE_ANNOTATION: "s"})
        )
        await publish(tenant, "v2")
        await tenant.deploy("v1", upgrades=MANUAL)
        await tenant.ready()
        await tenant.deploy("v2", upgrades=MANUAL)
        await waits(tenant)
        await tenant.publish("unhealthy", [{**workload("web", tenant.namespace), "spec": unready_spec()}])
        await tenant.deploy("unhealthy", name=f"{tenant.name}-unhealthy")
        await tenant.publish("stalled", [{"apiVersion": "v1", "metadata": {"name": "x"}}])
        await tenant.deploy("stalled", name=f"{tenant.name}-stalled")
        await tenant.publish("paused", [config_map("paused", tenant.namespace)])
        await tenant.deploy("paused", name=f"{tenant.name}-paused", suspend=True)
        for number in range(3):
            await unreachable(tenant, f"{tenant.name}-unreachable-{number}")
        await created_bundle(operator, manifests.bundle("b", {"type": "upload", "upload": {}}))
        await ask_for_content(operator)
        proxy.cut("secrets")
        yield operator, server


def unready_spec() -> Document:
    """One replica, which no node runs."""
    spec: Document = workload("web")["spec"]
    return {**spec, "replicas": 1}


async def unreachable(tenant: Tenant, name: str) -> None:
    """A deployment of content on a server that does not answer."""
    tenant.sees_to(name)
    source = {"type": "http", "http": {"url": "http://127.0.0.1:9/content.tgz"}}
    body = orjson.dumps(manifests.deployment(name, source))
    await tenant.admin.apply(BUNDLE_DEPLOYMENTS, "", name, body, field_manager="user", force=True)


async def test_a_real_prometheus_finds_what_the_dashboard_asks_for_and_fires_alerts(
    tenant: Tenant, proxy: Proxy, monitored: tuple[Operator, Prometheus]
) -> None:
    operator, server = monitored
    found = await firing(
        server,
        "RukPakDeploymentNotReady",
        "RukPakDeploymentStalled",
        "RukPakFetchesFailing",
        "RukPakWebhookConfigurationWrong",
    )
    stalled = found["RukPakDeploymentStalled"]
    assert stalled["labels"]["name"] == f"{tenant.name}-stalled"
    assert "(ContentError)" in stalled["annotations"]["summary"]

    text = await operator.metrics()
    used = {
        (match[1], frozenset(re.findall(r"(\w+)=", match[2] or "")) - OWN_LABELS)
        for case in CASES
        for series in case.series
        if 'job="kubelet"' not in series and (match := re.fullmatch(r"(\w+)(?:\{(.*)\})?", series))
    }
    assert used - series_of(text) == set()

    for title, expression in dashboard_queries():

        async def has_answer(expression: str = expression) -> bool:
            return bool(await asyncio.to_thread(server.query, expression))

        await eventually(has_answer, what=f"{title} has data: {expression}", seconds=15)

    async with held_up(operator):
        await firing(server, "RukPakEventLoopSlow", "RukPakWebhookFailing")

    broken = Fail(match=is_of_a_deployment, status=500)
    proxy.rules.append(broken)
    for number in range(EDITS):
        await tenant.deploy("paused", name=f"{tenant.name}-paused", suspend=bool(number % 2))
    await firing(server, "RukPakApiServerErrors", "RukPakReconcileErrors")
    proxy.rules.remove(broken)

    alerts = await asyncio.to_thread(server.alerts)
    texts = [text for one in alerts for text in one["annotations"].values()]
    assert not [text for text in texts if "<no value>" in text or "<error expanding" in text]
    operator.kill()
    await firing(server, "RukPakOperatorAbsent")


def is_of_a_deployment(exchange: Exchange) -> bool:
    return exchange.resource == "bundledeployments" and exchange.is_write


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def ask_for_content(operator: Operator) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(operator.url("http", "/bundles/b.tgz"), ssl=trusting()) as answer,
    ):
        assert answer.status == 401


@asynccontextmanager
async def held_up(operator: Operator) -> AsyncIterator[None]:
    """The process is stopped again and again, and clients give up their reviews between."""

    async def hold_up() -> None:
        while True:
            os.kill(operator.pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(STOPPED_SECONDS)
            finally:
                os.kill(operator.pid, signal.SIGCONT)
            await give_up_a_review(operator)

    holding = asyncio.create_task(hold_up())
    try:
        yield
    finally:
        holding.cancel()
        await asyncio.wait([holding])


async def give_up_a_review(operator: Operator) -> None:
    """Begin to send a review, and go away."""
    host, _, port = operator.url("webhook", "").removeprefix("https://").partition(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=trusting())
    head = f"POST {BUNDLE_WEBHOOK_PATH} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n{{"
    writer.write(head.encode())
    await writer.drain()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def test_without_a_leader_an_alert_fires_and_followers_have_no_objects(
    tenant: Tenant, operators: StartOperator, tmp_path: Path
) -> None:
    leader, follower = (operators(arguments=["--leader-elect"]) for _ in range(2))
    await leader.start()
    await publish(tenant, "v1")
    await tenant.deploy("v1")
    await tenant.ready()
    assert await leader.metric("rukpak_resources", kind="BundleDeployment", ready="True") == 1
    assert await leader.samples("rukpak_store_files", store="bundles")
    await follower.start()
    assert await follower.samples("rukpak_leader") == [0]
    names = {name for name, _ in series_of(await follower.metrics())}
    assert not [name for name in names if name.startswith(("rukpak_resource", "rukpak_store"))]
    with prometheus.running(tmp_path / "prometheus", scraped_at(follower), shipped_rules()) as server:
        await firing(server, "RukPakNoLeader")


async def test_metrics_of_single_objects_can_be_switched_off(tenant: Tenant, operators: StartOperator) -> None:
    operator = operators(environment={"RUKPAK_PER_OBJECT_METRICS": "false"})
    await operator.start()
    await publish(tenant, "v1")
    await tenant.deploy("v1")
    await tenant.ready()
    assert await operator.metric("rukpak_resources", kind="BundleDeployment", ready="True") == 1
    assert tenant.name not in await operator.metrics()


async def test_a_deleted_deployment_leaves_no_series(tenant: Tenant, operator: Operator) -> None:
    await publish(tenant, "v1")
    await tenant.deploy("v1")
    await tenant.ready()
    assert tenant.name in await operator.metrics()
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)

    async def is_forgotten() -> bool:
        return tenant.name not in await operator.metrics()

    await eventually(is_forgotten, what="no series of the deployment is left")

"""The page of `rukpakctl ui`: the plan of an upgrade that waits, hostile objects, and what the page costs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from urllib.parse import urlsplit

import aiohttp
import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    CONTENT_SERVICE,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    SecretName,
)
from rukpak_py.cli.cluster.page_server import LoopbackPage
from rukpak_py.cli.cluster.session import ClusterSession, OperatorAt
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.core.objects import RBAC_GROUP
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CLUSTER_ROLES, EVENTS, PODS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import WORKLOADS, Tenant
from tests.integration.operator.upgrading import MANUAL, begun, pending, waits
from tests.integration.proxy import Proxy
from tests.manifests import manifest, workload
from tests.unit.cli.content_servers import Direct

SCRIPT = "<script>alert(1)</script>"
HOSTILE = (SCRIPT, '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "</title><svg onload=alert(1)>")
EVERYTHING = " ".join(HOSTILE)
TEXTS = 4  # version, condition, reason and message of the Event
PAGES = 5


class Markup(HTMLParser):
    """A page as a browser understands it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.handlers = set[str](), set[str]()
        self.links, self.sources = set[str](), set[str]()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name.startswith("on") or name in {"style", "srcdoc"}:
                self.handlers.add(name)
            if name in {"href", "action", "formaction"}:
                self.links.add(value or "")
            if name == "src":
                self.sources.add(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


@asynccontextmanager
async def page_for(client: Client, plane: ControlPlane, system: str, *, port: int = 1) -> AsyncIterator[LoopbackPage]:
    """`port`: of the content server; only the port-forward is left out, which needs a kubelet."""
    at = OperatorAt(namespace=system, service=CONTENT_SERVICE, ca_secret=str(SecretName.CA))
    cluster = ClusterSession(client, await load_connection(plane.kubeconfig), at, way=Direct(port=port))
    page = LoopbackPage(cluster, port=0, troubleshooting="", limits=DEFAULT_LIMITS)
    async with page.served():
        yield page


async def asked(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def test_upgrade_that_waits_has_its_plan(tenant: Tenant, operator: Operator, plane: ControlPlane) -> None:
    await begun(tenant, MANUAL)
    digest = pending(await waits(tenant))["digest"]
    async with page_for(tenant.admin, plane, tenant.system, port=operator.content_port) as page:
        for path in ("", "/plan"):
            status, text = await asked(f"{page.url}deployments/{tenant.name}{path}")
            assert (status, digest in text) == (200, True)
        assert (await asked(f"{page.url}deployments/no-such-deployment/plan"))[0] == 404


async def test_hostile_objects_are_text(tenant: Tenant, plane: ControlPlane) -> None:
    """Each text that the API server stores for others and that the page shows."""
    uid = await tenant.deploy("one", installNamespace=tenant.namespace)
    await _hostile_status(tenant)
    owner = {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND, "name": tenant.name, "uid": uid}
    marks = {
        "labels": {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: tenant.name},
        "ownerReferences": [owner | {"controller": True}],
        "annotations": {"example.com/note": EVERYTHING},
    }
    roles = [f"{tenant.name} {text.replace('/', '')}" for text in HOSTILE]  # RBAC takes all but slashes
    for name in roles:
        role = manifest(f"{RBAC_GROUP}/v1", "ClusterRole", name, rules=[])
        role["metadata"] |= marks
        await tenant.admin.create(CLUSTER_ROLES, "", orjson.dumps(role))
    web = workload("web", tenant.namespace)
    web["metadata"] |= marks
    web["spec"]["replicas"] = 1
    await tenant.admin.create(WORKLOADS, tenant.namespace, orjson.dumps(web))
    await _crash(tenant, web["spec"]["selector"]["matchLabels"])
    await _event(tenant, uid)
    async with page_for(tenant.admin, plane, tenant.system) as page:
        for path in (
            "",
            f"?search={SCRIPT}&namespace={SCRIPT}&class={SCRIPT}&state={SCRIPT}",
            f"deployments/{tenant.name}",
        ):
            _, text = await asked(page.url + path)
            found = Markup(text)
            assert found.tags.isdisjoint({"img", "svg", "iframe", "object", "embed", "base", "style"}), path
            assert found.handlers == set()
            assert all(urlsplit(link).scheme in {"", "http", "https"} for link in found.links)
            assert {source.rpartition("/")[2] for source in found.sources} == {"page.js"}
        assert all(name in found.text for name in roles)
        assert found.text.count(EVERYTHING) == TEXTS


async def _hostile_status(tenant: Tenant) -> None:
    kinds = [{"group": RBAC_GROUP, "version": "v1", "kind": "ClusterRole"}]
    kinds.append({"group": "apps", "version": "v1", "kind": "Deployment"})
    generation = (await tenant.deployment())["metadata"]["generation"]
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "Unhealthy",
        "message": EVERYTHING,
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    state = {"observedGeneration": generation, "conditions": [condition], "kinds": kinds, "version": EVERYTHING}
    await tenant.admin.patch_status(BUNDLE_DEPLOYMENTS, "", tenant.name, orjson.dumps({"status": state}))


async def _crash(tenant: Tenant, labels: dict[str, str]) -> None:
    container = {"name": "web", "image": EVERYTHING}
    pod = manifest("v1", "Pod", "web", tenant.namespace, labels=labels, spec={"containers": [container]})
    await tenant.admin.create(PODS, tenant.namespace, orjson.dumps(pod))
    waiting = {"reason": "CrashLoopBackOff", "message": EVERYTHING}
    last = {"terminated": {"exitCode": 1, "reason": SCRIPT, "message": EVERYTHING}}
    container_state = {"name": "web", "image": "", "imageID": "", "ready": False, "restartCount": 9}
    container_state |= {"state": {"waiting": waiting}, "lastState": last}
    body = orjson.dumps({"status": {"phase": "Running", "containerStatuses": [container_state]}})
    await tenant.admin.patch_status(PODS, tenant.namespace, "web", body)


async def _event(tenant: Tenant, uid: str) -> None:
    about = {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND, "name": tenant.name, "uid": uid}
    event = manifest("v1", "Event", f"{tenant.name}-hostile", "default", involvedObject=about, message=EVERYTHING)
    times = dict.fromkeys(("firstTimestamp", "lastTimestamp"), "2026-01-01T00:00:00Z")
    event |= {"type": "Warning", "reason": EVERYTHING, "count": 2, **times}
    await tenant.admin.create(EVENTS, "default", orjson.dumps(event))


@pytest.mark.usefixtures("operator")
async def test_kinds_are_not_discovered_for_every_page(tenant: Tenant, plane: ControlPlane, proxy: Proxy) -> None:
    await begun(tenant, MANUAL)
    async with (
        Client(await load_connection(proxy.kubeconfig)) as client,
        page_for(client, plane, tenant.system) as page,
    ):
        for _ in range(PAGES):
            assert (await asked(f"{page.url}deployments/{tenant.name}"))[0] == 200
    assert [one.path for one in proxy.seen if one.path in {"/api", "/apis"}] == ["/api", "/apis"]

"""Commands that watch, and `wait`, while the API server fails, restarts, hangs or limits what a user may see.

No operator runs: the tests write the status themselves.
"""

import asyncio
import signal
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import orjson
import pytest
from aiohttp import web

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import GROUP
from rukpak_py.core.objects import RBAC_GROUP
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, EVENTS
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.test_lasting_commands import INTERRUPTED, SECONDS, ended, line_of, line_with, running
from tests.integration.proxy import Exchange, Fail, Proxy
from tests.manifests import manifest
from tests.waiting import until

WATCHES = ("get", "tree", "why", "events")


@dataclass(kw_only=True)
class Hang:
    """Requests that are never answered, until the rule is let go."""

    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def before(self, exchange: Exchange) -> web.Response | None:
        if exchange.resource == BUNDLE_DEPLOYMENTS.plural:
            await self.let_go.wait()
        return None

    async def after(self, exchange: Exchange) -> None:
        pass


async def say(tenant: Tenant, text: str) -> None:
    """A Ready condition with this message, and an Event."""
    found = await tenant.deployment()
    generation = found["metadata"]["generation"]
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "UnpackFailed",
        "message": text,
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = orjson.dumps({"status": {"observedGeneration": generation, "conditions": [ready]}})
    await tenant.admin.patch_status(BUNDLE_DEPLOYMENTS, "", tenant.name, body)
    subject = {"apiVersion": f"{GROUP}/v1alpha2", "kind": "BundleDeployment"}
    about = {**subject, "name": tenant.name, "uid": found["metadata"]["uid"]}
    times = dict.fromkeys(("firstTimestamp", "lastTimestamp"), "2026-01-01T00:00:00Z")
    event = manifest("v1", "Event", f"{tenant.name}-{text}", "default", involvedObject=about, message=text)
    event |= {"type": "Warning", "reason": "UnpackFailed", "count": 1, **times}
    await tenant.admin.create(EVENTS, "default", orjson.dumps(event))


async def grant(tenant: Tenant, user: str, *rules: dict[str, list[str]]) -> None:
    role = manifest(f"{RBAC_GROUP}/v1", "ClusterRole", user, rules=list(rules))
    reference = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": user}
    subjects = [{"kind": "User", "apiGroup": RBAC_GROUP, "name": user}]
    binding = manifest(f"{RBAC_GROUP}/v1", "ClusterRoleBinding", user, roleRef=reference, subjects=subjects)
    await tenant.admin.create(CLUSTER_ROLES, "", orjson.dumps(role))
    await tenant.admin.create(CLUSTER_ROLE_BINDINGS, "", orjson.dumps(binding))


def of_deployments(exchange: Exchange) -> bool:
    return exchange.resource == BUNDLE_DEPLOYMENTS.plural


async def failed(proxy: Proxy, status: int) -> Fail:
    """Watches are cut, and requests after them have failed."""
    failing = Fail(match=of_deployments, status=status)
    proxy.rules.append(failing)

    def has_failed() -> bool:
        proxy.cut(BUNDLE_DEPLOYMENTS.plural)  # again: one that was being opened has not been there yet
        return len(failing.failed) > 1

    await until(has_failed)
    return failing


async def test_watched_screens_outlive_a_restart_of_the_api_server(tenant: Tenant, plane: ControlPlane) -> None:
    """A user whose rights the new server knows only once it has read the roles."""
    await tenant.deploy("one")
    await say(tenant, "before")
    user = f"viewer-{tenant.name}"
    reads = ["get", "list", "watch"]
    await grant(
        tenant,
        user,
        {"apiGroups": [GROUP], "resources": ["*"], "verbs": reads},
        {"apiGroups": [""], "resources": ["events"], "verbs": reads},
    )
    kubeconfig = plane.user_kubeconfig(user)
    async with AsyncExitStack() as stack:
        screens = {
            name: await stack.enter_async_context(running(kubeconfig, name, tenant.name, "--watch")) for name in WATCHES
        }
        for screen in screens.values():
            await line_with(screen, "before")
        plane.restart_apiserver(signal.SIGKILL)  # in this thread, with which it would end
        await say(tenant, "after")
        for screen in screens.values():
            await line_with(screen, "after")
        for name, screen in screens.items():
            assert (name, *await ended(screen, signal.SIGINT)) == (name, INTERRUPTED, "")


@pytest.mark.parametrize("status", [0, 403, 401, 410, 500])
@pytest.mark.parametrize("command", ["get", "tree"])  # the others watch as tree does
async def test_watched_screen_outlives_requests_that_fail(
    tenant: Tenant, proxy: Proxy, command: str, status: int
) -> None:
    await tenant.deploy("one")
    await say(tenant, "before")
    async with running(proxy.kubeconfig, command, tenant.name, "--watch") as screen:
        await line_with(screen, "before")
        failing = await failed(proxy, status)
        proxy.rules.remove(failing)
        await say(tenant, "after")
        await line_with(screen, "after")
        assert await ended(screen, signal.SIGINT) == (INTERRUPTED, "")


async def test_deployment_that_was_created_again_is_one_that_was_deleted(tenant: Tenant, proxy: Proxy) -> None:
    """Both happen while nothing is watched, and only the uid tells."""
    await tenant.deploy("one")
    await say(tenant, "before")
    async with running(proxy.kubeconfig, "wait", tenant.name, "--for", "deleted") as process:
        await line_with(process, "before")
        failing = await failed(proxy, 410)
        await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
        await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
        await tenant.deploy("two")
        proxy.rules.remove(failing)
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out.decode().split() == [tenant.name, "deleted"]


async def test_time_of_wait_is_for_requests_that_hang_as_well(tenant: Tenant, proxy: Proxy) -> None:
    await tenant.deploy("one")
    hang = Hang()
    proxy.rules.append(hang)
    try:
        async with running(proxy.kubeconfig, "wait", tenant.name, "--timeout", "1s") as process:
            async with asyncio.timeout(SECONDS - 5):  # one request alone has 30 s
                _, err = await process.communicate()
    finally:
        hang.let_go.set()
    assert process.returncode == 1
    assert err.decode() == f"Error: {tenant.name} is not ready within 1 s: the API server did not answer in time\n"


async def test_interrupted_wait_ends_quietly(tenant: Tenant, plane: ControlPlane) -> None:
    await tenant.deploy("one")
    async with running(plane.kubeconfig, "wait", tenant.name) as process:
        await line_of(process)
        assert await ended(process, signal.SIGINT) == (INTERRUPTED, "")


async def test_user_with_rights_to_named_deployments_watches_these(tenant: Tenant, plane: ControlPlane) -> None:
    names, user = [f"{tenant.name}-{end}" for end in ("a", "b")], f"viewer-{tenant.name}"
    for name in (*names, tenant.name):
        await tenant.deploy("one", name=name)
    rule = {"apiGroups": [GROUP], "resources": ["bundledeployments"], "verbs": ["get", "list", "watch"]}
    await grant(tenant, user, {**rule, "resourceNames": names})
    kubeconfig = plane.user_kubeconfig(user)
    async with running(kubeconfig, "get", *names, "--watch", "-o", "json") as process:
        shown = {orjson.loads(await line_of(process))["name"] for _ in names}
        assert shown == set(names)
        await tenant.deploy("two", name=names[1])
        await line_with(process, names[1], "two")
        await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", names[0])
        await line_with(process, names[0])
        assert await ended(process, signal.SIGINT) == (INTERRUPTED, "")
    async with running(kubeconfig, "get", *names, tenant.name, "--watch") as process:
        async with asyncio.timeout(SECONDS):
            _, err = await process.communicate()
    assert (process.returncode, b"forbidden" in err) == (3, True)

"""Which kinds are served, at which price."""

import asyncio

import orjson
import pytest

from rukpak_py.controllers.cluster import Cluster
from rukpak_py.core.metrics import request_counts
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery, once_served
from rukpak_py.kube.errors import KindNotServedError
from rukpak_py.kube.resources import CRDS, NAMESPACES, Resource
from tests.integration.kube.objects import define, definition_name, new_kind, thing
from tests.waiting import eventually

API_SERVICES = Resource(
    gvk=GroupVersionKind("apiregistration.k8s.io", "v1", "APIService"), plural="apiservices", namespaced=False
)


async def test_discovery_knows_the_kinds_of_kubernetes(client: Client) -> None:
    discovery = Discovery(client)

    assert await discovery.refresh()
    deployment = discovery.find(GroupVersionKind("apps", "v1", "Deployment"))
    assert deployment is not None
    assert (deployment.plural, deployment.namespaced) == ("deployments", True)
    assert {"get", "list", "watch", "patch", "delete"} <= deployment.verbs
    assert {"status", "scale"} <= deployment.subresources
    assert discovery.find(GroupVersionKind("", "v1", "Namespace")) is not None
    autoscaler = discovery.preferred("autoscaling", "HorizontalPodAutoscaler")
    assert autoscaler is not None
    assert autoscaler.gvk.version == "v2"
    assert discovery.find(NAMESPACES.gvk).path("", "x") == NAMESPACES.path("", "x")  # type: ignore[union-attr] # found


async def test_two_requests_and_when_nothing_changed_two_empty_answers(admin: Client) -> None:
    discovery = Discovery(admin)
    before = request_counts()
    assert await discovery.refresh()
    assert request_counts() - before == {("discover", "", root, "", "200"): 1 for root in ("/api", "/apis")}

    async def nothing_changed() -> bool:
        nonlocal before
        before = request_counts()
        return not await discovery.refresh()

    await eventually(nothing_changed, what="kinds that a test before has deleted are gone")
    assert request_counts() - before == {("discover", "", root, "", "304"): 1 for root in ("/api", "/apis")}


async def test_the_older_form_tells_the_same(admin: Client) -> None:
    """Compare only the kinds of Kubernetes itself: other tests define and delete kinds between the two answers."""
    discovery, older = Discovery(admin), Discovery(admin, accept="application/json")
    await asyncio.gather(discovery.refresh(), older.refresh())

    of_kubernetes = resources_of_kubernetes(discovery)
    assert len(of_kubernetes) > 50
    assert resources_of_kubernetes(older) == of_kubernetes


async def test_the_older_form_has_no_empty_answers_and_still_sees_that_nothing_changed(admin: Client) -> None:
    older = Discovery(admin, accept="application/json")
    await older.refresh()

    async def nothing_changed() -> bool:
        before = request_counts()
        changed = await older.refresh()
        codes = {code for _verb, _group, _kind, _subresource, code in request_counts() - before}
        return not changed and "304" not in codes

    await eventually(nothing_changed, what="no other test defines a kind for the length of one look", seconds=120)


def resources_of_kubernetes(discovery: Discovery) -> dict[GroupVersionKind, Resource]:
    resources = discovery.served.resources
    return {gvk: found for gvk, found in resources.items() if "." not in gvk.group or gvk.group.endswith(".k8s.io")}


async def test_concurrent_refreshes_share_their_requests(client: Client) -> None:
    discovery = Discovery(client)
    before = request_counts()
    await asyncio.gather(*[discovery.refresh() for _ in range(20)])

    requests = sum((request_counts() - before).values())
    assert requests == 4  # the first one's run, and one that began after all the others had asked


async def test_a_new_kind_shows_and_takes_objects_at_once(client: Client) -> None:
    kind, discovery = new_kind(), Discovery(client)
    await discovery.refresh()
    assert discovery.find(kind.gvk) is None

    await define(client, kind)

    async def found_resource() -> Resource | None:
        await discovery.refresh()
        return discovery.find(kind.gvk)

    found = await eventually(found_resource, what="the kind is served")
    applied = await once_served(lambda: client.apply(found, "", "a", thing(kind, "a"), field_manager="us", force=False))

    assert (found.gvk, found.plural, found.namespaced) == (kind.gvk, "things", False)
    assert applied.created
    await client.delete(CRDS, "", definition_name(kind))


async def test_a_kind_that_never_comes_ends_the_wait(client: Client) -> None:
    with pytest.raises(KindNotServedError):
        await once_served(lambda: client.list_metadata(new_kind()), limit=0.2)


async def test_an_api_service_without_a_backend_is_named_stale_and_told_in_the_log(
    admin: Client, caplog: pytest.LogCaptureFixture
) -> None:
    service = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.dead.rukpak.test"},
        "spec": {
            "group": "dead.rukpak.test",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "nobody"},
        },
    }
    discovery = Discovery(admin)
    await admin.create(API_SERVICES, "", orjson.dumps(service))
    try:

        async def is_stale() -> bool:
            await discovery.refresh()
            return "dead.rukpak.test/v1" in discovery.stale_groups

        await eventually(is_stale, what="the group is stale")
        assert discovery.find(GroupVersionKind("apps", "v1", "Deployment")) is not None

        cluster = Cluster(admin, Discovery(admin), on_namespace=lambda _name: None, on_kinds=lambda _kinds: None)
        await cluster.start()
        await cluster.close()
    finally:  # no namespace of the cluster would ever be gone
        await admin.delete(API_SERVICES, "", "v1.dead.rukpak.test")
    (told,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "APIService v1.dead.rukpak.test is not available: " in told.getMessage()

"""An informer on a server whose data went back, as after a restore of etcd."""

from aiohttp import web

from rukpak_py.kube.informer import Informer
from rukpak_py.kube.resources import Resource
from tests.unit.kube.fake_api import Handler, hang_up, serving
from tests.unit.kube.test_informer_fallback import OBJECT, QUICK, events, kind
from tests.waiting import until

END_50 = {"metadata": {"resourceVersion": "50", "annotations": {"k8s.io/initial-events-end": "true"}}}
END_20 = {"metadata": {"resourceVersion": "20", "annotations": {"k8s.io/initial-events-end": "true"}}}
NEW = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "40"}}
OLD = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "10"}}


def at(version: int) -> web.Response:
    return web.json_response({"metadata": {"resourceVersion": str(version)}, "items": []})


def broken_after(*pairs: tuple[str, object]) -> Handler:
    told = events(*pairs, stays_open=False)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = await told(request)
        assert request.transport is not None
        request.transport.close()
        return response

    return answer


async def restores(
    resource: Resource, *answers: web.Response | Handler, versions: list[str]
) -> tuple[list[tuple[int, int]], int]:
    """The restores that were reported, and the number of requests, once all were answered and it has these versions."""
    told: list[tuple[int, int]] = []
    async with serving(*answers) as (client, api):
        informer = Informer(
            client, resource, settings=QUICK, on_restore=lambda _, seen, current: told.append((seen, current))
        )
        informer.start()
        await until(lambda: len(api.seen) >= len(answers))
        await until(lambda: [one.metadata.resource_version for one in informer] == versions)  # the last answer arrives
        await informer.stop()
        return told, len(api.seen)


async def test_older_data_after_a_lost_connection_is_told_and_taken() -> None:
    first = broken_after(("ADDED", NEW), ("BOOKMARK", END_50))
    second = events(("ADDED", OLD), ("BOOKMARK", END_20))
    told, _ = await restores(kind("restored"), first, at(20), second, versions=["10"])
    assert told == [(50, 20)]


async def test_a_server_that_only_restarted_is_watched_from_where_it_was() -> None:
    first = broken_after(("ADDED", NEW), ("BOOKMARK", END_50))
    told, _ = await restores(
        kind("restarted"), first, hang_up, hang_up, hang_up, hang_up, at(50), events(), versions=["40"]
    )
    assert told == []


async def test_a_clean_end_costs_no_request() -> None:
    first = events(("ADDED", OBJECT), ("BOOKMARK", END_50), stays_open=False)
    told, requests = await restores(kind("clean"), first, events(), versions=["5"])
    assert (told, requests) == ([], 2)

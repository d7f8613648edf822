"""Bundles that use ConfigMaps: by whichever feed, each Bundle by its uid, and no deleted one."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any

import orjson
import pytest
from aiohttp import web

from rukpak_py.controllers.config_map_watches import BundleWatch, ConfigMapUsers
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.informer import INITIAL_EVENTS_END
from rukpak_py.kube.resources import BUNDLES
from rukpak_py.kube.watching import WatchTracker
from tests.unit.controllers.fakes import refusal
from tests.unit.kube.fake_api import Handler, serving
from tests.waiting import eventually

END = {"metadata": {"resourceVersion": "50", "annotations": {INITIAL_EVENTS_END: "true"}}}


def body(*config_maps: str, name: str = "a", uid: str = "u", version: int = 1) -> dict[str, Any]:
    items = [{"configMap": {"name": one}, "path": "manifests"} for one in config_maps]
    return {
        "metadata": {"name": name, "uid": uid, "resourceVersion": str(version)},
        "spec": {"provisionerClassName": "example-com-other", "source": {"type": "image", "configMaps": items}},
    }


def events(*given: tuple[str, Mapping[str, Any]]) -> Handler:
    """A watch that sends these events and stays open."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for kind, sent in given:
            await response.write(orjson.dumps({"type": kind, "object": sent}) + b"\n")
        await asyncio.sleep(30)
        return response

    return answer


@pytest.fixture
def users() -> ConfigMapUsers:
    return ConfigMapUsers()


def test_bundle_uses_each_config_map_that_it_lists_whatever_its_class_and_type(users: ConfigMapUsers) -> None:
    users.event(None, body("m", "n", "m"))
    users.event("ADDED", body("n", name="b", uid="v"))
    assert [users.using(name) for name in ("m", "n", "o")] == [["a"], ["a", "b"], []]


def test_changed_bundle_uses_what_it_lists_now(users: ConfigMapUsers) -> None:
    users.event(None, body("m"))
    users.event("MODIFIED", body("n", version=2))
    assert [users.using(name) for name in ("m", "n")] == [[], ["a"]]
    users.event("MODIFIED", body(version=3))
    assert users.using("n") == []


@pytest.mark.parametrize("late", ["MODIFIED", "DELETED"])
def test_late_event_of_a_former_bundle_of_the_name_leaves_the_new_one(users: ConfigMapUsers, late: str) -> None:
    users.event("ADDED", body("m", uid="old"))
    users.event("ADDED", body("m", uid="new"))
    users.event(late, body("n", uid="old"))
    assert users.using("m") == ["a"]
    users.event("DELETED", body("m", uid="new"))
    assert users.using("m") == []


@pytest.mark.parametrize("spec", [None, 7, {"source": None}, {"source": {"configMaps": None}}])
def test_bundle_that_cannot_be_read_uses_no_config_map(users: ConfigMapUsers, spec: object) -> None:
    users.event(None, body("m"))
    users.event("MODIFIED", {**body(), "spec": spec})
    assert users.using("m") == []


def test_bundles_that_a_list_does_not_show_are_dropped_unless_they_were_seen_since(users: ConfigMapUsers) -> None:
    users.event(None, body("m", name="missed", uid="1"))
    users.event(None, body("m", name="there", uid="2"))
    asked_at = monotonic()
    users.event("ADDED", body("m", name="young", uid="3"))
    users.retain({"2"}, asked_at)
    assert users.using("m") == ["there", "young"]


class TestWatch:
    """The watch of a replica that does not lead, and the feed that takes over."""

    async def test_own_watch_answers_until_another_feed_takes_over(self) -> None:
        sent = (("ADDED", body("m", name="deleted since")), ("BOOKMARK", END))
        async with serving(events(*sent)) as (client, _):
            watch = BundleWatch(client)
            problems = [watch.problem]
            watch.informer.start()
            await watch.informer.wait_synced(10)
            assert [*problems, watch.problem] == ["the Bundles have not been listed yet", None]
            assert await watch.using("m") == ["deleted since"]

            users, tracker = ConfigMapUsers(), WatchTracker(BUNDLES, reader="Kopf")
            users.event(None, body("n"))
            await watch.hand_over(users, lambda: tracker.status)

            assert watch.informer.status is None
            assert (await watch.using("m"), await watch.using("n")) == ([], ["a"])
            users.event("MODIFIED", body("m"))
            assert await watch.using("m") == ["a"]

    async def test_feed_that_takes_over_before_the_own_list_came_decides_about_readiness(self) -> None:
        async with serving(events()) as (client, _):
            watch = BundleWatch(client)
            watch.informer.start()
            users, tracker = ConfigMapUsers(), WatchTracker(BUNDLES, reader="Kopf")
            await watch.hand_over(users, lambda: tracker.status)
            problems = [watch.problem]
            tracker.refused(refusal(ForbiddenError))
            assert [*problems, watch.problem] == [None, "cannot watch bundles: test: refused"]

    async def test_successor_and_deletion_are_followed(self) -> None:
        sent = (
            ("ADDED", body("m", uid="old")),
            ("ADDED", body("m", name="b", uid="b")),
            ("BOOKMARK", END),
            ("ADDED", body("n", uid="new", version=60)),
            ("DELETED", body("m", name="b", uid="b", version=61)),
            ("ADDED", body("last", name="c", uid="c", version=62)),
        )
        async with serving(events(*sent)) as (client, _):
            watch = BundleWatch(client)
            watch.informer.start()
            await eventually(lambda: watch.using("last"), what="the last event came")
            await watch.informer.stop()
            assert (await watch.using("m"), await watch.using("n")) == ([], ["a"])

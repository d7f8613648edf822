"""The watch of Bundles that every replica has: its subscribers, and what they are told while the kind is not served."""

import orjson

from rukpak_py.controllers.config_map_watches import BundleWatch
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.answers import live_object
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLES
from tests.unit.kube.fake_api import serving
from tests.unit.kube.test_informer_fallback import END, events, refusal
from tests.waiting import until

BUNDLE = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "5"}}
ITEM = {"configMap": {"name": "m"}}
Change = tuple[str, bool, bool]


class Told:
    def __init__(self) -> None:
        self.changes: list[Change] = []

    def __call__(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        self.changes.append((key.name, old is not None, new is not None))


async def test_subscriber_hears_of_bundles_that_are_there_and_of_later_ones() -> None:
    early, late = Told(), Told()
    async with serving(events(("ADDED", BUNDLE), ("BOOKMARK", END))) as (client, _):
        watch = BundleWatch(client)
        watch.subscribe(early)
        watch.informer.start()
        await watch.informer.wait_synced(20)
        watch.subscribe(late)
        await watch.informer.stop()

    assert early.changes == late.changes == [("a", False, True)]


async def test_bundles_of_a_kind_that_is_not_served_any_more_are_not_told_as_deleted() -> None:
    """A server that starts may answer so for a while, and the uploads of a deleted Bundle are deleted."""
    told = Told()
    once = events(("ADDED", BUNDLE), ("BOOKMARK", END), stays_open=False)
    async with serving(once, *(refusal(404, "page not found") for _ in range(9))) as (client, _):
        watch = BundleWatch(client)
        watch.subscribe(told)
        watch.informer.start()
        await until(lambda: not watch.informer.served)
        assert len(watch.informer) == 0
        await watch.informer.stop()

    assert told.changes == [("a", False, True)]


async def test_config_map_is_in_use_by_the_bundles_that_name_it_however_deep_they_nest() -> None:
    told = Told()
    body = orjson.dumps({**BUNDLE, "spec": {"deep": "here", "source": {"configMaps": [ITEM]}}})
    nested = body.replace(b'"here"', b'{"a":' * 5_000 + b"{}" + b"}" * 5_000)

    async with serving() as (client, _):
        watch = BundleWatch(client)
    watch.subscribe(told)
    watch._changed(BUNDLES.key("", "a"), None, live_object(BUNDLES, nested, full=True))

    assert await watch.using("m") == ["a"]
    assert told.changes == [("a", False, True)]

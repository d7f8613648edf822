"""An informer on a healthy server."""

import orjson

from rukpak_py.core.metrics import WATCH_LAST_EVENT, request_counts
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, field_hash
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS
from tests.integration.kube.objects import config_map, define, definition_name, new_kind, thing
from tests.integration.kube.watching import informing
from tests.waiting import until

MINE = {"mine": "yes"}
SELECTED = "mine=yes"


def key(namespace: str, name: str) -> ObjectKey:
    return CONFIG_MAPS.key(namespace, name)


async def test_informer_starts_complete_with_one_request(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        await client.create(CONFIG_MAPS, namespace, config_map(name, labels=MINE))
    await client.create(CONFIG_MAPS, namespace, config_map("not-mine"))
    before = request_counts()

    async with informing(client, CONFIG_MAPS, namespace=namespace, label_selector=SELECTED) as (informer, observed):
        assert {live.key.name for live in informer} == {"a", "b"}
        assert sorted(observed.told) == [("a", "added"), ("b", "added")]
        assert request_counts() - before == {("watch", "", "configmaps", "", "200"): 1}
        assert informer.last_event > 0


async def test_informer_follows_changes_and_deletions(client: Client, namespace: str) -> None:
    async with informing(client, CONFIG_MAPS, namespace=namespace, label_selector=SELECTED) as (informer, observed):
        created = await client.create(CONFIG_MAPS, namespace, config_map("a", labels=MINE))
        await until(lambda: ("a", "added") in observed)
        await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"v":"1"}}')
        await until(lambda: ("a", "changed") in observed)
        live = informer.get(key(namespace, "a"))
        assert live is not None
        assert live.metadata.uid == created.metadata.uid
        await client.delete(CONFIG_MAPS, namespace, "a")
        await until(lambda: ("a", "deleted") in observed)
        assert informer.get(key(namespace, "a")) is None


async def test_an_object_that_leaves_the_selection_is_told_as_deleted(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, namespace, config_map("a", labels=MINE))
    async with informing(client, CONFIG_MAPS, namespace=namespace, label_selector=SELECTED) as (informer, observed):
        await client.patch(CONFIG_MAPS, namespace, "a", b'{"metadata":{"labels":{"mine":null}}}')
        await until(lambda: ("a", "deleted") in observed)
        assert len(informer) == 0


async def test_a_field_selector_narrows_it_to_one_object(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        await client.create(CONFIG_MAPS, namespace, config_map(name))
    async with informing(client, CONFIG_MAPS, namespace=namespace, field_selector="metadata.name=b") as (informer, _):
        assert [live.key.name for live in informer] == ["b"]


async def test_whole_objects_are_kept_where_asked_and_only_there(client: Client, namespace: str) -> None:
    applied = await client.apply(
        CONFIG_MAPS, namespace, "a", config_map("a", labels=MINE, v="1"), field_manager="us", force=False
    )
    async with informing(client, CONFIG_MAPS, namespace=namespace, label_selector=SELECTED, full=True) as (whole, _):
        live = whole.get(key(namespace, "a"))
        assert live is not None
        assert orjson.loads(live.json or b"")["data"] == {"v": "1"}
        assert field_hash(live.metadata, "us") == field_hash(applied.metadata, "us")
    async with informing(client, CONFIG_MAPS, namespace=namespace, label_selector=SELECTED) as (heads, _):
        live = heads.get(key(namespace, "a"))
        assert live is not None
        assert live.json is None
        assert field_hash(live.metadata, "us") == field_hash(applied.metadata, "us")


async def test_objects_that_are_not_kept_are_told_whole(client: Client, namespace: str) -> None:
    told: list[bytes | None] = []
    await client.create(CONFIG_MAPS, namespace, config_map("a", labels=MINE, v="1"))
    informer = Informer(
        client,
        CONFIG_MAPS,
        namespace=namespace,
        label_selector=SELECTED,
        full=True,
        keep=False,
        on_change=lambda _key, _old, new: told.append(new.json if new is not None else None),
    )
    informer.start()
    try:
        await informer.wait_synced(30)
        assert [orjson.loads(json or b"")["data"] for json in told] == [{"v": "1"}]
        assert [(live.key.name, live.json, live.metadata.managed_fields) for live in informer] == [("a", None, [])]
    finally:
        await informer.stop()


async def test_a_reaction_that_fails_does_not_end_the_watch(client: Client, namespace: str) -> None:
    seen: list[str] = []

    def fail(key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        seen.append(key.name)
        raise RuntimeError("a defect of the caller")

    informer = Informer(client, CONFIG_MAPS, namespace=namespace, label_selector=SELECTED, on_change=fail)
    informer.start()
    try:
        await informer.wait_synced(30)
        for name in ("a", "b"):
            await client.create(CONFIG_MAPS, namespace, config_map(name, labels=MINE))
        await until(lambda: seen == ["a", "b"])
        assert len(informer) == 2
    finally:
        await informer.stop()


async def test_the_last_event_is_a_metric_until_it_stops(client: Client) -> None:
    kind = new_kind()  # a metric is per kind, and no other test has this one
    await define(client, kind)
    labels = {"group": kind.gvk.group, "resource": kind.plural, "reader": "informer", "selector": ""}

    def shown() -> bool:
        return any(sample.labels == labels for metric in WATCH_LAST_EVENT.collect() for sample in metric.samples)

    async with informing(client, kind) as (informer, _):
        await until(lambda: informer.served)
        await until(shown)
    assert not shown()
    await client.delete(CRDS, "", definition_name(kind))


async def test_an_edit_of_the_definition_closes_the_watch_and_it_comes_back(client: Client) -> None:
    kind = new_kind()
    await define(client, kind)
    async with informing(client, kind) as (informer, observed):
        await until(lambda: informer.served)
        await client.apply(kind, "", "a", thing(kind, "a"), field_manager="us", force=False)
        await until(lambda: ("a", "added") in observed)
        opened = watches(kind.gvk.group)

        await define(client, kind, shortNames=["th"])
        await until(lambda: watches(kind.gvk.group) > opened)
        await client.apply(kind, "", "b", thing(kind, "b"), field_manager="us", force=False)

        await until(lambda: ("b", "added") in observed)
        assert ("a", "deleted") not in observed
        assert observed.told.count(("a", "added")) == 1
    await client.delete(CRDS, "", definition_name(kind))


async def test_a_kind_that_is_removed_has_no_objects_and_is_found_again(client: Client) -> None:
    kind = new_kind()
    await define(client, kind)
    async with informing(client, kind) as (informer, observed):
        await until(lambda: informer.served)
        await client.apply(kind, "", "a", thing(kind, "a"), field_manager="us", force=False)
        await until(lambda: ("a", "added") in observed)

        await client.delete(CRDS, "", definition_name(kind))
        await until(lambda: not informer.served)
        assert ("a", "deleted") in observed
        assert len(informer) == 0

        await define(client, kind)
        informer.nudge()
        await until(lambda: informer.served)
        await client.apply(kind, "", "b", thing(kind, "b"), field_manager="us", force=False)
        await until(lambda: ("b", "added") in observed)
    await client.delete(CRDS, "", definition_name(kind))


async def test_a_kind_that_was_never_there_is_empty_and_not_served(client: Client) -> None:
    async with informing(client, new_kind()) as (informer, observed):
        assert not informer.served
        assert observed.told == []


def watches(group: str) -> int:
    return sum(n for request, n in request_counts().items() if (request.verb, request.group) == ("watch", group))

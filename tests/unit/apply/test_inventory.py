"""What a deployment owns, however events, echoes and answers interleave."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rukpak_py.api.names import OWNER_UID_ANNOTATION
from rukpak_py.apply import inventory as module
from rukpak_py.apply.health import HealthStatus
from rukpak_py.apply.inventory import Inventory
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.resources import CONFIG_MAPS, PODS, Resource
from tests.unit.apply.lives import OTHER, OUR_LABELS, OWNER, key, live_object, managed, owned

OnChange = Callable[[ObjectKey, LiveObject | None, LiveObject | None], None]
Event = Callable[[], None]
DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)


class FakeInformer:
    """Says what a test tells it to say, and remembers whether it was stopped."""

    def __init__(self, _client: object, resource: Resource, **options: Any) -> None:
        self.resource = resource
        self.full: bool = options["full"]
        self.selector: str = options["label_selector"]
        self.say: OnChange = options["on_change"]
        self.synced = asyncio.Event()
        self.started = False
        self.served = True
        self.before_stop: Event = lambda: None

    def start(self) -> None:
        self.started = True

    async def stop(self) -> None:
        self.before_stop()
        self.started = False


@dataclass
class Room:
    inventory: Inventory
    woken: list[str] = field(default_factory=list)
    gone: list[ObjectKey] = field(default_factory=list)
    known: dict[ObjectKey, LiveObject] = field(default_factory=dict)

    def informer(self, resource: Resource = CONFIG_MAPS) -> FakeInformer:
        found = self.inventory.informers()[resource.group_kind]
        assert isinstance(found, FakeInformer)
        return found

    def shows(self, new: LiveObject, resource: Resource = CONFIG_MAPS) -> None:
        self.informer(resource).say(new.key, self.known.get(new.key), new)
        self.known[new.key] = new

    def deletes(self, name: str = "a") -> None:
        self.informer().say(key(name), self.known.pop(key(name), None), None)

    @property
    def owned(self) -> list[str]:
        return sorted(key.name for key in self.inventory.owned_by(OWNER.uid))


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setattr(module, "Informer", FakeInformer)
    woken: list[str] = []
    gone: list[ObjectKey] = []
    inventory = Inventory(None, on_change=woken.append, on_gone=gone.append)  # type: ignore[arg-type]  # no call is made
    inventory.watch([CONFIG_MAPS])
    return Room(inventory=inventory, woken=woken, gone=gone)


def ours(version: int = 1, uid: str = "u", name: str = "a", **fields: Any) -> LiveObject:
    return live_object(**owned(name, **fields), version=version, uid=uid)


def test_what_the_watch_shows_is_owned(room: Room) -> None:
    room.shows(ours())
    assert room.owned == ["a"]
    assert room.woken == [OWNER.uid]
    assert (live := room.inventory.get(key())) is not None
    assert live.uid == "u"


def test_only_a_real_owner_counts(room: Room) -> None:
    room.shows(live_object("labelled", labels=OUR_LABELS))
    room.shows(ours(by=OTHER, name="others"))
    assert room.owned == []
    assert room.woken == [OTHER.uid]
    assert room.inventory.get(key("labelled")) is not None


def test_our_echo_wakes_nobody(room: Room) -> None:
    room.inventory.observe(CONFIG_MAPS.gvk, ours(2))
    room.shows(ours(2))
    assert room.owned == ["a"]
    assert room.woken == []


def test_fields_that_are_not_ours_wake_nobody(room: Room) -> None:
    room.shows(ours(1))
    room.woken.clear()
    room.shows(
        ours(2, managedFields=[managed(OWNER), {"manager": "x", "operation": "Update", "fieldsV1": {"f:z": {}}}])
    )
    room.shows(ours(3, finalizers=["x"]))
    assert room.woken == []
    assert (live := room.inventory.get(key())) is not None
    assert live.version == 3


@pytest.mark.parametrize(
    "change",
    [
        {"managedFields": [managed(OWNER, {"f:data": {"f:x": {}}})]},
        {"managedFields": []},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"annotations": {"core.rukpak.io/prune": "false"}},
        {"annotations": {"core.rukpak.io/applied": "sha256:x"}},
    ],
    ids=str,
)
def test_what_a_decision_looks_at_wakes_its_owner(room: Room, change: dict[str, Any]) -> None:
    room.shows(ours(1))
    room.woken.clear()
    room.shows(ours(2, **change))
    assert room.woken == [OWNER.uid]


def test_an_older_event_never_overwrites_a_newer_answer(room: Room) -> None:
    room.shows(ours(1))
    room.inventory.observe(CONFIG_MAPS.gvk, ours(5, annotations={"core.rukpak.io/applied": "new"}))
    room.woken.clear()
    room.shows(ours(3))
    assert (live := room.inventory.get(key())) is not None
    assert (live.version, live.applied) == (5, "new")
    assert room.woken == []


def test_an_older_event_of_the_object_before_never_overwrites_the_one_that_we_made(room: Room) -> None:
    room.inventory.observe(CONFIG_MAPS.gvk, ours(5, uid="new"))
    room.shows(ours(3, uid="old"))
    assert (live := room.inventory.get(key())) is not None
    assert live.uid == "new"


def test_the_end_of_the_object_before_does_not_end_the_new_one(room: Room) -> None:
    room.shows(ours(1, uid="old"))
    room.inventory.observe(CONFIG_MAPS.gvk, ours(5, uid="new"))
    room.woken.clear()
    room.deletes()
    assert room.owned == ["a"]
    assert room.woken == []


def test_an_answer_that_comes_late_brings_nothing_back(room: Room) -> None:
    room.shows(ours(1))
    room.deletes()
    answer = room.inventory.observe(CONFIG_MAPS.gvk, ours(2))
    assert answer.version == 2, "who asked is told what the server said"
    assert room.owned == []
    assert room.inventory.get(key()) is None


def test_an_object_whose_label_was_stripped_and_put_back_is_taken_in_again(room: Room) -> None:
    room.shows(ours(1))
    room.deletes()  # it left the selection
    room.shows(ours(3))
    room.inventory.observe(CONFIG_MAPS.gvk, ours(4))
    assert (live := room.inventory.get(key())) is not None
    assert live.version == 4


def test_a_strangers_object_that_bore_our_marks_for_a_moment_is_never_ours(room: Room) -> None:
    """Else the next look would take it by force."""
    room.shows(ours(2))
    room.inventory.disclaim(live_object(version=3))
    assert (room.owned, room.inventory.get(key())) == ([], None)


def test_our_marks_that_the_watch_shows_after_they_were_given_back_do_not_count(room: Room) -> None:
    room.inventory.disclaim(live_object(version=3))
    room.shows(ours(2))
    assert (room.owned, room.woken) == ([], [])
    room.shows(ours(5))
    assert room.owned == ["a"], "it may become ours in earnest"


def test_a_deletion_wakes_its_owner_and_frees_the_name(room: Room) -> None:
    room.shows(ours(1))
    room.woken.clear()
    room.deletes()
    assert (room.owned, room.woken, room.gone) == ([], [OWNER.uid], [key()])


def test_an_object_that_changes_its_owner_wakes_both(room: Room) -> None:
    room.shows(ours(1))
    room.woken.clear()
    room.shows(ours(2, by=OTHER))
    assert sorted(room.woken) == [OTHER.uid, OWNER.uid]
    assert room.owned == []
    assert list(room.inventory.owned_by(OTHER.uid)) == [key()]


def test_an_object_that_outlives_us_is_ours_by_its_annotation(room: Room) -> None:
    room.shows(live_object(labels=OUR_LABELS, annotations={OWNER_UID_ANNOTATION: OWNER.uid}))
    assert room.owned == ["a"]


def test_the_memory_of_deletions_is_bounded(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    for number in range(10):
        room.shows(ours(number + 1, uid=f"u{number}"))
        room.deletes()
    assert len(room.inventory._deleted_uids) == 3


async def test_kinds_that_nobody_uses_are_forgotten(room: Room) -> None:
    room.inventory.watch([DEPLOYMENTS])
    room.shows(ours(1))
    maps = room.informer()
    await room.inventory.retain([DEPLOYMENTS.group_kind])
    assert not maps.started
    assert room.owned == []
    assert room.informer(DEPLOYMENTS).started


async def test_what_comes_in_while_a_watch_is_stopped_is_forgotten_too(room: Room) -> None:
    maps = room.informer()
    maps.before_stop = lambda: maps.say(key(), None, ours(1))
    await room.inventory.retain([])
    assert room.owned == []


async def test_a_kind_that_is_wanted_again_while_its_watch_is_stopped_keeps_its_objects(room: Room) -> None:
    def wanted_again() -> None:
        room.inventory.watch([CONFIG_MAPS])
        room.shows(ours(1))

    room.informer().before_stop = wanted_again
    await room.inventory.retain([])
    assert room.owned == ["a"]
    assert room.informer().started


def test_a_kind_is_watched_once(room: Room) -> None:
    first = room.informer()
    room.inventory.watch([CONFIG_MAPS, CONFIG_MAPS])
    assert room.informer() is first
    assert first.selector == "core.rukpak.io/owner-kind=BundleDeployment"


def test_only_kinds_with_health_are_watched_whole(room: Room) -> None:
    room.inventory.watch([DEPLOYMENTS, PODS])
    assert not room.informer().full
    assert room.informer(DEPLOYMENTS).full


def test_health_comes_with_the_whole_object(room: Room) -> None:
    room.inventory.watch([DEPLOYMENTS])
    place = ObjectKey("apps", "Deployment", "ns", "a")
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**owned(), "namespace": "ns", "uid": "u"}}
    answer = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": "1", "generation": 1}}  # type: ignore[dict-item]
    only_metadata = LiveObject(key=place, metadata=decode_metadata(canonical_json(answer)))
    assert room.inventory.observe(DEPLOYMENTS.gvk, only_metadata).health is None
    seen = {**answer, "metadata": {**answer["metadata"], "resourceVersion": "2"}, "spec": {"replicas": 1}}  # type: ignore[dict-item]
    body = canonical_json(seen)
    room.shows(LiveObject(key=place, metadata=decode_metadata(body), json=body), DEPLOYMENTS)
    assert (live := room.inventory.get(place)) is not None
    assert live.health is not None
    assert live.health.status is HealthStatus.IN_PROGRESS


async def test_waiting_for_kinds_that_are_not_watched_ends_at_once(room: Room) -> None:
    assert await room.inventory.wait_synced([GroupKind("x", "Unwatched")], 0.0)


async def test_waiting_ends_when_all_kinds_were_listed_or_time_is_up(room: Room) -> None:
    assert not await room.inventory.wait_synced([CONFIG_MAPS.group_kind], 0.0)
    room.informer().synced.set()
    assert await room.inventory.wait_synced([CONFIG_MAPS.group_kind, CONFIG_MAPS.group_kind], 5.0)


async def test_a_version_that_is_no_longer_served_gives_way_to_another_one(room: Room) -> None:
    old = room.informer()
    newer = replace(CONFIG_MAPS, gvk=CONFIG_MAPS.gvk._replace(version="v2"))
    room.inventory.watch([newer])
    assert room.informer() is old, "a version that works is kept"
    old.served = False
    room.inventory.watch([newer])
    assert room.informer() is not old
    await room.inventory.close()
    assert not old.started

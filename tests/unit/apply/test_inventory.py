"""The objects that a deployment owns, however events, echoes and answers interleave."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from rukpak_py.api.names import APPLIED_ANNOTATION, OWNER_UID_ANNOTATION
from rukpak_py.apply import inventory as module
from rukpak_py.apply.health import HealthStatus
from rukpak_py.apply.inventory import Watched
from rukpak_py.core.objects import GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, Resource
from tests.unit.apply.lives import OTHER, OUR_LABELS, OWNER, key, live_object, managed, owned
from tests.unit.apply.watches import Watches, ours, watches_of
from tests.waiting import until

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)


@pytest.fixture
async def watches(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watches]:
    found = watches_of(monkeypatch, CONFIG_MAPS)
    yield found
    await found.inventory.close()


async def test_object_that_the_watch_shows_is_owned(watches: Watches) -> None:
    watches.shows(ours())
    assert watches.owned == ["a"]
    assert watches.woken == [OWNER.uid]
    assert (live := watches.inventory.get(key())) is not None
    assert live.uid == "u"


async def test_only_a_real_owner_counts(watches: Watches) -> None:
    watches.shows(live_object("labelled", labels=OUR_LABELS))
    watches.shows(ours(by=OTHER, name="others"))
    assert watches.owned == []
    assert watches.woken == [OTHER.uid]
    assert watches.inventory.get(key("labelled")) is not None


async def test_our_echo_wakes_no_deployment(watches: Watches) -> None:
    watches.inventory.observe(CONFIG_MAPS.gvk, ours(2))
    watches.shows(ours(2))
    assert watches.owned == ["a"]
    assert watches.woken == []


async def test_fields_that_are_not_ours_wake_no_deployment(watches: Watches) -> None:
    watches.shows(ours(1))
    watches.woken.clear()
    watches.shows(
        ours(2, managedFields=[managed(OWNER), {"manager": "x", "operation": "Update", "fieldsV1": {"f:z": {}}}])
    )
    watches.shows(ours(3, finalizers=["x"]))
    assert watches.woken == []
    assert (live := watches.inventory.get(key())) is not None
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
async def test_change_that_decisions_look_at_wakes_the_owner(watches: Watches, change: dict[str, Any]) -> None:
    watches.shows(ours(1))
    watches.woken.clear()
    watches.shows(ours(2, **change))
    assert watches.woken == [OWNER.uid]


async def test_an_older_event_never_overwrites_a_newer_answer(watches: Watches) -> None:
    watches.shows(ours(1))
    watches.inventory.observe(CONFIG_MAPS.gvk, ours(5, annotations={"core.rukpak.io/applied": "new"}))
    watches.woken.clear()
    watches.shows(ours(3))
    assert (live := watches.inventory.get(key())) is not None
    assert (live.version, live.applied) == (5, "new")
    assert watches.woken == []


async def test_an_older_event_of_the_object_before_never_overwrites_the_one_that_we_made(watches: Watches) -> None:
    watches.inventory.observe(CONFIG_MAPS.gvk, ours(5, uid="new"))
    watches.shows(ours(3, uid="old"))
    assert (live := watches.inventory.get(key())) is not None
    assert live.uid == "new"


async def test_the_end_of_the_object_before_does_not_end_the_new_one(watches: Watches) -> None:
    watches.shows(ours(1, uid="old"))
    watches.inventory.observe(CONFIG_MAPS.gvk, ours(5, uid="new"))
    watches.woken.clear()
    watches.deletes()
    assert watches.owned == ["a"]
    assert watches.woken == []


async def test_an_answer_that_comes_late_brings_nothing_back(watches: Watches) -> None:
    watches.shows(ours(1))
    watches.deletes()
    answer = watches.inventory.observe(CONFIG_MAPS.gvk, ours(2))
    assert answer.version == 2, "who asked is told what the server said"
    assert watches.owned == []
    assert watches.inventory.get(key()) is None


async def test_an_object_whose_label_was_stripped_and_put_back_is_taken_in_again(watches: Watches) -> None:
    watches.shows(ours(1))
    watches.deletes()  # it left the selection
    watches.shows(ours(3))
    watches.inventory.observe(CONFIG_MAPS.gvk, ours(4))
    assert (live := watches.inventory.get(key())) is not None
    assert live.version == 4


async def test_a_strangers_object_that_bore_our_marks_for_a_moment_is_never_ours(watches: Watches) -> None:
    """Else the next look would take it by force."""
    watches.shows(ours(2))
    watches.inventory.disclaim(live_object(version=3))
    assert (watches.owned, watches.inventory.get(key())) == ([], None)


async def test_our_marks_that_the_watch_shows_after_they_were_given_back_do_not_count(watches: Watches) -> None:
    watches.inventory.disclaim(live_object(version=3))
    watches.shows(ours(2))
    assert (watches.owned, watches.woken) == ([], [])
    watches.shows(ours(5))
    assert watches.owned == ["a"], "it may become ours in earnest"


async def test_a_deletion_wakes_its_owner_and_frees_the_name(watches: Watches) -> None:
    watches.shows(ours(1))
    watches.woken.clear()
    watches.deletes()
    assert (watches.owned, watches.woken, watches.gone) == ([], [OWNER.uid], [key()])


async def test_an_object_that_changes_its_owner_wakes_both(watches: Watches) -> None:
    watches.shows(ours(1))
    watches.woken.clear()
    watches.shows(ours(2, by=OTHER))
    assert sorted(watches.woken) == [OTHER.uid, OWNER.uid]
    assert watches.owned == []
    assert list(watches.inventory.owned_by(OTHER.uid)) == [key()]


async def test_an_object_that_outlives_us_is_ours_by_its_annotation(watches: Watches) -> None:
    watches.shows(live_object(labels=OUR_LABELS, annotations={OWNER_UID_ANNOTATION: OWNER.uid}))
    assert watches.owned == ["a"]


async def test_the_memory_of_deletions_is_bounded(watches: Watches, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    for number in range(10):
        watches.shows(ours(number + 1, uid=f"u{number}"))
        watches.deletes()
    assert len(watches.inventory._deleted_uids) == 3


async def test_unused_kinds_are_forgotten(watches: Watches) -> None:
    watches.inventory.watch([DEPLOYMENTS])
    watches.shows(ours(1))
    maps = watches.informer()
    await watches.inventory.retain([Watched(DEPLOYMENTS.group_kind)])
    assert not maps.started
    assert watches.owned == []
    assert watches.informer(DEPLOYMENTS).started


async def test_object_that_comes_while_its_watch_is_stopped_is_forgotten_too(watches: Watches) -> None:
    maps = watches.informer()
    maps.before_stop = lambda: maps.say(key(), None, ours(1))
    await watches.inventory.retain([])
    assert watches.owned == []


async def test_a_kind_that_is_wanted_again_while_its_watch_is_stopped_keeps_its_objects(watches: Watches) -> None:
    def wanted_again() -> None:
        watches.inventory.watch([CONFIG_MAPS])
        watches.shows(ours(1))

    watches.informer().before_stop = wanted_again
    await watches.inventory.retain([])
    assert watches.owned == ["a"]
    assert watches.informer().started


async def test_a_kind_is_watched_once(watches: Watches) -> None:
    first = watches.informer()
    watches.inventory.watch([CONFIG_MAPS, CONFIG_MAPS])
    assert watches.informer() is first
    assert first.selector == "core.rukpak.io/owner-kind=BundleDeployment"


async def test_only_kinds_with_health_are_watched_whole(watches: Watches) -> None:
    watches.inventory.watch([DEPLOYMENTS, PODS])
    assert not watches.informer().full
    assert watches.informer(DEPLOYMENTS).full


async def test_health_comes_with_the_whole_object(watches: Watches) -> None:
    watches.inventory.watch([DEPLOYMENTS])
    place = ObjectKey("apps", "Deployment", "ns", "a")
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**owned(), "namespace": "ns", "uid": "u"}}
    answer = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": "1", "generation": 1}}  # type: ignore[dict-item]
    only_metadata = LiveObject(key=place, metadata=decode_metadata(canonical_json(answer)))
    assert watches.inventory.observe(DEPLOYMENTS.gvk, only_metadata).health is None
    seen = {**answer, "metadata": {**answer["metadata"], "resourceVersion": "2"}, "spec": {"replicas": 1}}  # type: ignore[dict-item]
    body = canonical_json(seen)
    watches.shows(LiveObject(key=place, metadata=decode_metadata(body), json=body), resource=DEPLOYMENTS)
    assert (live := watches.inventory.get(place)) is not None
    assert live.health is not None
    assert live.health.status is HealthStatus.IN_PROGRESS


async def test_a_version_that_is_no_longer_served_gives_way_to_another_one(watches: Watches) -> None:
    old = watches.informer()
    newer = replace(CONFIG_MAPS, gvk=CONFIG_MAPS.gvk._replace(version="v2"))
    watches.inventory.watch([newer])
    assert watches.informer() is old, "a version that works is kept"
    old.served = False
    watches.inventory.watch([newer])
    assert watches.informer() is not old
    await watches.inventory.close()
    assert not old.started


async def test_a_watch_that_goes_back_shows_the_truth_after_a_restore_of_etcd(watches: Watches) -> None:
    watches.shows(ours(version=500))
    watches.woken.clear()
    old = ours(version=300, annotations={APPLIED_ANNOTATION: "sha256:what-the-backup-has"})
    watches.shows(old)
    live = watches.inventory.get(old.key)
    assert live is not None
    assert (live.version, live.applied) == (300, "sha256:what-the-backup-has")
    assert watches.woken


async def test_a_watch_that_lags_behind_our_own_answer_shows_nothing_new(watches: Watches) -> None:
    watches.shows(ours(version=100))
    watches.inventory.observe(CONFIG_MAPS.gvk, ours(version=500))
    watches.shows(ours(version=300))
    live = watches.inventory.get(ours().key)
    assert live is not None
    assert live.version == 500


async def test_the_first_list_of_a_kind_is_told_once(watches: Watches) -> None:
    watches.inventory.watch([DEPLOYMENTS])
    assert watches.inventory.unsynced(map(Watched, (CONFIG_MAPS.group_kind, PODS.group_kind))) == {
        Watched(CONFIG_MAPS.group_kind)
    }
    watches.listed(CONFIG_MAPS)
    await until(lambda: watches.told)
    assert watches.told == [{CONFIG_MAPS.group_kind}]
    assert watches.inventory.unsynced(map(Watched, (CONFIG_MAPS.group_kind, DEPLOYMENTS.group_kind))) == {
        Watched(DEPLOYMENTS.group_kind)
    }


async def test_only_a_watch_that_waits_for_its_kind_is_nudged(watches: Watches) -> None:
    kind = CONFIG_MAPS.group_kind
    watches.inventory.nudge([kind, PODS.group_kind])
    assert watches.informer().nudges == 1, "it was not listed yet"
    watches.listed()
    watches.inventory.nudge([kind])
    assert watches.informer().nudges == 1, "it works"
    watches.informer().served = False
    watches.inventory.nudge([kind])
    assert watches.informer().nudges == 2


async def test_a_watch_that_ends_before_its_first_list_leaves_no_task(watches: Watches) -> None:
    watches.inventory.watch([DEPLOYMENTS])
    await watches.inventory.retain([])
    await until(lambda: not watches.inventory._background)
    assert watches.told == []


# One namespace


async def test_kind_watched_in_one_namespace_is_listed_there_only(watches: Watches) -> None:
    watches.inventory.watch([DEPLOYMENTS], "ns")
    watched = watches.informer(DEPLOYMENTS, "ns")
    assert watched.namespace == "ns"
    watched.synced.set()
    kind = DEPLOYMENTS.group_kind
    assert watches.inventory.is_listed(kind, "ns")
    assert not watches.inventory.is_listed(kind, "other")
    assert not watches.inventory.is_listed(kind), "all namespaces are more than one"


async def test_namespaces_of_one_kind_are_watched_apart(watches: Watches) -> None:
    watches.inventory.watch([DEPLOYMENTS], "ns")
    watches.inventory.watch([DEPLOYMENTS], "other")
    assert watches.inventory.unsynced([Watched(DEPLOYMENTS.group_kind, "other")]) == {
        Watched(DEPLOYMENTS.group_kind, "other")
    }
    watches.informer(DEPLOYMENTS, "ns").synced.set()
    watches.inventory.nudge([DEPLOYMENTS.group_kind])
    assert [watches.informer(DEPLOYMENTS, one).nudges for one in ("ns", "other")] == [0, 1]


async def test_kind_watched_in_all_namespaces_is_not_watched_in_one(watches: Watches) -> None:
    watches.inventory.watch([CONFIG_MAPS], "ns")
    assert set(watches.inventory.informers()) == {Watched(CONFIG_MAPS.group_kind)}
    watches.listed()
    assert watches.inventory.is_listed(CONFIG_MAPS.group_kind, "ns")


async def test_kind_without_namespaces_is_watched_as_a_whole(watches: Watches) -> None:
    watches.inventory.watch([NAMESPACES], "ns")
    assert watches.informer(NAMESPACES).namespace == ""


async def test_objects_of_a_namespace_are_forgotten_with_its_watch(watches: Watches) -> None:
    places = [ObjectKey("apps", "Deployment", namespace, "a") for namespace in ("ns", "other")]
    for place in places:
        watches.inventory.watch([DEPLOYMENTS], place.namespace)
        metadata = ours(uid=place.namespace).metadata
        watches.informer(DEPLOYMENTS, place.namespace).say(place, None, LiveObject(key=place, metadata=metadata))
    await watches.inventory.retain([Watched(DEPLOYMENTS.group_kind, "other")])
    assert list(watches.inventory.owned_by(OWNER.uid)) == places[1:]

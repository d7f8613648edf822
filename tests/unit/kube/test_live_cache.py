"""The informer's memory: newer wins, deletions are found, and nothing is remembered without a reader."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.answers import live_object
from rukpak_py.kube.live_cache import LiveCache
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import CONFIG_MAPS

NAMES = "abc"


def live(name: str, version: int, *, json: bytes | None = None) -> LiveObject:
    metadata = Metadata(name=name, uid=f"u-{name}", resource_version=str(version))
    return LiveObject(key=ObjectKey("", "ConfigMap", "", name), metadata=metadata, json=json)


class Told:
    def __init__(self) -> None:
        self.told: list[tuple[str, int, int]] = []  # name, old version, new version; 0: none

    def __call__(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        self.told.append((key.name, old.metadata.version if old else 0, new.metadata.version if new else 0))


def started(*objects: LiveObject, position: int) -> tuple[LiveCache, Told]:
    told = Told()
    cache = LiveCache(on_change=told)
    cache.begin(consistent=True)
    for each in objects:
        cache.observe(each)
    cache.finish(position)
    told.told.clear()
    return cache, told


def versions(cache: LiveCache) -> dict[str, int]:
    return {each.key.name: each.metadata.version for each in cache}


def test_a_fresh_start_reveals_deletions_and_tells_only_changes() -> None:
    cache, told = started(live("a", 1), live("b", 2), live("c", 3), position=3)

    cache.begin(consistent=True)
    cache.observe(live("a", 1))
    cache.observe(live("b", 7))
    assert cache.finish(9) == 1

    assert told.told == [("b", 2, 7), ("c", 3, 0)]
    assert versions(cache) == {"a": 1, "b": 7}


def test_a_deletion_during_the_initial_events_counts() -> None:
    cache, told = started(live("a", 1), position=1)

    cache.begin(consistent=True)
    cache.observe(live("a", 1))
    cache.forget(live("a", 4))
    cache.finish(5)

    assert told.told == [("a", 1, 0)]


def test_a_start_that_breaks_off_removes_nothing() -> None:
    cache, _ = started(live("a", 1), live("b", 2), position=2)

    cache.begin(consistent=True)
    cache.observe(live("a", 1))
    cache.begin(consistent=True)
    cache.observe(live("a", 1))
    cache.observe(live("b", 2))
    cache.finish(3)

    assert versions(cache) == {"a": 1, "b": 2}


def test_an_old_list_from_the_servers_cache_neither_overwrites_nor_removes_what_is_newer() -> None:
    cache, told = started(live("a", 5), live("b", 8), position=8)

    cache.begin(consistent=False)
    cache.observe(live("a", 3))
    cache.finish(4)

    assert told.told == []
    assert versions(cache) == {"a": 5, "b": 8}


def test_a_consistent_start_is_the_truth_even_when_versions_went_back() -> None:
    """The server was restored from a backup."""
    cache, told = started(live("a", 500), live("b", 600), position=600)

    cache.begin(consistent=True)
    cache.observe(live("a", 40))
    cache.finish(50)

    assert told.told == [("a", 500, 40), ("b", 600, 0)]
    cache.observe(live("a", 51))
    assert versions(cache) == {"a": 51}


def test_an_older_version_that_arrives_late_is_no_change() -> None:
    cache, told = started(live("a", 9), position=1)
    cache.observe(live("a", 5))
    cache.observe(live("a", 9))
    cache.forget(live("a", 8))

    assert told.told == []
    assert versions(cache) == {"a": 9}


def test_object_that_is_not_kept_is_passed_on_whole_and_known_by_its_identity() -> None:
    seen: list[tuple[LiveObject | None, LiveObject | None]] = []
    cache = LiveCache(keep=False, on_change=lambda _, old, new: seen.append((old, new)))
    first, second = (live("a", version, json=b"{}") for version in (1, 2))

    for each in (first, first, second):
        cache.observe(each)
    cache.forget(second)

    assert seen == [(None, first), (live("a", 1), second), (live("a", 2), None)]


def test_an_identity_keeps_nothing_of_the_object_alive() -> None:
    fields = {"managedFields": [{"manager": "m", "fieldsV1": {"f:data": {}}}], "annotations": {"big": "x"}}
    json = orjson.dumps({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", **fields}})
    whole = live_object(CONFIG_MAPS, json, full=True)

    assert whole.identity() == LiveObject(
        key=whole.key, metadata=Metadata(name="a", namespace="n", uid="u", resource_version="7")
    )


def test_a_kind_that_goes_takes_its_objects_along() -> None:
    cache, told = started(live("a", 1), live("b", 2), position=2)

    assert cache.clear() == 2
    assert told.told == [("a", 1, 0), ("b", 2, 0)]


def test_a_reaction_that_raises_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a defect")

    cache = LiveCache(on_change=fail)
    cache.observe(live("a", 1))

    assert versions(cache) == {"a": 1}
    assert "ConfigMap a" in caplog.text


steps = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(["write", "delete", "deliver", "restart"])),
    max_size=40,
)


@given(steps)
def test_once_everything_was_delivered_the_cache_is_the_server(script: list[tuple[str, str]]) -> None:
    """Any order of writes, deletions, deliveries and fresh starts."""
    cache, _ = started(position=0)
    server: dict[str, int] = {}
    stream: list[tuple[str, int, bool]] = []  # not yet delivered: name, version, is deletion
    version = 0
    for name, what in script:
        match what:
            case "write":
                version += 1
                server[name] = version
                stream.append((name, version, False))
            case "delete" if name in server:
                version += 1
                del server[name]
                stream.append((name, version, True))
            case "deliver" if stream:
                _deliver(cache, *stream.pop(0))
            case "restart":  # the watch broke: what it held is never delivered
                stream.clear()
                cache.begin(consistent=True)
                for each, at in server.items():
                    cache.observe(live(each, at))
                cache.finish(version)
            case _:
                pass
    for event in stream:
        _deliver(cache, *event)
    assert versions(cache) == server


def _deliver(cache: LiveCache, name: str, version: int, is_deletion: bool) -> None:  # noqa: FBT001 - a tuple's member
    if is_deletion:
        cache.forget(live(name, version))
    else:
        cache.observe(live(name, version))

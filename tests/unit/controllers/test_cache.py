"""The newest version of every object of a kind, however events and answers are mixed."""

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.bundle import Bundle
from rukpak_py.controllers import cache as module
from rukpak_py.controllers.cache import Cache
from tests.unit.controllers.fakes import Clock
from tests.unit.controllers.values import bundle, deployment, owner_of

OWNER = owner_of(deployment())


def version(number: int, *, uid: str = "u", name: str = "b") -> Bundle:
    return bundle(name, uid=uid, resource_version=str(number), owner_references=(OWNER,))


def cached() -> Cache[Bundle]:
    return Cache(clock=Clock())


def test_a_newer_version_is_news_and_an_older_or_equal_one_is_not() -> None:
    cache = cached()
    assert cache.put(version(2))
    assert not cache.put(version(2))
    assert not cache.put(version(1))
    assert cache.put(version(3))
    assert cache.get("b") == version(3)
    assert (len(cache), list(cache), "b" in cache) == (1, [version(3)], True)


def test_versions_are_numbers() -> None:
    cache = cached()
    cache.put(version(9))
    assert cache.put(version(10))


def test_another_object_of_the_name_takes_its_place() -> None:
    cache = cached()
    cache.put(version(1, uid="old"))
    assert cache.put(version(2, uid="new"))
    assert cache.name_of("old") is None
    assert cache.name_of("new") == "b"
    assert cache.controlled_by(OWNER.uid) == [version(2, uid="new")]


def test_a_late_event_of_the_object_before_changes_nothing() -> None:
    cache = cached()
    cache.put(version(5, uid="new"))
    assert not cache.put(version(3, uid="old"))
    assert cache.drop("b", "old") is None
    assert cache.get("b") == version(5, uid="new")
    assert cache.name_of("new") == "b"


def test_the_predecessor_of_an_object_had_its_name_before() -> None:
    cache = cached()
    assert cache.predecessor_of(version(1)) is None
    cache.put(version(5, uid="new"))
    assert cache.predecessor_of(version(6, uid="new")) is None
    assert cache.predecessor_of(version(3, uid="old")) is None, "a late event of an earlier object"
    assert cache.predecessor_of(version(7, uid="newer")) == version(5, uid="new")


def test_an_object_that_was_seen_going_never_comes_back() -> None:
    cache = cached()
    cache.put(version(1))
    assert cache.drop("b", "u") == version(1)
    assert not cache.put(version(9))
    assert cache.get("b") is None
    assert cache.put(version(10, uid="another"))


def test_an_object_that_went_before_it_was_seen_never_comes() -> None:
    cache = cached()
    assert cache.drop("b", "u") is None
    assert not cache.put(version(1))


def test_the_memory_of_deletions_is_bounded() -> None:
    cache = cached()
    for number in range(module.REMEMBERED_DELETIONS + 10):
        cache.drop("b", f"u{number}")
    assert len(cache._deleted_uids) == module.REMEMBERED_DELETIONS


def test_children_are_found_by_the_uid_of_their_controller_oldest_first() -> None:
    cache = cached()
    young = bundle("a", creation_timestamp="2026-01-02T00:00:00Z", owner_references=(OWNER,))
    old = bundle("z", creation_timestamp="2026-01-01T00:00:00Z", owner_references=(OWNER,))
    for one in (young, old, bundle("nobodys")):
        cache.put(one)
    assert cache.controlled_by(OWNER.uid) == [old, young]
    cache.drop("z", old.metadata.uid)
    assert cache.controlled_by(OWNER.uid) == [young]


def test_a_child_that_lost_its_controller_is_no_child() -> None:
    cache = cached()
    cache.put(version(1))
    cache.put(bundle(uid="u", resource_version="2"))
    assert cache.controlled_by(OWNER.uid) == []


def test_when_the_server_last_spoke_of_an_object() -> None:
    clock = Clock()
    cache: Cache[Bundle] = Cache(clock=clock)
    assert cache.seen_at("b") == float("-inf")
    cache.put(version(1))
    clock.now += 5
    cache.put(version(1))  # no news, but the server spoke
    assert cache.seen_at("b") == clock.now
    clock.now += 5
    cache.confirm("b")
    cache.confirm("unknown")
    assert cache.seen_at("b") == clock.now
    assert cache.seen_at("unknown") == float("-inf")
    cache.drop("b", "u")
    assert cache.seen_at("b") == float("-inf")


STEPS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("uvw"), st.integers(0, 6), st.booleans()), max_size=30
)


@given(STEPS)
def test_no_order_of_events_brings_back_what_is_gone_or_old(steps: list[tuple[str, str, int, bool]]) -> None:
    cache, gone, newest = cached(), set(), dict[str, int]()
    for name, uid, number, deletes in steps:
        unique = f"{name}-{uid}"
        if deletes:
            gone.add(unique)
            if cache.drop(name, unique) is not None:
                newest.pop(name, None)
        elif cache.put(version(number, uid=unique, name=name)):
            assert number > newest.get(name, -1)
            newest[name] = number
        for one in cache:
            assert one.metadata.uid not in gone
            assert int(one.metadata.resource_version) == newest[one.metadata.name]
            assert cache.name_of(one.metadata.uid) == one.metadata.name
        assert {one.metadata.name for one in cache.controlled_by(OWNER.uid)} == {one.metadata.name for one in cache}

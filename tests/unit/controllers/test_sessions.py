"""What is known between two looks: whether all is as applied, how long something was waited for, who fights."""

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply.live import Live
from rukpak_py.controllers.session import CORRECTIONS, FIGHT, Session, applied_digest
from rukpak_py.core.objects import ObjectKey
from tests.unit.apply.lives import OWNER, key, live, managed, owned

KEY = ("uid", "digest", "ns")


def lives(*names: str) -> dict[ObjectKey, Live]:
    found = [live(**owned(name)) for name in names]
    return {one.key: one for one in found}


def after_applying(*names: str) -> Session:
    session = Session()
    session.memory.trust(lives(*names).values())
    return session


def test_what_the_watch_shows_is_what_was_applied() -> None:
    assert after_applying("a", "b").is_as_applied(lives("a", "b"))
    assert Session().is_as_applied({})


def test_a_missing_or_an_extra_object_is_not_as_applied() -> None:
    assert not after_applying("a", "b").is_as_applied(lives("a"))
    assert not after_applying("a").is_as_applied(lives("a", "b"))
    assert not after_applying("a").is_as_applied(lives("b"))


def test_an_object_that_somebody_changed_or_deletes_is_not_as_applied() -> None:
    changed = {key("a"): live(**owned("a", managedFields=[managed(OWNER, {"f:other": {}})]))}
    going = {key("a"): live(**owned("a", deletionTimestamp="2026-01-01T00:00:00Z"))}
    assert not after_applying("a").is_as_applied(changed)
    assert not after_applying("a").is_as_applied(going)


def test_the_digest_is_of_what_was_applied_and_what_became_of_it() -> None:
    here = [*lives("a", "b").values()]
    digest = applied_digest(here, KEY)
    assert applied_digest(reversed(here), KEY) == digest, "the order of the watch does not matter"
    assert applied_digest([live(**owned(one.key.name, resourceVersion="99", uid="new")) for one in here], KEY) == digest
    for other in (
        applied_digest(here[:1], KEY),
        applied_digest(here, (*KEY, "x")),
        applied_digest([here[0], live(**owned("b", annotations={"core.rukpak.io/applied": "x"}))], KEY),
        applied_digest([here[0], live(**owned("b", managedFields=[]))], KEY),
        applied_digest([here[0], live(**owned("c"))], KEY),
    ):
        assert other != digest


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.lists(st.sampled_from("abc"), max_size=3))
def test_no_two_states_share_a_digest(one: list[str], other: list[str]) -> None:
    same = applied_digest(lives(*one).values(), KEY) == applied_digest(lives(*other).values(), KEY)
    assert same is (set(one) == set(other))


def test_waiting_is_counted_from_its_first_moment() -> None:
    session = Session()
    assert session.waited("x", 10.0) == 0.0
    assert session.waited("x", 12.5) == 2.5
    assert session.waited("y", 12.5) == 0.0
    session.no_longer_waits("x", "never")
    assert session.waited("x", 20.0) == 0.0
    assert session.waited("y", 20.0) == 7.5


def test_what_goes_again_soon_after_it_was_put_back_went_again() -> None:
    session = Session()
    assert not session.went_again([key("a")], 0.0)
    session.created_again([key("a")], 100.0)
    assert session.went_again([key("b"), key("a")], 100.0 + FIGHT / 2)
    assert not session.went_again([key("a")], 100.0 + FIGHT)
    session.created_again([key("b")], 100.0 + 2 * FIGHT)
    assert list(session.created_at) == [key("b")], "what is past is forgotten"


def test_a_fight_is_fought_once_a_minute_until_two_are_quiet() -> None:
    session, a = Session(), key("a")
    now = 0.0
    for _ in range(CORRECTIONS):
        assert not session.fought_over([a], now)
        session.put_back([a], now)
        now += 1
    for _ in range(3):
        assert session.fought_over([a, key("b")], now) == {a}
        now += FIGHT
        assert not session.fought_over([a], now), "one more try"
        session.put_back([a], now)
    now += 2 * FIGHT
    assert not session.fought_over([a], now)
    session.put_back([a], now)
    assert not session.fought_over([a], now + 1), "a clean slate"

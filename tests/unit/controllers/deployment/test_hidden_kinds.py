"""Kinds that can be seen: readiness is a question about a kind, never about the deployment, and nothing waits."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from rukpak_py.apply.inventory import Watched
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.results import kind_wakes
from rukpak_py.controllers.deployment.kinds import HiddenKinds, Kinds, names_of
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.result.cause_table import WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress, Reached
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, Resource
from rukpak_py.kube.watching import WatchTracker
from tests.unit.apply.lives import key
from tests.unit.apply.watches import Watches, watches_of
from tests.unit.controllers.deployment.parts import (
    BASKET,
    BASKETS,
    WIDGET,
    FakeCluster,
    controlled_clock,
    counting_from_now,
    crd_facts,
    recording,
)
from tests.unit.controllers.fakes import Clock

BASKET_KIND, WIDGET_KIND, MAP_KIND, SECRET_KIND = (
    BASKET.group_kind,
    WIDGET.group_kind,
    CONFIG_MAPS.group_kind,
    SECRETS.group_kind,
)
SECRET_WATCH = Watched(SECRET_KIND)


@dataclass
class Bench:
    watches: Watches
    cluster: FakeCluster
    clock: Clock
    kinds: Kinds
    state: DeploymentState


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    watches, cluster = watches_of(monkeypatch), FakeCluster(resources=[CONFIG_MAPS, SECRETS, BASKETS])
    clock = controlled_clock(monkeypatch)
    counting_from_now(monkeypatch)
    kinds = cluster.as_kinds(watches.inventory)
    yield Bench(watches=watches, cluster=cluster, clock=clock, kinds=kinds, state=DeploymentState())
    await watches.inventory.close()


def resolved(*resources: Resource, **states: KindState) -> Resolution:
    """`states` of baskets or widgets."""
    named = {"basket": BASKET, "widget": WIDGET}
    return Resolution(
        states={one.gvk: KindState.SERVED for one in resources}
        | {named[name]: state for name, state in states.items()},
        resources={one.gvk: one for one in resources},
    )


# What is hidden


def test_a_key_is_hidden_by_its_kind() -> None:
    hidden = HiddenKinds(unserved=frozenset({BASKET_KIND}), unlisted=frozenset({SECRET_WATCH}))
    assert key(gvk=BASKET) in hidden
    assert key(gvk=SECRETS.gvk) in hidden
    assert key() not in hidden
    assert key(gvk=BASKET) not in HiddenKinds()
    assert hidden
    assert not HiddenKinds()
    assert hidden.wakes == kind_wakes({BASKET_KIND, SECRET_KIND})


@pytest.mark.parametrize(
    ("hidden", "text"),
    [
        (
            HiddenKinds(unserved=frozenset({BASKET_KIND, WIDGET_KIND})),
            "the API server does not serve Basket.shop.example.org, Widget.shop.example.org at the moment",
        ),
        (HiddenKinds(unlisted=frozenset({SECRET_WATCH})), "the API server cannot list Secret at the moment"),
        (
            HiddenKinds(unserved=frozenset({BASKET_KIND}), unlisted=frozenset({SECRET_WATCH})),
            (
                "the API server does not serve Basket.shop.example.org at the moment and "
                "the API server cannot list Secret at the moment"
            ),
        ),
    ],
)
def test_hidden_objects_are_reported_by_kind(hidden: HiddenKinds, text: str) -> None:
    fact = hidden.fact(Cause.KINDS_HIDDEN)
    assert fact.text == f"{text}: objects of these kinds are left as they are until it does"
    assert (fact.cause, fact.wakes) == (Cause.KINDS_HIDDEN, hidden.wakes)


def test_a_missing_right_has_a_cause_of_its_own() -> None:
    hidden = HiddenKinds(unlisted=frozenset({SECRET_WATCH}), denied={SECRET_WATCH: "no right"})
    facts = hidden.fact(Cause.KINDS_HIDDEN), hidden.fact(Cause.KINDS_HELD_BACK)
    assert [one.cause for one in facts] == [Cause.KINDS_HIDDEN_DENIED, Cause.KINDS_HELD_BACK_DENIED]
    assert all(one.text.startswith("a right is missing: no right; ") for one in facts)
    assert all(one.wakes == kind_wakes({SECRET_KIND}) for one in facts)


async def test_why_a_kind_is_hidden_is_known_of_its_watch_and_of_its_api_service(bench: Bench) -> None:
    bench.cluster.broken[BASKET.group] = "broken"
    of = recording(SECRETS.gvk, BASKET)
    await bench.kinds.hidden_of_owned(of, bench.state)
    tracker = WatchTracker(SECRETS, reader="test")
    tracker.refused(ForbiddenError(ErrorAnswer(subject="watch Secret", status=403, message="cannot watch secrets")))
    bench.watches.informer(SECRETS).status = tracker.status
    bench.clock.now += WAIT_QUIET_SECONDS
    hidden = await bench.kinds.hidden_of_owned(of, bench.state)
    assert isinstance(hidden, HiddenKinds)
    assert (hidden.denied, hidden.broken) == (
        {SECRET_WATCH: "watch Secret: cannot watch secrets"},
        {BASKET_KIND: "broken"},
    )


def test_kinds_are_named_in_order_with_their_groups() -> None:
    assert names_of({SECRET_KIND, BASKET_KIND}) == ("Basket.shop.example.org", "Secret")


# Owned kinds


async def test_kinds_that_were_listed_are_seen_at_once(bench: Bench) -> None:
    assert isinstance(await bench.kinds.hidden_of_owned(recording(CONFIG_MAPS.gvk), bench.state), Progress)
    bench.watches.listed(CONFIG_MAPS)
    assert await bench.kinds.hidden_of_owned(recording(CONFIG_MAPS.gvk), bench.state) == HiddenKinds()


async def test_a_first_list_is_awaited_quietly_for_a_second_and_no_worker_waits(bench: Bench) -> None:
    waits = await bench.kinds.hidden_of_owned(recording(CONFIG_MAPS.gvk, SECRETS.gvk), bench.state)
    assert isinstance(waits, Progress)
    assert waits.reached is Reached.NOTHING
    (look,) = waits.facts
    assert (look.cause, look.at) == (Cause.LOOK_AGAIN, WAIT_QUIET_SECONDS), "and nothing is told"
    assert look.wakes == kind_wakes({MAP_KIND, SECRET_KIND})


async def test_the_look_at_its_end_is_not_put_off_by_looks_between(bench: Bench) -> None:
    of = recording(CONFIG_MAPS.gvk)
    await bench.kinds.hidden_of_owned(of, bench.state)
    bench.clock.now += WAIT_QUIET_SECONDS / 4
    waits = await bench.kinds.hidden_of_owned(of, bench.state)
    assert isinstance(waits, Progress)
    assert [fact.at for fact in waits.facts] == [WAIT_QUIET_SECONDS * 3 / 4]


async def test_a_kind_that_cannot_be_listed_holds_back_itself_only(bench: Bench) -> None:
    of = recording(CONFIG_MAPS.gvk, SECRETS.gvk)
    await bench.kinds.hidden_of_owned(of, bench.state)
    bench.watches.listed(CONFIG_MAPS)
    bench.clock.now += WAIT_QUIET_SECONDS
    assert await bench.kinds.hidden_of_owned(of, bench.state) == HiddenKinds(unlisted=frozenset({SECRET_WATCH}))
    bench.watches.listed(SECRETS)
    assert await bench.kinds.hidden_of_owned(of, bench.state) == HiddenKinds()


async def test_after_a_wait_that_ended_the_next_one_is_quiet_again(bench: Bench) -> None:
    await bench.kinds.hidden_of_owned(recording(CONFIG_MAPS.gvk), bench.state)
    bench.watches.listed(CONFIG_MAPS)
    await bench.kinds.hidden_of_owned(recording(CONFIG_MAPS.gvk), bench.state)
    bench.clock.now += 100 * WAIT_QUIET_SECONDS
    assert isinstance(await bench.kinds.hidden_of_owned(recording(SECRETS.gvk), bench.state), Progress)


async def test_owned_kinds_that_discovery_does_not_show_are_hidden_and_gone_ones_are_not(bench: Bench) -> None:
    bench.cluster.hides(BASKETS)
    bench.cluster.crds = crd_facts(BASKETS)
    hidden = await bench.kinds.hidden_of_owned(recording(BASKET, WIDGET), bench.state)
    assert hidden == HiddenKinds(unserved=frozenset({BASKET_KIND}))


# Kinds of the content


async def test_a_kind_that_the_content_needs_is_watched_and_seen_once_listed(bench: Bench) -> None:
    assert isinstance(bench.kinds.hidden_of_content(bench.state, resolved(SECRETS), (), HiddenKinds()), Progress)
    bench.watches.listed(SECRETS)
    assert bench.kinds.hidden_of_content(bench.state, resolved(SECRETS), (), HiddenKinds()) == HiddenKinds()


async def test_a_new_kind_that_cannot_be_listed_is_given_up_waiting_for_after_a_second(bench: Bench) -> None:
    """Also when everything owned is listed, which is asked for before, each time."""
    of, content = recording(CONFIG_MAPS.gvk), resolved(CONFIG_MAPS, SECRETS)
    bench.watches.inventory.watch([CONFIG_MAPS])
    bench.watches.listed(CONFIG_MAPS)
    for _ in range(2):
        owned = await bench.kinds.hidden_of_owned(of, bench.state)
        assert owned == HiddenKinds()
        assert isinstance(owned, HiddenKinds)
        seen = bench.kinds.hidden_of_content(bench.state, content, (), owned)
        bench.clock.now += WAIT_QUIET_SECONDS
    assert seen == HiddenKinds(unlisted=frozenset({SECRET_WATCH}))


async def test_a_kind_that_was_waited_for_as_owned_is_not_waited_for_again(bench: Bench) -> None:
    owned = HiddenKinds(unlisted=frozenset({SECRET_WATCH}))
    bench.watches.inventory.watch([SECRETS])
    assert bench.kinds.hidden_of_content(bench.state, resolved(SECRETS), (), owned) == owned


async def test_kinds_of_the_content_and_of_the_status_are_hidden_together(bench: Bench) -> None:
    owned = HiddenKinds(unserved=frozenset({WIDGET_KIND}), unlisted=frozenset({SECRET_WATCH}))
    seen = bench.kinds.hidden_of_content(bench.state, resolved(basket=KindState.UNSERVED), (), owned)
    assert seen == HiddenKinds(unserved=frozenset({WIDGET_KIND, BASKET_KIND}), unlisted=frozenset({SECRET_WATCH}))


@pytest.mark.parametrize(
    ("state", "is_hidden"),
    [
        (KindState.UNSERVED, True),
        (KindState.GONE, True),  # of content that is installed: its objects cannot be put back
        (KindState.MISSING, True),
        (KindState.NEW, False),  # it comes with the content
    ],
)
async def test_a_kind_that_cannot_be_used_is_hidden(bench: Bench, state: KindState, *, is_hidden: bool) -> None:
    seen = bench.kinds.hidden_of_content(bench.state, resolved(basket=state), (), HiddenKinds())
    assert seen == HiddenKinds(unserved=frozenset({BASKET_KIND}) if is_hidden else frozenset())

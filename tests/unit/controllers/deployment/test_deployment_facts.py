"""Facts about failures and refusals: one for each cause, with all its objects, and what ends it sooner."""

import asyncio

import pytest

from rukpak_py.apply.preflight import AnyRefusal, OwnerIsGone, Refusal, RefusedObjects
from rukpak_py.apply.results import (
    NO_WAKES,
    Failure,
    FailureKind,
    Wakes,
    kind_wake,
    kind_wakes,
    namespace_wake,
    quota_wake,
    wakes_of,
)
from rukpak_py.controllers.deployment.facts import (
    GONE,
    error_fact,
    failure_facts,
    in_seconds,
    look_again,
    refusal_facts,
)
from rukpak_py.controllers.result.bundle_details import BundleFails
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import FAILURE_CAUSES, RENDERING_ERRORS
from rukpak_py.controllers.result.progress import Fact, Progress, Reached
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES
from tests.unit.apply.lives import key
from tests.unit.controllers.deployment.parts import (
    BASKET,
    WIDGET,
    attempt,
    concluded,
    counting_from_now,
    with_status,
)
from tests.unit.controllers.values import conditions

MAP_KIND = kind_wake(CONFIG_MAPS.group_kind)
IN_NS, QUOTA = namespace_wake("ns"), quota_wake("ns")


@pytest.fixture(autouse=True)
def now(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "real_time" not in request.fixturenames:
        counting_from_now(monkeypatch)


@pytest.fixture
def real_time() -> None:
    """Keep the clock of the running loop."""


def failure(kind: FailureKind, name: str = "a", retry_after: float = 0.0) -> Failure:
    return Failure(key=key(name), kind=kind, message=f"{name} failed", retry_after=retry_after)


def told(facts: tuple[Fact, ...]) -> list[tuple[Cause, str]]:
    return [(fact.cause, fact.text) for fact in facts]


# Times


@pytest.mark.usefixtures("real_time")
async def test_times_are_those_of_the_running_loop() -> None:
    loop = asyncio.get_running_loop()
    before = loop.time()
    found = [
        in_seconds(60.0),
        look_again(60.0).at,
        error_fact(RENDERING_ERRORS, UnavailableError("", retry_after=60.0)).at,
    ]
    found += [fact.at for fact in failure_facts([failure(FailureKind.ACCESS, retry_after=60.0)])]
    assert all(at is not None and before + 60.0 <= at <= loop.time() + 60.0 for at in found)


def test_a_look_again_is_not_reported() -> None:
    assert look_again(7.0) == Fact(cause=Cause.LOOK_AGAIN, at=7.0)


def test_a_deployment_that_is_gone_is_reported_nowhere() -> None:
    assert Progress(reached=Reached.GONE) == GONE


# Errors


@pytest.mark.parametrize(
    ("error", "fact"),
    [
        (ContentError("wrong"), (Cause.RENDERING_CONTENT, "wrong", None)),
        (UnavailableError("died"), (Cause.RENDERING_UNAVAILABLE, "died", None)),
        (UnavailableError("died", retry_after=7.0), (Cause.RENDERING_UNAVAILABLE, "died", 7.0)),
    ],
)
def test_an_error_is_the_cause_of_its_stage_and_says_when_to_try_again(
    error: ContentError | UnavailableError, fact: tuple[Cause, str, float | None]
) -> None:
    found = error_fact(RENDERING_ERRORS, error)
    assert (found.cause, found.text, found.at) == fact


def test_a_stage_may_say_it_in_its_own_words() -> None:
    detail = BundleFails(bundle="b", why="no")
    assert error_fact(RENDERING_ERRORS, ContentError("wrong"), detail).detail == detail


# Failures of objects


def test_no_failure_makes_no_fact() -> None:
    assert failure_facts([]) == ()


@pytest.mark.parametrize("kind", FailureKind)
def test_a_failure_is_about_its_object(kind: FailureKind) -> None:
    (fact,) = failure_facts([failure(kind)])
    assert (fact.cause, fact.objects, fact.at) == (FAILURE_CAUSES[kind], (key("a"),), None)
    assert fact.wakes == wakes_of(failure(kind))
    assert "a failed" in fact.text


def test_every_failed_object_is_named_beside_others_of_its_cause() -> None:
    facts = failure_facts(
        [failure(FailureKind.CONTENT), failure(FailureKind.ACCESS, "b"), failure(FailureKind.CONTENT, "c")]
    )
    assert told(facts) == [(Cause.NOT_APPLICABLE, "a failed && c failed"), (Cause.ACCESS, "b failed")]
    assert [fact.objects for fact in facts] == [(key("a"), key("c")), (key("b"),)]


def test_missing_resources_are_named_in_the_words_of_upstream() -> None:
    missing = [failure(FailureKind.MISSING), failure(FailureKind.MISSING, "b")]
    assert told(failure_facts(missing)) == [
        (Cause.RESOURCE_MISSING, "required resource not found: a failed && b failed")
    ]


def test_beside_another_failure_what_is_missing_speaks_for_itself() -> None:
    facts = failure_facts([failure(FailureKind.MISSING, "a"), failure(FailureKind.ACCESS, "b")])
    assert [fact.text for fact in facts] == ["a failed", "b failed"]


def test_a_lagging_schema_is_a_wait_in_words_of_its_own() -> None:
    text = "Waiting: the API server does not know the new schema yet: a failed"
    assert told(failure_facts([failure(FailureKind.LAGGING)])) == [(Cause.SCHEMA_LAGS, text)]


def test_object_that_changes_meanwhile_is_a_wait_in_words_of_its_own() -> None:
    text = "Waiting: another client changes what is being applied; trying again: a failed"
    assert told(failure_facts([failure(FailureKind.STALE)])) == [(Cause.OBJECT_CHANGED, text)]


def test_of_one_cause_the_longest_pause_that_the_server_asks_for_counts() -> None:
    failures = [
        failure(FailureKind.REFUSED, "a", 3.0),
        failure(FailureKind.REFUSED, "b"),
        failure(FailureKind.REFUSED, "c", 7.0),
        failure(FailureKind.ACCESS, "d"),
    ]
    assert [fact.at for fact in failure_facts(failures)] == [7.0, None]


def test_an_end_of_any_failure_brings_the_key_back() -> None:
    failures = [
        Failure(key=key("a", namespace="one"), kind=FailureKind.ACCESS, message="m"),
        Failure(key=key("b", namespace="two"), kind=FailureKind.ACCESS, message="m"),
    ]
    (fact,) = failure_facts(failures)
    assert fact.wakes == {quota_wake("one"), quota_wake("two")}


# Refusals of gates


MISSING_KIND = Refusal(
    kind=FailureKind.MISSING,
    message="required resource not found: [a\nb]",
    brief="Basket ns/b: the cluster has no kind Basket",
    wakes=kind_wakes([BASKET.group_kind]),
)
MISSING_NAMESPACE = Refusal(
    kind=FailureKind.MISSING, message="no namespace", wakes=frozenset({namespace_wake("a"), namespace_wake("b")})
)


@pytest.mark.parametrize(
    ("refusal", "cause"),
    [
        (MISSING_KIND, Cause.KIND_MISSING),
        (MISSING_NAMESPACE, Cause.NAMESPACE_MISSING),
        (Refusal(kind=FailureKind.CONTENT, message="m"), Cause.NOT_APPLICABLE),
        (
            Refusal(kind=FailureKind.CONFLICT, message="m", objects=(key("a"),), wakes=frozenset({key("a")})),
            Cause.CONFLICT,
        ),
        (Refusal(kind=FailureKind.REFUSED, message="m"), Cause.REFUSED),
    ],
)
def test_a_refusal_of_the_content_is_one_fact(refusal: Refusal, cause: Cause) -> None:
    (fact,) = refusal_facts([refusal])
    assert (fact.cause, fact.text, fact.wakes) == (cause, refusal.message, refusal.wakes)
    assert fact.objects == refusal.objects


def test_where_one_line_has_room_a_refusal_has_its_own() -> None:
    kind, namespace = refusal_facts([MISSING_KIND, MISSING_NAMESPACE])
    assert (kind.brief, namespace.brief) == ("Basket ns/b: the cluster has no kind Basket", "no namespace")


def test_refusals_of_objects_stand_together_behind_refusals_of_all() -> None:
    refusals: list[AnyRefusal] = [
        RefusedObjects(failures=(failure(FailureKind.CONTENT),)),
        MISSING_KIND,
        RefusedObjects(failures=(failure(FailureKind.CONTENT, "b"), failure(FailureKind.ACCESS, "c"))),
    ]
    assert told(refusal_facts(refusals)) == [
        (Cause.KIND_MISSING, MISSING_KIND.message),
        (Cause.NOT_APPLICABLE, "a failed && b failed"),
        (Cause.ACCESS, "c failed"),
    ]


def test_there_is_nothing_to_be_said_to_an_owner_that_is_gone() -> None:
    assert refusal_facts([OwnerIsGone()]) == ()


def test_a_refusal_whose_full_text_takes_several_lines_is_one_event_in_one_line() -> None:
    one = attempt()
    conclusion = concluded(one, wanted=Progress(facts=refusal_facts([MISSING_KIND])))
    (event,) = conclusion.events
    assert (event.reason, event.message) == ("InstallFailed", MISSING_KIND.brief)
    assert conditions(conclusion.status)["Ready"][2] == MISSING_KIND.brief
    assert conditions(conclusion.status)["Installed"] == ("False", "InstallFailed", MISSING_KIND.message)


FRESH = attempt()
INSTALLED = with_status(attempt(), active_bundle="b")


@pytest.mark.parametrize(
    ("of", "kinds", "is_stalled", "reason"),
    [
        ("fresh", [FailureKind.CONFLICT], False, "Conflict"),
        ("fresh", [FailureKind.MISSING], False, "InstallFailed"),
        ("fresh", [FailureKind.CONTENT], True, "InstallFailed"),
        ("fresh", [FailureKind.CONTENT, FailureKind.MISSING], False, "InstallFailed"),
        ("installed", [FailureKind.REFUSED], False, "UpgradeFailed"),
        ("installed", [FailureKind.CONFLICT], False, "Conflict"),
    ],
)
def test_a_refusal_of_a_gate_becomes_a_condition(
    of: str, kinds: list[FailureKind], reason: str, *, is_stalled: bool
) -> None:
    one = FRESH if of == "fresh" else INSTALLED
    facts = refusal_facts(Refusal(kind=kind, message=f"why {kind}") for kind in kinds)
    conclusion = concluded(one, wanted=Progress(facts=facts))
    said = conditions(conclusion.status)
    assert said["Ready"][:2] == ("False", reason)
    assert ("Stalled" in said) is is_stalled
    assert (conclusion.schedule.attempt_at is None) is is_stalled
    assert said["Installed"][1] == ("InstallFailed" if of == "fresh" else "UpgradeFailed")
    assert all(f"why {kind}" in said["Installed"][2] for kind in kinds)


# What ends a failure


@pytest.mark.parametrize(
    ("kind", "wakes"),
    [
        (FailureKind.CONTENT, NO_WAKES),
        (FailureKind.REFUSED, NO_WAKES),
        (FailureKind.CONFLICT, NO_WAKES),
        (FailureKind.ACCESS, {QUOTA}),
        (FailureKind.UNAVAILABLE, {IN_NS}),
        (FailureKind.MISSING, {IN_NS, MAP_KIND}),
        (FailureKind.LAGGING, {IN_NS, MAP_KIND}),
    ],
)
def test_a_failure_of_a_request_wakes_on_its_possible_ends(kind: FailureKind, wakes: Wakes) -> None:
    assert wakes_of(failure(kind)) == wakes


@pytest.mark.parametrize(
    ("kind", "wakes"),
    [
        (FailureKind.ACCESS, NO_WAKES),
        (FailureKind.UNAVAILABLE, NO_WAKES),
        (FailureKind.MISSING, {kind_wake(CRDS.group_kind)}),
    ],
)
def test_a_cluster_scoped_object_waits_for_no_namespace(kind: FailureKind, wakes: Wakes) -> None:
    assert wakes_of(Failure(key=CRDS.key("", "baskets"), kind=kind, message="m")) == wakes


def test_wakes_for_different_things_differ() -> None:
    """Also where the names are equal: a namespace that is created is no quota that changes there."""
    found = [kind_wake(NAMESPACES.group_kind), namespace_wake("ns"), quota_wake("ns"), NAMESPACES.key("", "other")]
    assert len(set(found)) == len(found)
    assert namespace_wake("ns") == ObjectKey("", "Namespace", "", "ns"), "as its watch names it"


def test_kinds_are_woken_for_one_by_one() -> None:
    kinds = [BASKET.group_kind, WIDGET.group_kind]
    assert kind_wakes(kinds) == {kind_wake(GroupKind(BASKET.group, "Basket")), kind_wake(WIDGET.group_kind)}
    assert kind_wakes([]) == NO_WAKES

"""Times at which pods are asked why their workload is not healthy."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import orjson

from rukpak_py.apply.health import Health, HealthStatus
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.pod_causes import (
    ASK_AGAIN_SECONDS,
    FIRST_SECONDS,
    HOLDS_SECONDS,
    WORKLOADS,
    PodCauses,
    next_look,
)
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.answers import Page
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.metadata import LiveObject, Metadata
from tests.unit.apply.lives import live
from tests.unit.controllers.fakes import refusal

if TYPE_CHECKING:
    from rukpak_py.kube.client import Client

WAITING = {"name": "c", "image": "i", "state": {"waiting": {"reason": "ErrImagePull"}}}
POD = {"metadata": {"namespace": "ns", "name": "p"}, "status": {"containerStatuses": [WAITING]}}
SAID = "container c: ErrImagePull (Pod ns/p, image i)"


@dataclass
class PodLists:
    asked: list[str] = field(default_factory=list)
    error: Exception | None = None

    async def list_page(self, *_: Any, label_selector: str, **__: Any) -> Page:
        self.asked.append(label_selector)
        if self.error is not None:
            raise self.error
        one = LiveObject(key=ObjectKey("", "Pod", "ns", "p"), metadata=Metadata(), json=orjson.dumps(POD))
        return Page(items=[one], resource_version="1", token="", remaining=None)


def unhealthy(name: str = "web", status: HealthStatus = HealthStatus.IN_PROGRESS, **more: Any) -> ObservedObject:
    return replace(live(name), health=Health(status, "Available: 0/1", **{"pods": f"app={name}", **more}))


def ask(causes: PodCauses, lists: PodLists, *lives: ObservedObject, lasted: float = 300.0, now: float = 0.0) -> Any:
    asking = causes.ask(cast("Client", lists), lives, lasted=lasted, first=FIRST_SECONDS, now=now)
    return {key.name: cause for key, cause in asyncio.run(asking).items()}


def test_nothing_is_asked_while_a_roll_out_may_still_go_well() -> None:
    causes, lists = PodCauses(), PodLists()
    assert ask(causes, lists, unhealthy(), lasted=FIRST_SECONDS - 1) == {}
    assert ask(causes, lists, unhealthy(pods="")) == {}
    assert lists.asked == []
    assert ask(causes, lists, unhealthy(status=HealthStatus.FAILED), lasted=FIRST_SECONDS - 1) == {"web": SAID}


def test_roll_out_that_goes_on_is_asked_about_after_twice_as_long() -> None:
    """At most so often, however often something else brings a look, and whatever the counts are by then."""
    causes, lists, asked_at = PodCauses(), PodLists(), []
    for second in range(130):
        counts = replace(unhealthy(), health=Health(HealthStatus.IN_PROGRESS, f"{second}/200", pods="app=web"))
        before = len(lists.asked)
        ask(causes, lists, counts, lasted=float(second), now=float(second))
        asked_at += [second] if len(lists.asked) > before else []
    assert asked_at == [10, 20, 40, 70, 100]
    looks = [0.0]
    while looks[-1] < ASK_AGAIN_SECONDS:
        looks.append(looks[-1] + next_look(looks[-1], FIRST_SECONDS))
    assert looks == [0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0]
    assert next_look(9999.0, FIRST_SECONDS) == ASK_AGAIN_SECONDS


def test_an_answer_holds_while_the_workload_looks_the_same() -> None:
    causes, lists = PodCauses(), PodLists()
    for now in (0.0, HOLDS_SECONDS - 1):
        assert ask(causes, lists, unhealthy(), now=now) == {"web": SAID}
    assert lists.asked == ["app=web"]
    ask(causes, lists, unhealthy(status=HealthStatus.FAILED), now=HOLDS_SECONDS - 1)
    ask(causes, lists, unhealthy(status=HealthStatus.FAILED), now=2 * HOLDS_SECONDS)
    assert lists.asked == ["app=web"] * 3
    assert ask(causes, lists) == {}, "it is healthy again"


def test_an_operator_that_may_not_list_pods_reports_the_symptom() -> None:
    causes, lists = PodCauses(), PodLists(error=refusal(ForbiddenError, "no"))
    assert ask(causes, lists, unhealthy()) == {}
    assert ask(causes, lists, unhealthy()) == {}
    assert len(lists.asked) == 1


def test_few_workloads_are_asked_about_at_a_time_those_that_failed_first() -> None:
    causes, lists = PodCauses(), PodLists()
    many = [unhealthy(f"w{number}") for number in range(WORKLOADS)]
    ask(causes, lists, *many, unhealthy("failed", HealthStatus.FAILED))
    assert len(lists.asked) == WORKLOADS
    assert lists.asked[0] == "app=failed"
    assert len(ask(causes, lists, *many, unhealthy("failed", HealthStatus.FAILED))) == WORKLOADS + 1

"""Times at which pods are asked why their workload is not healthy."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import orjson

from rukpak_py.apply.health import Health, HealthStatus
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.pod_causes import HOLDS_SECONDS, WORKLOADS, PodCauses
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
SAID = 'Pod ns/p: container "c" (image i): ErrImagePull'


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


def ask(causes: PodCauses, lists: PodLists, *lives: ObservedObject, is_lasting: bool = True, now: float = 0.0) -> Any:
    asking = causes.ask(cast("Client", lists), lives, is_lasting=is_lasting, now=now)
    return {key.name: cause for key, cause in asyncio.run(asking).items()}


def test_nothing_is_asked_while_a_roll_out_may_still_go_well() -> None:
    causes, lists = PodCauses(), PodLists()
    assert ask(causes, lists, unhealthy(), is_lasting=False) == {}
    assert ask(causes, lists, unhealthy(pods="")) == {}
    assert lists.asked == []
    assert ask(causes, lists, unhealthy(status=HealthStatus.FAILED), is_lasting=False) == {"web": SAID}


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

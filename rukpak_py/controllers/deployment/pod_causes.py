"""Causes of unhealthy workloads, as their pods say them: a LIST for a workload that has failed, or stays unhealthy.

A roll-out that goes well within seconds costs none. The workload does not change when one of its pods comes to fail for
another reason, so the pods are asked again, each time after twice as long; what was said holds in between, and a while
longer where the workload looks the same. Who may not list pods sees what the workload itself says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from rukpak_py.apply.health import Health, HealthStatus, cause_among
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import PODS

FIRST_SECONDS = 10.0  # of a roll-out, before its pods are asked for the first time
LEAST_SECONDS = 5.0  # that an answer holds
HOLDS_SECONDS = 30.0  # that an answer holds at most, for looks that something else brings
ASK_AGAIN_SECONDS = 300.0  # between two looks that nothing else brings, at most
WORKLOADS = 5  # that are asked about at a time
PODS_EACH = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    health: Health
    at: float
    cause: str


@dataclass(slots=True)
class PodCauses:
    """Causes for the workloads of one deployment."""

    _answers: dict[ObjectKey, _Answer] = field(default_factory=dict)

    def forget(self) -> None:
        self._answers.clear()

    async def ask(
        self, client: Client, unhealthy: Iterable[ObservedObject], *, lasted: float, first: float, now: float
    ) -> Mapping[ObjectKey, str]:
        """Ask, and return the known causes. `lasted`: seconds of being unhealthy, and `first`: before which only failed
        workloads are asked about.
        """
        asked = {live.key: live for live in workloads(unhealthy) if lasted >= first or has_failed(live)}
        self._answers = {key: answer for key, answer in self._answers.items() if key in asked}
        seconds = min(HOLDS_SECONDS, max(LEAST_SECONDS, lasted / 2))
        due = [live for live in asked.values() if not self._holds(live, now, seconds)]
        due.sort(key=lambda live: (not has_failed(live), live.key in self._answers))

        async def ask(live: ObservedObject) -> None:
            cause = await _cause_of(client, live)
            if live.health is not None:
                self._answers[live.key] = _Answer(health=live.health, at=now, cause=cause)

        await run_bounded(ask, due[:WORKLOADS])
        return {key: answer.cause for key, answer in self._answers.items() if answer.cause}

    def _holds(self, live: ObservedObject, now: float, seconds: float) -> bool:
        known = self._answers.get(live.key)
        is_known = known is not None and live.health is not None and known.health.status is live.health.status
        return known is not None and is_known and now - known.at < seconds


def workloads(unhealthy: Iterable[ObservedObject]) -> list[ObservedObject]:
    """Those whose pods may know why."""
    return [live for live in unhealthy if live.health is not None and live.health.pods]


def next_look(lasted: float, first: float) -> float:
    """Seconds until the pods are asked again."""
    return first - lasted if lasted < first else min(ASK_AGAIN_SECONDS, max(first, lasted))


def has_failed(live: ObservedObject) -> bool:
    return live.health is not None and live.health.status is HealthStatus.FAILED


async def _cause_of(client: Client, live: ObservedObject) -> str:
    selector = live.health.pods if live.health is not None else ""
    try:
        page = await client.list_page(PODS, live.key.namespace, limit=PODS_EACH, label_selector=selector, full=True)
    except ApiError:
        return ""
    return cause_among(orjson.loads(one.json) for one in page.items if one.json is not None)

"""Causes of unhealthy workloads, as their pods say them: one LIST for a workload that has failed, or stays unhealthy.

What was said holds while the workload looks the same, and is asked again now and then for as long as it is told: a pod
may come to fail for another reason unseen. Who may not list pods sees what the workload itself says.
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

HOLDS_SECONDS = 30.0  # an answer, for looks that something else brings
ASK_AGAIN_SECONDS = 300.0  # between two looks that nothing else brings
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

    @property
    def were_asked(self) -> bool:
        return bool(self._answers)

    def forget(self) -> None:
        self._answers.clear()

    async def ask(
        self, client: Client, unhealthy: Iterable[ObservedObject], *, is_lasting: bool, now: float
    ) -> Mapping[ObjectKey, str]:
        """Ask, and return the known causes. `is_lasting`: it is time to ask about workloads in progress, too."""
        asked = {
            live.key: live
            for live in unhealthy
            if live.health is not None and live.health.pods and (is_lasting or has_failed(live))
        }
        self._answers = {key: answer for key, answer in self._answers.items() if key in asked}
        due = [live for live in asked.values() if not self._holds(live, now)]
        due.sort(key=lambda live: (not has_failed(live), live.key in self._answers))

        async def ask(live: ObservedObject) -> None:
            cause = await _cause_of(client, live)
            if live.health is not None:
                self._answers[live.key] = _Answer(health=live.health, at=now, cause=cause)

        await run_bounded(ask, due[:WORKLOADS])
        return {key: answer.cause for key, answer in self._answers.items() if answer.cause}

    def _holds(self, live: ObservedObject, now: float) -> bool:
        known = self._answers.get(live.key)
        return known is not None and known.health == live.health and now - known.at < HOLDS_SECONDS


def has_failed(live: ObservedObject) -> bool:
    return live.health is not None and live.health.status is HealthStatus.FAILED


async def _cause_of(client: Client, live: ObservedObject) -> str:
    selector = live.health.pods if live.health is not None else ""
    try:
        page = await client.list_page(PODS, live.key.namespace, limit=PODS_EACH, label_selector=selector, full=True)
    except ApiError:
        return ""
    return cause_among(orjson.loads(one.json) for one in page.items if one.json is not None)

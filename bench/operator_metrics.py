"""The operator's own metrics: its requests by kind and the Events that it did not write."""

import asyncio
import urllib.request
from collections import Counter
from collections.abc import Iterator

from prometheus_client.parser import text_string_to_metric_families

from e2e.local_operator import LocalOperator
from tests.waiting import quiet

Requests = Counter[tuple[str, str]]  # ("apply", "services"), ("patch", "bundles/status")

QUIET_SECONDS = 2.5  # longer than its shortest pauses
PATIENCE_SECONDS = 120.0
INTERVAL_SECONDS = 0.25


async def requests(operator: LocalOperator) -> Requests:
    found: Requests = Counter()
    for name, labels, value in await _samples(operator):
        if name == "rest_client_requests_total":
            what = "/".join(filter(None, (labels["resource"], labels["subresource"])))
            found[labels["verb"], what] += int(value)
    return found


async def requests_once_quiet(operator: LocalOperator) -> Requests:
    """When nothing but the lease was sent for a while."""

    async def others() -> Requests:
        return without_lease(await requests(operator))

    await quiet(others, seconds=QUIET_SECONDS, patience=PATIENCE_SECONDS, interval=INTERVAL_SECONDS)
    return await requests(operator)


def without_lease(counts: Requests) -> Requests:
    return Counter({call: count for call, count in counts.items() if call[1] != "leases"})


async def reconciles(operator: LocalOperator) -> Counter[str]:
    """How often each kind was looked at."""
    found: Counter[str] = Counter()
    for name, labels, value in await _samples(operator):
        if name == "rukpak_reconcile_duration_seconds_count":
            found[labels["kind"]] += int(value)
    return found


async def dropped_events(operator: LocalOperator) -> dict[str, int]:
    return {
        labels["why"]: int(value)
        for name, labels, value in await _samples(operator)
        if name == "rukpak_events_dropped_total" and value
    }


async def loop_lag(operator: LocalOperator) -> str:
    """The smallest bucket that holds 99 of 100 samples, in seconds."""
    buckets = [
        (labels["le"], value)
        for name, labels, value in await _samples(operator)
        if name == "rukpak_event_loop_lag_seconds_bucket"
    ]
    total = buckets[-1][1]
    return next(bound for bound, count in buckets if count >= 0.99 * total)


async def _samples(operator: LocalOperator) -> list[tuple[str, dict[str, str], float]]:
    return list(_parsed(await asyncio.to_thread(_scrape, operator.metrics)))


def _scrape(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - our own operator's URL
        return str(answer.read(), "utf-8")


def _parsed(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value

"""Requests of an operator while something happens, as the table in docs/architecture.md counts them.

Events, Leases, access reviews and discovery have columns of their own and are left out. What has been counted is final:
nothing was sent for longer than any pause after which the operator looks again by itself.
"""

import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

from prometheus_client.parser import text_string_to_metric_families

from rukpak_py.kube.client import Client
from tests.integration.operator.process import Operator
from tests.waiting import eventually, quiet

IDLE = float(os.environ.get("RUKPAK_IDLE_SECONDS", "1.2"))  # its shortest pauses are one second
OWN_COLUMN = frozenset({"events", "leases"})
OWN_VERB = frozenset({"discover", "review"})

Calls = Counter[tuple[str, str, str]]  # verb, what, code


async def calls(operator: Operator) -> Calls:
    """All that this process has sent: `("apply", "configmaps", "201")`, `("patch", "bundles/status", "200")`."""
    return await _calls(operator, OWN_COLUMN)


async def calls_and_events(operator: Operator) -> Calls:
    """The same with the column of the Events."""
    return await _calls(operator, OWN_COLUMN - {"events"})


async def settled(operator: Operator) -> Calls:
    return await quiet(lambda: calls(operator), seconds=IDLE)


async def settled_with_events(operator: Operator) -> Calls:
    return await quiet(lambda: calls_and_events(operator), seconds=IDLE)


async def calls_during(operator: Operator, work: Callable[[], Awaitable[object]]) -> Calls:
    (found,) = await calls_of_each(operator, work)
    return found


async def calls_of_each(operator: Operator, *works: Callable[[], Awaitable[object]]) -> list[Calls]:
    """The same for one after the other."""
    found, before = list[Calls](), await settled(operator)
    for work in works:
        await work()
        after = await settled(operator)
        found.append(after - before)
        before = after
    return found


async def has_seen(operator: Operator, plurals: Iterable[str], since: float) -> None:
    """The operator's watches of these kinds have delivered something since then (wall clock)."""
    for plural in plurals:

        async def look(plural: str = plural) -> bool:
            delivered = await operator.samples("rukpak_watch_last_event_timestamp_seconds", resource=plural)
            return max(delivered, default=0.0) > since

        await eventually(look, what=f"the watch of {plural} delivered")


def now() -> float:
    return time.time()


async def served(admin: Client) -> Calls:
    """The answers that the API server itself has counted, to all clients."""
    text = (await admin.raw_get("/metrics", accept="text/plain")).body.decode()
    found: Calls = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "apiserver_request_total":
                labels = sample.labels
                what = "/".join(filter(None, (labels["resource"], labels["subresource"])))
                found[labels["verb"].lower(), what, labels["code"]] += int(sample.value)
    return found


async def _calls(operator: Operator, left_out: frozenset[str]) -> Calls:
    found: Calls = Counter()
    for request, count in (await operator.requests()).items():
        if request.resource not in left_out and request.verb not in OWN_VERB:
            found[request.verb, "/".join(filter(None, (request.resource, request.subresource))), request.code] += count
    return found

"""The metrics of the process: one registry, every metric declared in this file, labels of low cardinality.

Names follow the ecosystem: unit suffixes, `rest_client_*` as Kubernetes' own clients have it. Requests to the API
server are counted one by one, tries included, because the number of calls is a promise that tests check exactly.
"""

from collections import Counter as Tally
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

REQUESTS = Counter(
    "rest_client_requests",
    "Requests to the API server. The code is <error> when there was no answer.",
    ["verb", "group", "resource", "subresource", "code"],
    registry=REGISTRY,
)
REQUEST_SECONDS = Histogram(
    "rest_client_request_duration_seconds",
    "How long the API server took to answer; for watches, until the answer began.",
    ["verb"],
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0),
    registry=REGISTRY,
)
WATCH_LAST_EVENT = Gauge(
    "rukpak_watch_last_event_timestamp_seconds",
    "When a watch last delivered an event or a bookmark.",
    ["group", "resource", "reader", "selector"],
    registry=REGISTRY,
)
WATCH_ENDS = Counter(
    "rukpak_watch_ends",
    "Watches that ended: clean, broken, expired, silent, busy, absent or refused.",
    ["group", "resource", "ending"],
    registry=REGISTRY,
)
SYNTHESISED_DELETES = Counter(
    "rukpak_watch_synthesised_deletes",
    "Deletions that no watch delivered and the next list revealed.",
    ["group", "resource"],
    registry=REGISTRY,
)
CONNECTIONS_ENDED = Counter(
    "rukpak_server_connections_ended",
    "Connections to a port of the operator that gave way to new ones, or were refused, because all places were taken.",
    ["port", "outcome"],
    registry=REGISTRY,
)
IS_LEADER = Gauge("rukpak_leader", "1 while this process holds the lease.", registry=REGISTRY)
WEBHOOK_CONFIGURATION_OK = Gauge(
    "rukpak_webhook_configuration_ok",
    "1 while the ValidatingWebhookConfiguration calls this operator's webhooks and trusts their certificate.",
    registry=REGISTRY,
)
EVENTS_DROPPED = Counter(
    "rukpak_events_dropped",
    "Events that were not written: full (the queue), limited (the rate) or failed (the request).",
    ["why"],
    registry=REGISTRY,
)


class RequestLabels(NamedTuple):
    verb: str
    group: str
    resource: str
    subresource: str
    code: str


def request_counts() -> Tally[RequestLabels]:
    """How often each kind of request was sent since the process began; subtract two tallies to count between."""
    tally: Tally[RequestLabels] = Tally()
    for metric in REQUESTS.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                tally[RequestLabels(**sample.labels)] = int(sample.value)
    return tally


def render() -> bytes:
    """The text that a scrape answers."""
    return generate_latest(REGISTRY)


RECONCILE_SECONDS = Histogram(
    "rukpak_reconcile_duration_seconds",
    "How long one reconciliation took. The result is done, retry (an attempt that failed), error or bug.",
    ["kind", "result"],
    buckets=(0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0),
    registry=REGISTRY,
)
APPLIED = Counter(
    "rukpak_apply", "Objects written: created, updated, corrected or taken (adopted).", ["action"], registry=REGISTRY
)
DRIFT_CORRECTED = Counter("rukpak_drift_corrected", "Objects whose drift was reverted.", registry=REGISTRY)
PRUNED = Counter(
    "rukpak_pruned_objects", "Objects deleted because they were no longer in the bundle.", registry=REGISTRY
)
FETCH_SECONDS = Histogram(
    "rukpak_source_fetch_duration_seconds",
    "How long it took to fetch, check and store content. The result is unpacked, failed or pending.",
    ["source", "result"],
    buckets=(0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 120.0),
    registry=REGISTRY,
)
MISSED_DELETIONS = Counter(
    "rukpak_missed_deletions",
    "Bundles and BundleDeployments whose deletion no watch delivered and a list revealed.",
    ["kind"],
    registry=REGISTRY,
)
CONTENT_REQUESTS = Counter(
    "rukpak_content_requests",
    "Requests for content and uploads, by what was asked for: bundles, uploads or other.",
    ["what", "method", "code"],
    registry=REGISTRY,
)
CONTENT_BYTES = Counter(
    "rukpak_content_bytes", "Bytes of archives that were sent and received.", ["direction"], registry=REGISTRY
)
CONTENT_FORWARDED = Counter(
    "rukpak_content_forwarded_connections",
    "Connections for content and uploads that this replica passed on to the leader. The result is forwarded or failed.",
    ["result"],
    registry=REGISTRY,
)
QUEUE_DEPTH = Gauge("rukpak_queue_depth", "Objects that wait to be reconciled.", ["kind"], registry=REGISTRY)
LOOP_LAG = Histogram(
    "rukpak_event_loop_lag_seconds",
    "How late timers of the event loop were.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0),
    registry=REGISTRY,
)


def observe_reconcile(kind: str, result: str, seconds: float) -> None:
    RECONCILE_SECONDS.labels(kind, result).observe(seconds)

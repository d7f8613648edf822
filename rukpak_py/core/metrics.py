"""The metrics of the process: one registry, every metric declared in this file, labels of low cardinality.

Names follow the ecosystem: unit suffixes, `rest_client_*` as Kubernetes' own clients have it. Requests to the API
server are counted one by one, tries included, because the number of calls is a promise that tests check exactly.
Metrics of single objects are no counts: a collector reads them from a cache at each scrape, and is exported for as long
as the cache is kept. docs/metrics.md has all of them, made from the declarations.
"""

from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

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
BUILD_INFO = Gauge(
    "rukpak_build_info",
    "1, with the versions of the operator, of Python and of Kopf.",
    ["version", "python_version", "kopf_version"],
    registry=REGISTRY,
)
LANE_WAIT = Histogram(
    "rukpak_api_request_wait_seconds",
    "How long requests to the API server waited for a place in their lane: lease, vital or work.",
    ["lane"],
    buckets=(0.001, 0.01, 0.1, 0.5, 2.0, 10.0),
    registry=REGISTRY,
)
LANE_IN_FLIGHT = Gauge(
    "rukpak_api_requests_in_flight",
    "Requests to the API server that are unanswered, by lane: lease, vital, work, or slow (it gave its place up).",
    ["lane"],
    registry=REGISTRY,
)
IS_LEADER = Gauge("rukpak_leader", "1 while this process leads: while it holds the lease.", registry=REGISTRY)
CERTIFICATE_EXPIRY = Gauge(
    "rukpak_certificate_expiry_timestamp_seconds",
    "When a certificate of the operator expires: the one that it serves, and the authority that clients trust.",
    ["name"],
    registry=REGISTRY,
)
WEBHOOK_SECONDS = Histogram(
    "rukpak_webhook_request_duration_seconds",
    "How long an admission review took. The result is allowed, denied, refused (the request is no review that may be "
    "judged), failed (it could not be judged) or gone (its client went away, or it gave way to others).",
    ["webhook", "result"],
    buckets=(0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0),
    registry=REGISTRY,
)
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


class _OneFamily(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family


def rendered() -> Iterator[bytes]:
    """The text that a scrape answers, metric by metric: with many objects the whole takes long."""
    for family in REGISTRY.collect():
        yield generate_latest(_OneFamily(family))


def render() -> bytes:
    """The same at once."""
    return b"".join(rendered())


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
UPGRADES = Counter(
    "rukpak_upgrades",
    "Installations and upgrades of BundleDeployments: installed, upgraded, failed (once for each cause) or "
    "rolled_back.",
    ["outcome"],
    registry=REGISTRY,
)
for _outcome in ("installed", "upgraded", "failed", "rolled_back"):  # from 0 on: else the first is no increase
    UPGRADES.labels(_outcome)
STORE_BYTES = Gauge(
    "rukpak_store_bytes",
    "Bytes of the files of a store of the leader: bundles or uploads.",
    ["store"],
    registry=REGISTRY,
)
STORE_FILES = Gauge("rukpak_store_files", "Number of files of a store of the leader.", ["store"], registry=REGISTRY)
STORE_FREE = Gauge(
    "rukpak_store_filesystem_free_bytes",
    "Free bytes of the file system on which a store of the leader lies.",
    ["store"],
    registry=REGISTRY,
)
STORE_SIZE = Gauge(
    "rukpak_store_filesystem_size_bytes",
    "Size of the file system on which a store of the leader lies.",
    ["store"],
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
    "Requests for content and uploads, by what was asked for: bundles, uploads, permissions, plans, ui or other.",
    ["what", "method", "code"],
    registry=REGISTRY,
)
CONTENT_BYTES = Counter(
    "rukpak_content_bytes", "Bytes of archives that were sent and received.", ["direction"], registry=REGISTRY
)
for _direction in ("sent", "received"):
    CONTENT_BYTES.labels(_direction)
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


@dataclass(frozen=True, kw_only=True)
class ObjectGauge:
    """A gauge about single objects: a collector makes its samples."""

    name: str
    documentation: str
    labels: tuple[str, ...]

    def family(self) -> GaugeMetricFamily:
        """The gauge for one scrape, without samples."""
        return GaugeMetricFamily(self.name, self.documentation, labels=self.labels)


RESOURCES = ObjectGauge(
    name="rukpak_resources",
    documentation="Number of objects, by the status of their condition Ready: True, False or Unknown.",
    labels=("kind", "ready"),
)
RESOURCES_LEFT_OUT = ObjectGauge(
    name="rukpak_resources_left_out",
    documentation="Number of objects that have no metrics of their own, because there are more than the limit.",
    labels=("kind",),
)
RESOURCE_INFO = ObjectGauge(
    name="rukpak_resource_info",
    documentation="1, with the class, the type of the source, and the version that is installed.",
    labels=("kind", "name", "class", "source", "version"),
)
RESOURCE_READY = ObjectGauge(
    name="rukpak_resource_ready",
    documentation="1 while the condition Ready is True, else 0.",
    labels=("kind", "name"),
)
RESOURCE_NOT_READY_SINCE = ObjectGauge(
    name="rukpak_resource_not_ready_since_timestamp_seconds",
    documentation="When the condition Ready took its status, while that is False or Unknown.",
    labels=("kind", "name", "reason"),
)
RESOURCE_STALLED = ObjectGauge(
    name="rukpak_resource_stalled",
    documentation="1 while the condition Stalled is True: it is not tried again by itself.",
    labels=("kind", "name", "reason"),
)
RESOURCE_SUSPENDED = ObjectGauge(
    name="rukpak_resource_suspended",
    documentation="1 while spec.suspend is true.",
    labels=("kind", "name"),
)
RESOURCE_UPGRADE_PENDING_SINCE = ObjectGauge(
    name="rukpak_resource_upgrade_pending_since_timestamp_seconds",
    documentation="When an upgrade began to wait, while it does: NotApproved, OutsideWindow or DependencyNotReady.",
    labels=("kind", "name", "reason"),
)
SERVING_CERTIFICATE_EXPIRY = ObjectGauge(
    name="rukpak_serving_certificate_expiry_timestamp_seconds",
    documentation="When a certificate expires that the operator made for the webhooks of a BundleDeployment, by its "
    "Secret.",
    labels=("deployment", "secret_namespace", "secret"),
)


@contextmanager
def exported(collector: Collector) -> Iterator[None]:
    """Scrapes have its metrics in this block."""
    REGISTRY.register(collector)
    try:
        yield
    finally:
        REGISTRY.unregister(collector)


def export_bugs_of(kind: str) -> None:
    """From 0 on: else the first is no increase, and no alert."""
    RECONCILE_SECONDS.labels(kind, "bug")


def observe_reconcile(kind: str, result: str, seconds: float) -> None:
    RECONCILE_SECONDS.labels(kind, result).observe(seconds)

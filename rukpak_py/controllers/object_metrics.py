"""Metrics of single Bundles and BundleDeployments, read from the controllers' caches at each scrape.

Nothing is counted twice: what has left a cache has no series any more, and a replica without caches exports none. Of
each kind at most `most` objects have series of their own, and the rest is counted. Those that alerts are about come
first: objects that are not ready or whose upgrade waits, and certificates that expire soonest.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Conditions, find_condition
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, ConditionStatus, ConditionType
from rukpak_py.core import metrics
from rukpak_py.core.objects import ObjectKey

Expiry = tuple[ObjectKey, str, str]  # Secret, uid of its deployment, when its certificate expires


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectState:
    """An object as its metrics show it."""

    kind: str
    name: str
    class_name: str
    source: str
    version: str
    ready: str  # status of the condition
    ready_reason: str
    ready_since: str  # empty: there is no such condition yet
    stalled: str  # the reason; empty: it is not
    is_suspended: bool = False
    pending: tuple[str, str] | None = None  # reason of the upgrade that waits, and since when

    @property
    def is_ready(self) -> bool:
        return self.ready == ConditionStatus.TRUE


class ObjectMetrics(Collector):
    def __init__(
        self,
        bundles: Iterable[Bundle],
        deployments: Iterable[BundleDeployment],
        *,
        expiries: Callable[[], Iterable[Expiry]],
        per_object: bool,
        most: int,
    ) -> None:
        self._bundles = bundles
        self._deployments = deployments
        self._expiries = expiries
        self._per_object = per_object
        self._most = most

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The families of one scrape."""
        deployments = tuple(self._deployments)
        states = {
            BUNDLE_KIND: [_of_bundle(one) for one in self._bundles],
            BUNDLE_DEPLOYMENT_KIND: [_of_deployment(one) for one in deployments],
        }
        yield _counts(states)
        if not self._per_object:
            return
        shown = {kind: _first(of_kind, self._most) for kind, of_kind in states.items()}
        left_out = metrics.RESOURCES_LEFT_OUT.family()
        for kind, of_kind in states.items():
            left_out.add_metric([kind], len(of_kind) - len(shown[kind]))
        yield left_out
        yield from _families([one for of_kind in shown.values() for one in of_kind])
        yield self._certificates({one.metadata.uid: one.metadata.name for one in deployments})

    def _certificates(self, names: dict[str, str]) -> GaugeMetricFamily:
        """Take Secrets that a deployment controls alone: others may carry the label that we watch."""
        known = ((names[uid], key.namespace, key.name, end) for key, uid, end in self._expiries() if uid in names)
        ends = sorted((at, labels) for *labels, text in known if (at := _seconds(text)) is not None)
        return _family(metrics.SERVING_CERTIFICATE_EXPIRY, ((labels, at) for at, labels in ends[: self._most]))


def _counts(states: dict[str, list[ObjectState]]) -> GaugeMetricFamily:
    family = metrics.RESOURCES.family()
    for kind, of_kind in states.items():
        found = [one.ready for one in of_kind]
        for status in ConditionStatus:
            family.add_metric([kind, status], found.count(status))
    return family


def _first(states: Sequence[ObjectState], most: int) -> Sequence[ObjectState]:
    if len(states) <= most:
        return states
    return sorted(states, key=_urgency)[:most]


def _urgency(one: ObjectState) -> tuple[bool, bool, bool, str]:
    """Sort by whether an alert may be about it: none is about one that is suspended and not ready."""
    return one.is_ready or one.is_suspended, one.pending is None, one.is_ready, one.name


def _families(states: Sequence[ObjectState]) -> Iterator[GaugeMetricFamily]:
    """One after the other: the event loop goes on between two."""
    yield _family(
        metrics.RESOURCE_INFO,
        (((one.kind, one.name, one.class_name, one.source, one.version), 1) for one in states),
    )
    yield _family(metrics.RESOURCE_READY, (((one.kind, one.name), one.is_ready) for one in states))
    yield _family(
        metrics.RESOURCE_NOT_READY_SINCE,
        (
            ((one.kind, one.name, one.ready_reason), _seconds(one.ready_since))
            for one in states
            if one.ready_since and not one.is_ready
        ),
    )
    yield _family(metrics.RESOURCE_STALLED, (((one.kind, one.name, one.stalled), 1) for one in states if one.stalled))
    yield _family(metrics.RESOURCE_SUSPENDED, (((one.kind, one.name), 1) for one in states if one.is_suspended))
    yield _family(
        metrics.RESOURCE_UPGRADE_PENDING_SINCE,
        (((one.kind, one.name, one.pending[0]), _seconds(one.pending[1])) for one in states if one.pending is not None),
    )


def _family(gauge: metrics.ObjectGauge, samples: Iterable[tuple[Sequence[str], float | None]]) -> GaugeMetricFamily:
    """Leave out what has no value."""
    family = gauge.family()
    for labels, value in samples:
        if value is not None:
            family.add_metric(labels, value)
    return family


def _of_bundle(bundle: Bundle) -> ObjectState:
    return _state(
        bundle.status.conditions,
        kind=BUNDLE_KIND,
        name=bundle.metadata.name,
        class_name=bundle.spec.provisioner_class,
        source=bundle.spec.source.type,
    )


def _of_deployment(deployment: BundleDeployment) -> ObjectState:
    spec, status = deployment.spec, deployment.status
    waiting = status.pending_upgrade
    return _state(
        status.conditions,
        kind=BUNDLE_DEPLOYMENT_KIND,
        name=deployment.metadata.name,
        class_name=spec.provisioner_class,
        source=spec.template.spec.source.type,
        version=status.version,
        is_suspended=spec.suspend,
        pending=(waiting.reason, waiting.since) if waiting is not None else None,
    )


def _state(
    conditions: Conditions,
    *,
    kind: str,
    name: str,
    class_name: str,
    source: str,
    version: str = "",
    is_suspended: bool = False,
    pending: tuple[str, str] | None = None,
) -> ObjectState:
    ready = find_condition(conditions, ConditionType.READY)
    stalled = find_condition(conditions, ConditionType.STALLED)
    return ObjectState(
        kind=kind,
        name=name,
        class_name=class_name,
        source=source,
        version=version,
        ready=ready.status if ready is not None else ConditionStatus.UNKNOWN,
        ready_reason=ready.reason if ready is not None else "",
        ready_since=ready.last_transition_time if ready is not None else "",
        stalled=stalled.reason if stalled is not None and stalled.status == ConditionStatus.TRUE else "",
        is_suspended=is_suspended,
        pending=pending,
    )


def _seconds(text: str) -> float | None:
    """Parse an RFC 3339 time; None for anything else."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None

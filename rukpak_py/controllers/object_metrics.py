"""Metrics of single Bundles and BundleDeployments, read from the controllers' caches at each scrape.

Nothing is counted twice: what has left a cache has no series any more, and a replica without caches exports none. Of
each kind at most `most` objects have series of their own. Those that are not ready come first, so that alerts see them,
and the rest is counted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import Condition, find_condition
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, ConditionStatus, ConditionType, canonical_class
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
    ready: Condition | None
    stalled: Condition | None
    is_suspended: bool = False
    pending: tuple[str, str] | None = None  # reason of the upgrade that waits, and since when

    @property
    def status(self) -> str:
        return self.ready.status if self.ready is not None else ConditionStatus.UNKNOWN

    @property
    def is_ready(self) -> bool:
        return self.status == ConditionStatus.TRUE


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
        """Only of Secrets that a deployment controls: others may carry the label that we watch."""
        family = metrics.SERVING_CERTIFICATE_EXPIRY.family()
        known = ((key, names[uid], _seconds(end)) for key, uid, end in self._expiries() if uid in names)
        for key, name, seconds in sorted(known)[: self._most]:
            if seconds is not None:
                family.add_metric([name, key.namespace, key.name], seconds)
        return family


def _counts(states: dict[str, list[ObjectState]]) -> GaugeMetricFamily:
    family = metrics.RESOURCES.family()
    for kind, of_kind in states.items():
        found = [one.status for one in of_kind]
        for status in ConditionStatus:
            family.add_metric([kind, status], found.count(status))
    return family


def _first(states: Sequence[ObjectState], most: int) -> Sequence[ObjectState]:
    if len(states) <= most:
        return states
    return sorted(states, key=lambda one: (one.is_ready, one.name))[:most]


def _families(states: Sequence[ObjectState]) -> Iterator[GaugeMetricFamily]:
    info, ready = metrics.RESOURCE_INFO.family(), metrics.RESOURCE_READY.family()
    since, stalled = metrics.RESOURCE_NOT_READY_SINCE.family(), metrics.RESOURCE_STALLED.family()
    suspended, pending = metrics.RESOURCE_SUSPENDED.family(), metrics.RESOURCE_UPGRADE_PENDING_SINCE.family()
    for one in states:
        place = [one.kind, one.name]
        info.add_metric([*place, one.class_name, one.source, one.version], 1)
        ready.add_metric(place, one.is_ready)
        if one.ready is not None and not one.is_ready:
            began = _seconds(one.ready.last_transition_time)
            if began is not None:
                since.add_metric([*place, one.ready.reason], began)
        if one.stalled is not None and one.stalled.status == ConditionStatus.TRUE:
            stalled.add_metric([*place, one.stalled.reason], 1)
        if one.is_suspended:
            suspended.add_metric(place, 1)
        if one.pending is not None and (waits := _seconds(one.pending[1])) is not None:
            pending.add_metric([*place, one.pending[0]], waits)
    yield from (info, ready, since, stalled, suspended, pending)


def _of_bundle(bundle: Bundle) -> ObjectState:
    conditions = bundle.status.conditions
    return ObjectState(
        kind=BUNDLE_KIND,
        name=bundle.metadata.name,
        class_name=bundle.spec.provisioner_class,
        source=bundle.spec.source.type,
        version="",
        ready=find_condition(conditions, ConditionType.READY),
        stalled=find_condition(conditions, ConditionType.STALLED),
    )


def _of_deployment(deployment: BundleDeployment) -> ObjectState:
    spec, status = deployment.spec, deployment.status
    waiting = status.pending_upgrade
    return ObjectState(
        kind=BUNDLE_DEPLOYMENT_KIND,
        name=deployment.metadata.name,
        class_name=canonical_class(spec.provisioner_class_name),
        source=spec.template.spec.source.type,
        version=status.version,
        ready=find_condition(status.conditions, ConditionType.READY),
        stalled=find_condition(status.conditions, ConditionType.STALLED),
        is_suspended=spec.suspend,
        pending=(waiting.reason, waiting.since) if waiting is not None else None,
    )


def _seconds(text: str) -> float | None:
    """Parse an RFC 3339 time; None for anything else."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None

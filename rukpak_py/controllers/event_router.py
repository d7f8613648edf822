"""The events of our own kinds: into which cache they go, and which keys they bring back.

Kopf's handlers do two things: put the body into a cache (or drop it) and add a key to a queue. Other keys are
brought back by watches, by the ends of jobs, and by their own back-off; this has it in one place. All of it belongs to
our loop.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeVar

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_PLURAL,
    BUNDLE_INSTANCE_PLURAL,
    BUNDLE_PLURAL,
    GROUP,
    HELM_CLASS,
    ORDERED_DELETION_FINALIZER,
    ConditionType,
    Reason,
    canonical_class,
    is_unknown_class,
)
from rukpak_py.api.reading import read_bundle, read_bundle_deployment, read_bundle_instance
from rukpak_py.api.source import Source
from rukpak_py.controllers.cache import Cache, HasMetadata
from rukpak_py.controllers.config_map_watches import ConfigMapUsers
from rukpak_py.controllers.deployment.dependencies import Dependencies, dependencies_of, key_of, may_end_waits
from rukpak_py.controllers.deployment.waiting import WaitingDeployments
from rukpak_py.controllers.queue import BackOff, Queue
from rukpak_py.core.errors import ContentError
from rukpak_py.core.nesting import ACCEPTED, nests_deeper
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.formats.helm.settings import refers_to
from rukpak_py.kube.metadata import LiveObject

LOG = logging.getLogger(__name__)
FETCH_BACK_OFF = BackOff(first=1.0)  # at most six fetches in the first half minute
HOLD_BACK_SECONDS = 0.5  # a client that deletes an object is done with it by then

Kind = TypeVar("Kind", bound=HasMetadata)


@dataclass(frozen=True, kw_only=True)
class Handler:
    """Handling of the events of one kind. `may_be_ours` is asked in Kopf's thread, `seen` is called in ours."""

    plural: str
    may_be_ours: Callable[[Mapping[str, Any]], bool]
    seen: Callable[[str | None, Mapping[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Listeners(Generic[Kind]):
    """Listeners for the events of one kind, besides its queue. `gone`: it was deleted, or its deletion was missed."""

    seen: Callable[[Kind, bool], None]  # every event, also those that a newer one overtakes; true: it was listed
    changed: Callable[[Kind], None]  # what is news
    gone: Callable[[Kind], None]
    relisted: Callable[[], None]
    deleted: Callable[[Kind], None]  # the event itself was seen; `gone` follows


class WatchedKind(Generic[Kind]):
    """One of our kinds: its cache, its queue, and what its events do."""

    def __init__(
        self, plural: str, read: Callable[[Mapping[str, Any]], Kind], *, back_off: BackOff | None = None
    ) -> None:
        self.plural = plural
        self.cache: Cache[Kind] = Cache(clock=monotonic)
        self.queue: Queue[str] = Queue(back_off=back_off)
        self._read = read
        self._attached: Listeners[Kind] | None = None

    def attach(self, listeners: Listeners[Kind]) -> None:
        """Attach the listeners once, before the first event: they are made with this cache."""
        self._attached = listeners

    def handler(self) -> Handler:
        return Handler(plural=self.plural, may_be_ours=_is_ours_by_itself, seen=self.event)

    def event(self, event: str | None, body: Mapping[str, Any]) -> None:
        is_known = (body.get("metadata") or {}).get("name", "") in self.cache  # a class that changes away is noticed
        if not is_known and not _is_ours_by_itself(body):
            return
        try:
            obj = self._read(body)
            _demand_whole(obj, event, body)
        except ContentError as error:
            LOG.warning("ignored: %s", error)
            return
        name = obj.metadata.name
        former = self.cache.predecessor_of(obj)
        if former is not None:
            self.forget(former)
        if event == "DELETED":
            self._listeners.deleted(obj)
            known = self.cache.drop(name, obj.metadata.uid)
            self.gone(known or obj)
            return
        if event is None and is_known:
            self._listeners.relisted()
        self._listeners.seen(obj, event is None)
        known = self.cache.get(name)
        if self.cache.put(obj):
            (self.queue.wake if _asks_for_something_else(known, obj) else self.queue.add)(name)
            self._listeners.changed(obj)

    def gone(self, obj: Kind) -> None:
        self._listeners.gone(obj)
        self.queue.wake(obj.metadata.name)

    def forget(self, obj: Kind) -> None:
        """Drop an object that is gone although no watch has said so."""
        self.cache.drop(obj.metadata.name, obj.metadata.uid)
        self.gone(obj)

    @property
    def _listeners(self) -> Listeners[Kind]:
        if self._attached is None:
            raise RuntimeError("an event came before the listeners")
        return self._attached


class EventRouter:
    def __init__(self, *, watch_quotas: Callable[[], None] = lambda: None) -> None:
        self.bundles = WatchedKind[Bundle](BUNDLE_PLURAL, read_bundle, back_off=FETCH_BACK_OFF)
        self.deployments = WatchedKind[BundleDeployment](BUNDLE_DEPLOYMENT_PLURAL, read_bundle_deployment)
        self.instances = WatchedKind[BundleInstance](BUNDLE_INSTANCE_PLURAL, read_bundle_instance)
        self.config_map_users = ConfigMapUsers()
        self.waiting = WaitingDeployments(watch_quotas=watch_quotas)
        self.dependencies = Dependencies(self.deployments.cache)

    def handlers(self) -> list[Handler]:
        """Bundles are taken whatever their class: the webhook asks about all, and the caches show which are ours."""
        bundles = Handler(plural=BUNDLE_PLURAL, may_be_ours=lambda _: True, seen=self._bundle_seen)
        return [bundles, self.deployments.handler(), self.instances.handler()]

    def close(self) -> None:
        """Close the queues: no key is given out any more."""
        self.bundles.queue.close()
        self.deployments.queue.close()
        self.instances.queue.close()

    def _bundle_seen(self, event: str | None, body: Mapping[str, Any]) -> None:
        self.config_map_users.event(event, body)
        self.bundles.event(event, body)

    def bundle_changed(self, bundle: Bundle) -> None:
        owner = bundle.metadata.controller
        if owner is not None:
            self.object_changed(owner.uid)

    def deployment_changed(self, deployment: BundleDeployment) -> None:
        """The BundleInstance of its name mirrors it, or waits for the name. Our own writes are changes, too."""
        if deployment.metadata.name in self.instances.cache:
            self.instances.queue.add(deployment.metadata.name)
        if may_end_waits(deployment):
            self._wake_waiting_for(deployment)

    def dependencies_changed(self, deployment: BundleDeployment) -> None:
        """Its dependencies get a finalizer at their next look."""
        self.dependencies.seen(deployment)
        for known in map(self.deployments.cache.get, dependencies_of(deployment)):
            if known is not None and ORDERED_DELETION_FINALIZER not in known.metadata.finalizers:
                self.deployments.queue.add(known.metadata.name)

    def deployment_gone(self, deployment: BundleDeployment) -> None:
        """Its dependents say so, also those that do not wait."""
        self.dependencies.gone(deployment)
        self._wake_waiting_for(deployment)
        for name in self.dependencies.dependents_of(deployment.metadata.name):
            self.deployments.queue.add(name)

    def _wake_waiting_for(self, deployment: BundleDeployment) -> None:
        """Wake those that wait for it, and those in hand that may: what they wait for is noted at the end."""
        name = deployment.metadata.name
        related = self.dependencies.dependents_of(name) | dependencies_of(deployment)
        for one in {*self.waiting.for_object(key_of(name)), *(related & self.deployments.queue.in_hand)}:
            self.deployments.queue.wake(one)

    def object_changed(self, owner_uid: str) -> None:
        name = self.deployments.cache.name_of(owner_uid)
        if name is not None:
            self.deployments.queue.add(name)

    def object_gone(self, key: ObjectKey) -> None:
        for name in self.waiting.for_object(key):
            self.deployments.queue.wake(name, after=HOLD_BACK_SECONDS)

    def namespace_changed(self, namespace: str) -> None:
        self._wake(self.waiting.for_namespace(namespace))

    def quota_changed(self, namespace: str) -> None:
        """Wake deployments that wait for a quota in the namespace; without a name: in any."""
        self._wake(self.waiting.for_quota(namespace))

    def kinds_changed(self, kinds: Collection[GroupKind]) -> None:
        """Wake those that wait for kinds that are served, established or listed for the first time now, or no more."""
        self._wake(self.waiting.for_kinds(kinds))

    def _wake(self, names: Collection[str]) -> None:
        """Wake these and those that a worker has in hand: what they wait for is noted at the end of their reconcile."""
        for name in {*names, *self.deployments.queue.in_hand}:
            self.deployments.queue.wake(name)

    def map_changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        """A ConfigMap that a failing Bundle waits for has come, or has come back with other content; or values have."""
        self._wake_charts(key)
        if new is not None:
            self._wake_bundles(lambda source: key.name in {item.config_map.name for item in source.config_maps})

    def secret_changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        """The same for the Secret that a source names: credentials were missing, or refused."""
        self._wake_charts(key)
        if new is not None:
            self._wake_bundles(lambda source: key.name in source.secret_names)

    def account_changed(self, _key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        """The same for the service account whose pull secrets count for every image, and for one of these secrets."""
        if new is not None:
            self._wake_bundles(lambda source: source.image is not None)

    def _wake_charts(self, key: ObjectKey) -> None:
        """Wake deployments that take values from this object, which came, changed or went."""
        for deployment in self.deployments.cache:
            spec = deployment.spec
            if spec.provisioner_class == HELM_CLASS and refers_to(spec.config, key.kind, key.name):
                self.deployments.queue.wake(deployment.metadata.name)

    def _wake_bundles(self, is_about: Callable[[Source], bool]) -> None:
        for bundle in self.bundles.cache:
            if not bundle.status.is_unpacked and is_about(bundle.spec.source):
                self.bundles.queue.wake(bundle.metadata.name)


def _asks_for_something_else(known: HasMetadata | None, obj: HasMetadata) -> bool:
    """Compare the specs and our annotations, among which are requests to reconcile."""
    return known is None or _asked(known.metadata) != _asked(obj.metadata)


def _asked(metadata: ObjectMeta) -> tuple[int, dict[str, str]]:
    ours = {name: value for name, value in metadata.annotations.items() if name.startswith(f"{GROUP}/")}
    return metadata.generation, ours


def _demand_whole(obj: HasMetadata, event: str | None, body: Mapping[str, Any]) -> None:
    """ContentError for a spec that may have been cut on its way. One that goes may go."""
    is_going = event == "DELETED" or (body.get("metadata") or {}).get("deletionTimestamp")
    if not is_going and nests_deeper(body.get("spec"), ACCEPTED):
        raise ContentError(
            f"the spec of {obj.metadata.name} is nested more than {ACCEPTED} levels deep; make it flatter"
        )


def _is_ours_by_itself(body: Mapping[str, Any]) -> bool:
    spec, metadata = body.get("spec") or {}, body.get("metadata") or {}
    name = canonical_class(spec.get("provisionerClassName") or "")
    return (
        name in CLASSES
        or is_unknown_class(name)  # a misspelt one: no other operator says anything of it
        or ORDERED_DELETION_FINALIZER in (metadata.get("finalizers") or ())
        or _is_said_to_be_ours(body)
    )


def _is_said_to_be_ours(body: Mapping[str, Any]) -> bool:
    """Whether Ready is ours: the class may have changed while no operator ran, and Ready must not stay true."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    return any(
        one.get("type") == ConditionType.READY and one.get("reason") != Reason.CLASS_NOT_SERVED for one in conditions
    )

"""What is known of our own kinds, and who is woken by what.

Kopf's handlers do two things: put the body into a cache (or drop it) and add a key to a queue. Everybody else is woken
by watches, by the ends of jobs, and by their own back-off; this has it in one place. All of it belongs to our loop.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_DEPLOYMENT_PLURAL,
    BUNDLE_PLURAL,
    ORDERED_DELETION_FINALIZER,
    PLAIN_CLASS,
    canonical_class,
)
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.apply.inventory import Inventory
from rukpak_py.controllers.bundle import BundleController
from rukpak_py.controllers.bundle_deployment import BundleDeploymentController
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.queue import Queue
from rukpak_py.controllers.rendering import Rendering
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.operator.kopf_shell import Handler

LOG = logging.getLogger(__name__)
CLASSES = frozenset({PLAIN_CLASS})
HOLD_BACK = 0.5  # seconds: whoever deletes an object is done with it by then


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Who hears of events, besides the queues."""

    bundles: BundleController
    deployments: BundleDeploymentController
    rendering: Rendering
    inventory: Inventory
    relisted: Callable[[], None]
    deleted: Callable[[], None]


class Waking:
    def __init__(self) -> None:
        self.bundles: Cache[Bundle] = Cache(clock=monotonic)
        self.deployments: Cache[BundleDeployment] = Cache(clock=monotonic)
        self.bundle_queue: Queue[str] = Queue()
        self.deployment_queue: Queue[str] = Queue()
        self._listeners: Listeners | None = None

    def attach(self, listeners: Listeners) -> None:
        """Once, before the first event: the listeners are made with these caches."""
        self._listeners = listeners

    def close(self) -> None:
        """No key is given out any more."""
        self.bundle_queue.close()
        self.deployment_queue.close()

    # What Kopf sees

    def handlers(self) -> list[Handler]:
        return [
            Handler(plural=BUNDLE_PLURAL, may_be_ours=_may_be_ours, seen=self._bundle_seen),
            Handler(plural=BUNDLE_DEPLOYMENT_PLURAL, may_be_ours=_may_be_ours, seen=self._deployment_seen),
        ]

    def _bundle_seen(self, event: str | None, body: Mapping[str, Any]) -> None:
        if not _is_ours(body, self.bundles):
            return
        try:
            bundle = read_bundle(body)
        except ContentError as error:
            LOG.warning("left out: %s", error)
            return
        name, uid = bundle.metadata.name, bundle.metadata.uid
        if event == "DELETED":
            known = self.bundles.drop(name, uid)
            self.bundle_gone(known or bundle)
            self._told.deleted()
            return
        if event is None and name in self.bundles:
            self._told.relisted()
        if self.bundles.put(bundle):
            self.bundle_queue.add(name)
            self.wake_owner(bundle)

    def _deployment_seen(self, event: str | None, body: Mapping[str, Any]) -> None:
        if not _is_ours(body, self.deployments):
            return
        try:
            deployment = read_bundle_deployment(body)
        except ContentError as error:
            LOG.warning("left out: %s", error)
            return
        name = deployment.metadata.name
        former = self.deployments.get(name)
        if former is not None and former.metadata.uid != deployment.metadata.uid:
            self.deployment_gone(former)  # its deletion was missed
        if event == "DELETED":
            known = self.deployments.drop(name, deployment.metadata.uid)
            self.deployment_gone(known or deployment)
            self._told.deleted()
            return
        if event is None and name in self.deployments:
            self._told.relisted()
        self._told.deployments.seen(deployment)
        if self.deployments.put(deployment):
            self.deployment_queue.add(name)

    # What else is noticed

    def bundle_gone(self, bundle: Bundle) -> None:
        self._told.bundles.gone(bundle)
        self.bundle_queue.add(bundle.metadata.name)
        self.wake_owner(bundle)

    def deployment_gone(self, deployment: BundleDeployment) -> None:
        self._told.deployments.gone(deployment)
        self._told.rendering.forget(deployment.metadata.uid)
        self.deployment_queue.add(deployment.metadata.name)

    def forget_deployment(self, deployment: BundleDeployment) -> None:
        """The API server says that it is gone, and no watch had told us."""
        self.deployments.drop(deployment.metadata.name, deployment.metadata.uid)
        self.deployment_gone(deployment)

    def wake_owner(self, bundle: Bundle) -> None:
        owner = bundle.metadata.controller
        if owner is not None:
            self.object_changed(owner.uid)

    def object_changed(self, owner_uid: str) -> None:
        name = self.deployments.name_of(owner_uid)
        if name is not None:
            self.deployment_queue.add(name)

    def object_gone(self, key: ObjectKey) -> None:
        for name in self._told.deployments.waiting_for(key):
            self.deployment_queue.add_after(name, HOLD_BACK)

    def kinds_changed(self) -> None:
        for name in self._told.deployments.blocked:
            self.deployment_queue.add(name)
        for informer in self._told.inventory.informers().values():
            if not informer.served:
                informer.nudge()

    def map_changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        """A ConfigMap that a failing Bundle waits for has come, or has come back with other content."""
        if new is None:
            return
        for bundle in self.bundles:
            source = bundle.spec.source
            named = {item.config_map.name for item in source.config_maps}
            if key.name in named and not bundle.status.is_unpacked:
                self.bundle_queue.add(bundle.metadata.name)

    @property
    def _told(self) -> Listeners:
        if self._listeners is None:
            raise RuntimeError("an event came before the listeners")
        return self._listeners


def _is_ours(body: Mapping[str, Any], cache: Cache[Any]) -> bool:
    """The class is ours, or the object is known or held by us: a class that changes away is noticed."""
    return _is_ours_by_itself(body) or (body.get("metadata") or {}).get("name") in cache


def _may_be_ours(body: Mapping[str, Any]) -> bool:
    """Without the caches, so with every Bundle of a deployment: we create those, and know them before Kopf does."""
    owners = (body.get("metadata") or {}).get("ownerReferences") or ()
    return _is_ours_by_itself(body) or any(owner.get("kind") == BUNDLE_DEPLOYMENT_KIND for owner in owners)


def _is_ours_by_itself(body: Mapping[str, Any]) -> bool:
    spec, metadata = body.get("spec") or {}, body.get("metadata") or {}
    return canonical_class(spec.get("provisionerClassName") or "") in CLASSES or ORDERED_DELETION_FINALIZER in (
        metadata.get("finalizers") or ()
    )

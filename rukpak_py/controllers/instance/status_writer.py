"""Writes the status of BundleInstances: at most once a second each, and work in progress only when it lasts a second.

A verdict is written as soon as the BundleDeployment has it, so an install that goes well is one write. No worker waits:
the answer is the pause after which the key must come back, and the status is computed again.
"""

from collections.abc import Callable
from time import monotonic

from msgspec.structs import replace

from rukpak_py.api.bundle_instance import BundleInstance, BundleInstanceStatus
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.instance.status import is_in_progress
from rukpak_py.controllers.writes import StatusPace, write_status
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import BUNDLE_INSTANCES

PROGRESS_SECONDS = 1.0


class InstanceStatusWriter:
    def __init__(
        self,
        client: Client,
        instances: Cache[BundleInstance],
        *,
        now: Callable[[], str],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._client = client
        self._instances = instances
        self._clock = clock
        self._pace = StatusPace(clock)
        self._progress_since: dict[str, float] = {}  # by uid
        self.now = now

    async def write(self, instance: BundleInstance, status: BundleInstanceStatus) -> float | None:
        """None: it is written, or there was nothing to write; else the seconds after which to come back."""
        uid = instance.metadata.uid
        if status == instance.status:
            self._progress_since.pop(uid, None)
            return None
        pause = self._pause(uid, status)
        if pause > 0:
            return pause
        self._progress_since.pop(uid, None)
        try:
            metadata = await write_status(self._client, BUNDLE_INSTANCES, instance.metadata, instance.status, status)
        except (NotFoundError, StaleError):
            return None  # deleted meanwhile; its event is on the way
        self._pace.written(uid)
        if metadata is not None and metadata.generation == instance.metadata.generation:
            self._instances.put(replace(instance, metadata=metadata, status=status))
        return None

    def forget(self, uid: str) -> None:
        """The instance is gone."""
        self._pace.forget(uid)
        self._progress_since.pop(uid, None)

    def _pause(self, uid: str, status: BundleInstanceStatus) -> float:
        now = self._clock()
        due = self._pace.due(uid)
        if is_in_progress(status):
            due = max(due, self._progress_since.setdefault(uid, now) + PROGRESS_SECONDS)
        else:
            self._progress_since.pop(uid, None)
        return due - now

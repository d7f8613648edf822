"""Writes to our own objects: finalizers, and the status in at most one request, in none when it is the same.

* A status patch names the object's uid, so that it never lands on another object of the same name (the server answers
  409), and says null for what is no longer there, because a merge patch would keep it.
* A list in a merge patch replaces the whole list. Where a lost entry would matter (`status.kinds` says what is pruned,
  every list of finalizers), the patch names the resourceVersion too: the server answers 409 when another client wrote
  the object since, nothing is lost, and the key comes back.
* A paced status is written at once after a quiet second, later changes at the end of that second. One that `awaits`
  what follows in a moment is held for up to a second, so that one write says both.
* No worker waits and no status is kept: the answer names the pause after which the key must come back, and the status
  is made again. What is written last is therefore what is true last.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from time import monotonic
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import Reason
from rukpak_py.api.reading import to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.logs import LASTING
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import ApiError, InvalidError, NotFoundError, StaleError, TooLargeError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource

LOG = logging.getLogger(__name__)
WRITE_INTERVAL_SECONDS = 1.0
STALE_SECONDS = 1.0  # the event that brings the newer version is usually faster
_STRING_TOO_LONG = "FieldValueTooLong"

Kind = TypeVar("Kind", Bundle, BundleDeployment, BundleInstance)


class WriteResult(Enum):
    UNCHANGED = auto()  # there was nothing to write
    WRITTEN = auto()
    POSTPONED = auto()  # too soon: make the status again after the pause
    STALE = auto()  # another client wrote the object meanwhile: read it again, and make the status again
    TOO_LARGE = auto()  # with it the object is larger than the server takes
    GONE = auto()  # the object was deleted, or is another one by now


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusWriteResult:
    """`pause`: seconds after which the key must come back, whatever else the reconcile has to say about that.

    `error`: why it is too large.
    """

    result: WriteResult
    pause: float | None = None
    error: RukPakError | None = None


@dataclass(kw_only=True, slots=True)
class StatusWrites:
    """Times of one object's status: the last write, and since when one is held for what follows in a moment."""

    written_at: float = float("-inf")
    refused_in: str = ""  # the version of the object for which the whole status was too large
    _held: tuple[str, float] | None = None

    def due(self, awaited: str, now: float) -> float:
        """Time when the next status may be written; it may be in the past."""
        if not awaited:
            self._held = None
        elif self._held is None or self._held[0] != awaited:
            self._held = awaited, now
        return max(self.written_at, self._held[1] if self._held else self.written_at) + WRITE_INTERVAL_SECONDS

    def unchanged(self) -> None:
        """Hold nothing any more: the status is as it should be."""
        self._held = None

    def written(self, now: float) -> None:
        self.written_at, self._held = now, None


class StatusWriter(Generic[Kind]):
    def __init__(
        self,
        client: Client,
        resource: Resource,
        cache: Cache[Kind],
        *,
        if_unchanged: bool = False,
        awaits: Callable[[Any, Any], str] = lambda _before, _after: "",
        pace: Callable[[], float] = monotonic,
    ) -> None:
        """`if_unchanged`: write only over the version that the status was made for, whatever has changed since.

        `awaits`: by the status before and after, a name for what follows in a moment; empty for nothing.
        """
        self._client = client
        self._resource = resource
        self._cache: Cache[Kind] = cache
        self._if_unchanged = if_unchanged
        self._awaits = awaits
        self._pace = pace

    def latest(self, obj: Kind) -> Kind | None:
        """The object as this process knows it now. None: it is gone, or another one by now."""
        latest = self._cache.get(obj.metadata.name)
        return latest if latest is not None and latest.metadata.uid == obj.metadata.uid else None

    async def write(self, latest: Kind, status: Any, writes: StatusWrites | None = None) -> StatusWriteResult:
        """Write the status in the place of that of `latest`. Without `writes` it is not paced."""
        writes = writes or StatusWrites()
        if status == latest.status:
            writes.unchanged()
            return StatusWriteResult(result=WriteResult.UNCHANGED)
        pause = writes.due(self._awaits(latest.status, status), now := self._pace()) - now
        if pause > 0:
            return StatusWriteResult(result=WriteResult.POSTPONED, pause=pause)
        try:
            await self.patch(latest, status)
        except NotFoundError:
            return StatusWriteResult(result=WriteResult.GONE)
        except StaleError:
            if not self._if_unchanged:
                return StatusWriteResult(result=WriteResult.GONE)
            return StatusWriteResult(result=WriteResult.STALE, pause=STALE_SECONDS)
        except InvalidError as error:
            if not is_too_large(error):
                raise
            text = f"{self._resource.key('', latest.metadata.name)}: the status is too large: {error}"
            LASTING.tell(LOG, logging.WARNING, Reason.STATUS_TOO_LARGE, text)
            return StatusWriteResult(result=WriteResult.TOO_LARGE, error=error)
        writes.written(self._pace())
        return StatusWriteResult(result=WriteResult.WRITTEN)

    async def patch(self, latest: Kind, status: Any) -> Kind:
        """The object with this status, written now. NotFoundError, StaleError: it is gone, or was changed.

        With another generation in the answer the spec changed meanwhile: the cache waits for the event that brings it.
        """
        patch = merge_patch(to_json(latest.status), to_json(status))
        if not patch:
            return replace(latest, status=status)
        preconditions = {"uid": latest.metadata.uid}
        if self._if_unchanged:
            preconditions["resourceVersion"] = latest.metadata.resource_version
        body = canonical_json({"metadata": preconditions, "status": patch})
        answer = await self._client.patch_status(self._resource, "", latest.metadata.name, body)
        written = replace(latest, metadata=object_meta(answer.metadata), status=status)
        if written.metadata.generation == latest.metadata.generation:
            self._cache.put(written)
        return written


def merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The merge patch (RFC 7386) that makes `new` of `old`."""
    patch: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        known = old.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            nested = merge_patch(known, value)
            if nested:
                patch[name] = nested
        elif value != known:
            patch[name] = value
    return patch


def is_too_large(error: ApiError) -> bool:
    """Whether the server refused an object for its size: as a whole, or one of its strings."""
    return isinstance(error, TooLargeError) or any(cause.reason == _STRING_TOO_LONG for cause in error.causes)


async def add_finalizer(client: Client, resource: Resource, metadata: ObjectMeta, finalizer: str) -> ObjectMeta:
    """The metadata after it."""
    return await _write_finalizers(client, resource, metadata, (*metadata.finalizers, finalizer))


async def remove_finalizer(client: Client, resource: Resource, metadata: ObjectMeta, finalizer: str) -> None:
    try:
        others = tuple(one for one in metadata.finalizers if one != finalizer)
        await _write_finalizers(client, resource, metadata, others)
    except NotFoundError:
        return


async def _write_finalizers(
    client: Client, resource: Resource, metadata: ObjectMeta, finalizers: tuple[str, ...]
) -> ObjectMeta:
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": metadata.uid},
        {"op": "add", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
        {"op": "add", "path": "/metadata/finalizers", "value": list(finalizers)},
    ]
    answer = await client.patch(resource, "", metadata.name, canonical_json(patch), content_type=JSON_PATCH)
    return object_meta(answer.metadata)


def object_meta(metadata: Metadata) -> ObjectMeta:
    """Answered metadata in the API's own type."""
    return ObjectMeta(
        name=metadata.name,
        uid=metadata.uid,
        generation=metadata.generation,
        resource_version=metadata.resource_version,
        creation_timestamp=metadata.creation_timestamp,
        deletion_timestamp=metadata.deletion_timestamp,
        labels=metadata.labels,
        annotations=metadata.annotations,
        finalizers=tuple(metadata.finalizers),
        owner_references=tuple(metadata.owner_references),
    )

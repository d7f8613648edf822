"""Objects that have ended and are deleted without us: Jobs with a time to live, and Pods.

They are recorded while they are there. Once they are gone they count as done, as long as the content asks for exactly
what was applied: what was created again would run again, for ever.
"""

from collections.abc import Collection, Iterable, Mapping

from rukpak_py.api.bundle_deployment import COMPLETED, CompletedObject
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.core.objects import ObjectKey

Completed = tuple[CompletedObject, ...]


def key_of(entry: CompletedObject) -> ObjectKey:
    return ObjectKey(entry.group, entry.kind, entry.namespace, entry.name)


def done_and_gone(completed: Completed, owned: Collection[ObjectKey]) -> set[ObjectKey]:
    return {key for key in map(key_of, completed) if key not in owned}


def done(completed: Completed, desired: Iterable[Desired], owned: Collection[ObjectKey]) -> set[ObjectKey]:
    """What of this content has run and is gone."""
    gone = {key_of(entry): entry.applied for entry in completed if key_of(entry) not in owned}
    return {one.key for one in desired if gone.get(one.key) in {one.payload.digest, one.payload_when_taken.digest}}


def completed_now(
    former: Completed, owned: Mapping[ObjectKey, ObservedObject], still_done: Collection[ObjectKey] | None
) -> Completed:
    """`still_done`: what of the content is gone and counts as done; None: the content is the same as before."""
    stays = [
        entry for entry in former if key_of(entry) not in owned and (still_done is None or key_of(entry) in still_done)
    ]
    ended = [_entry(live) for live in owned.values() if live.health is not None and live.health.may_go and live.applied]
    recorded = [*stays, *sorted(ended, key=key_of)][:COMPLETED]  # without its entry, what is gone would run again
    return tuple(sorted(recorded, key=key_of))


def _entry(live: ObservedObject) -> CompletedObject:
    key = live.key
    return CompletedObject(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name, applied=live.applied)

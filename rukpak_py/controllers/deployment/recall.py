"""After a restart: what the status and the cluster prove about what an earlier process applied.

The status says which content was installed last, with which options, and one hash over its objects. When the objects
that the watches show give the same hash, nothing drifted while nobody looked, whatever is wanted by now.
When something did, the digests on the objects still say whose content they are of.
"""

from collections.abc import Collection, Iterable, Mapping

from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.removed_objects import without_kept
from rukpak_py.controllers.deployment.applied_digest import proves
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.core.objects import ObjectKey


def recall(active: Attempt | None, owned: Mapping[ObjectKey, ObservedObject]) -> bool:
    """From the first list alone. `active`: an attempt with what the history says is installed."""
    if active is None:
        return False
    kept = active.installed.kept if active.installed is not None else ()
    return _trust_if_proven(active, [*without_kept(owned, kept).values()])


def recall_from_content(
    active: Attempt, wanted: Collection[ObjectKey], owned: Mapping[ObjectKey, ObservedObject], *, is_wanted: bool
) -> bool:
    """The same where more is there than was applied: what left the content and was not pruned yet.

    While other content is wanted (`is_wanted` False), it may be of half an upgrade, and is not pruned as drift then.
    """
    is_proven = _trust_if_proven(active, [live for key, live in owned.items() if key in wanted])
    kept = active.installed.kept if active.installed is not None else ()
    if is_proven and not is_wanted and not without_kept(owned, kept).keys() <= set(wanted):
        active.state.content = active.state.untouched = None
    return is_proven


def recall_untouched(active: Attempt, desired: Iterable[Desired], owned: Mapping[ObjectKey, ObservedObject]) -> None:
    """What drifted is no half upgrade while every object was last applied as the active content has it."""
    installed = active.installed
    if installed is None or installed.digest != active.bundle.status.digest:
        return
    forms = {one.key: {one.payload.digest, one.payload_when_taken.digest} for one in desired}
    lives = without_kept(owned, installed.kept)
    if lives and all(live.applied in forms.get(key, ()) for key, live in lives.items()):
        active.state.untouched = active.content


def _trust_if_proven(active: Attempt, lives: list[ObservedObject]) -> bool:
    installed = active.installed
    if installed is None or installed.digest != active.bundle.status.digest:
        return False
    if not proves(installed.applied_digest, lives, active.content, with_uids=active.is_nondeterministic):
        return False
    active.state.trust(active.content, lives)
    return True

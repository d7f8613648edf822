"""Facts of a Bundle about an image that a node pulls in place of the operator: the registry's own answer first."""

from dataclasses import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import BundlePhase
from rukpak_py.controllers.bundle.state import BundleState, BundleStates
from rukpak_py.controllers.bundle.unpacking import ImageAwaited
from rukpak_py.controllers.result.bundle_details import ContentPending
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact


def told_of_image(bundle: Bundle, state: BundleState, found: ImageAwaited, now: float) -> tuple[Fact, ...]:
    """A refusal counts from its beginning, in whichever words the registry refuses. `now`: of the loop."""
    is_coming, phase = found.pod.cause is Cause.IMAGE_COMING, bundle.status.phase
    if found.direct is None or (is_coming and phase == BundlePhase.FAILING):  # a failure stays until news come
        pending = Fact(cause=Cause.IMAGE_PENDING, detail=ContentPending(source=bundle.spec.source.type))
        return (found.pod if phase or not is_coming else pending,)
    if not found.is_refused:
        state.refused_since = None
        return found.direct, found.pod
    if state.refused_since is None:
        state.refused_since = now
    return replace(found.direct, since=state.refused_since), found.pod


def still_told(bundle: Bundle, states: BundleStates) -> tuple[Fact, ...]:
    """Said again at each look, so that what lasts too long fails on time. A failure stands as it was told."""
    return states.of(bundle.metadata.uid).awaited if bundle.status.phase != BundlePhase.FAILING else ()

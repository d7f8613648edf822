"""What must stand in the status before the next step: whatever happens to this process, the next one knows of it.

Beside `conclude` nothing else makes a status.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import BUNDLE_DEPLOYMENT_CONDITIONS, Summary, complete, summarise
from rukpak_py.api.names import Reason
from rukpak_py.controllers.result.changes import changed
from rukpak_py.controllers.result.conclusion import Clock, KeyFacts
from rukpak_py.controllers.result.judged import Hide
from rukpak_py.controllers.result.progress import StatusChange


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """`ready`: what Ready says while it goes on. `is_request_open`: the latest request is still to be handled."""

    change: StatusChange
    ready: str
    is_request_open: bool = False


def recorded(
    before: BundleDeploymentStatus, step: Step, key: KeyFacts, clock: Clock, *, hide: Hide
) -> BundleDeploymentStatus:
    generation, now = key.generation, clock.timestamp()
    conditions = summarise(
        before.conditions,
        Summary.PROGRESSING,
        reason=Reason.DELETING if key.is_deleted else Reason.PROGRESSING,
        message=hide(step.ready),
        generation=generation,
        now=now,
    )
    return replace(
        changed(before, step.change, hide),
        conditions=complete(conditions, BUNDLE_DEPLOYMENT_CONDITIONS, generation=generation, now=now),
        observed_generation=generation,
        last_handled_reconcile_at=before.last_handled_reconcile_at if step.is_request_open else key.asked,
    )

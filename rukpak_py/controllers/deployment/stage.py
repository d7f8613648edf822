"""What a stage of a reconcile came to: what is to be reported, when the key comes back, and what brings it back
before.
"""

from dataclasses import dataclass, field, replace

from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import Reason
from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status import Report
from rukpak_py.controllers.outcome import Outcome, again

QUIET_SECONDS = 1.0  # a wait that usually ends at once is reported only when it lasts longer
LOOK_AGAIN_SECONDS = 30.0  # for what a watch should have ended


@dataclass(frozen=True, kw_only=True, slots=True)
class StageResult:
    """`report` None: nothing to say yet."""

    outcome: Outcome
    report: Report | None = None
    is_finished: bool = False  # applied, healthy and pruned: former Bundles may go
    wrote_nothing: bool = False  # refused before the first write: what is installed is untouched
    is_gone: bool = False  # the deployment itself: there is nothing to be said to anybody
    waits_for: WaitsFor = field(default_factory=WaitsFor)
    not_corrected: str = ""  # why what is installed cannot be kept as it was


def waiting_to_begin(state: DeploymentState, what: str, message: str, waits_for: WaitsFor | None = None) -> StageResult:
    """The same before anything was written."""
    return replace(waiting(state, what, message, waits_for), wrote_nothing=True)


def waiting(state: DeploymentState, what: str, message: str, waits_for: WaitsFor | None = None) -> StageResult:
    """A wait that a watch or a job ends. It is reported only when it lasts."""
    waits_for = waits_for or WaitsFor()
    left = QUIET_SECONDS - state.waited(what)
    if left > 0:
        return StageResult(outcome=again(left), waits_for=waits_for)
    report = Report(summary=Summary.PROGRESSING, reason=Reason.PROGRESSING, message=message)
    return StageResult(outcome=again(LOOK_AGAIN_SECONDS), report=report, waits_for=waits_for)

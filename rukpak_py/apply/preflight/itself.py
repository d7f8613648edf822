"""Gate: the content does not contain the deployment that installs it, or a Bundle of that deployment.

It would own itself: its content would write its spec, and the collector or a pruning would delete it with its objects.
"""

from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.core.wording import named


def contained(candidate: Candidate) -> Refusal | None:
    found = sorted(one.key for one in candidate.desired if one.key in candidate.itself)
    if not found:
        return None
    message = (
        f"the bundle contains {named(found)}, which installs it; remove it from the bundle, or give it another name"
    )
    return Refusal(kind=FailureKind.CONTENT, message=message)

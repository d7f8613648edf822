"""Gate: the APIs that the content says it needs are there, or the content brings them."""

from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.apply.wakes import kind_wakes
from rukpak_py.core.wording import joined


def missing(candidate: Candidate) -> Refusal | None:
    brought = {kind for one in candidate.desired for kind in one.defines}
    absent = [
        one for one in candidate.requirements if one.gvk.group_kind not in brought and not candidate.is_served(one.gvk)
    ]
    if not absent:
        return None
    text = joined(
        f"the bundle needs the kind {one.gvk.kind} ({one.gvk.api_version}), as {one.file} says, and the cluster does"
        " not serve it; install the operator that provides it"
        for one in absent
    )
    return Refusal(
        message=f"required resource not found: {text}",
        brief=text,
        kind=FailureKind.MISSING,
        wakes=kind_wakes(one.gvk.group_kind for one in absent),
    )

"""Gate: what the content asks of the signer of serving certificates can be had."""

from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.core.wording import joined


def wrong(candidate: Candidate) -> Refusal | None:
    if not candidate.wrong_certificates:
        return None
    return Refusal(
        message=joined(failure.message for failure in candidate.wrong_certificates),
        failure_kinds=frozenset(failure.kind for failure in candidate.wrong_certificates),
    )

"""Gate: what the content asks of the signer of serving certificates can be had."""

from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import RefusedObjects


def wrong(candidate: Candidate) -> RefusedObjects | None:
    if not candidate.wrong_certificates:
        return None
    return RefusedObjects(failures=tuple(candidate.wrong_certificates))

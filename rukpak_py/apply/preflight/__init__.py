"""The gates: each one check that must pass before the first write. Their order is the order of the preflight.

`BEFORE_LOOKING` are asked of the content alone and cost no call, so all of them are asked, and everything that any of
them refuses is named. The gates of a plan may cost calls: the first that refuses ends it.
"""

from rukpak_py.apply.preflight import certificates, kinds, namespaces, requirements
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal, merged

__all__ = ["BEFORE_LOOKING", "Candidate", "Refusal", "refusal_before_looking"]

BEFORE_LOOKING = (
    kinds.missing,
    kinds.not_storable,
    requirements.missing,
    namespaces.missing,
    certificates.wrong,
)


def refusal_before_looking(candidate: Candidate) -> Refusal | None:
    return merged([refusal for gate in BEFORE_LOOKING if (refusal := gate(candidate)) is not None])

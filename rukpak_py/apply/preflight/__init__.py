"""The gates: each one check that must pass before the first write, and none of them writes anything.

They are one list, in the order of the preflight. A gate is asked in its phase: of the content alone, of what looking
has shown, and last, when fields that the content drops are released, whether the server takes it. In each phase the
gates that cost no call are all asked, and everything that any of them refuses is named; of the others the first that
refuses ends it.
"""

from rukpak_py.apply.preflight import (
    certificates,
    dry_run,
    itself,
    kinds,
    namespaces,
    olm,
    ownership,
    requirements,
    still_exists,
)
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.gate import Gate, GatePhase, without_calls
from rukpak_py.apply.preflight.refusal import AnyRefusal, OwnerIsGone, Refusal, RefusedObjects, Untried

__all__ = [
    "GATES",
    "AnyRefusal",
    "Candidate",
    "Gate",
    "GatePhase",
    "OwnerIsGone",
    "Refusal",
    "RefusedObjects",
    "Untried",
]

GATES = (
    without_calls("itself", GatePhase.CONTENT, itself.contained),
    without_calls("kinds", GatePhase.CONTENT, kinds.missing),
    without_calls("storable kinds", GatePhase.CONTENT, kinds.not_storable),
    without_calls("requirements", GatePhase.CONTENT, requirements.missing),
    without_calls("namespaces", GatePhase.CONTENT, namespaces.missing),
    without_calls("certificates", GatePhase.CONTENT, certificates.wrong),
    without_calls("ownership", GatePhase.PLAN, ownership.refused),
    Gate(name="still exists", phase=GatePhase.PLAN, ask=still_exists.refusal),
    Gate(name="olm", phase=GatePhase.PLAN, ask=olm.refusal, holds=True),
    Gate(name="dry run", phase=GatePhase.DRY_RUN, ask=dry_run.refusal),
)

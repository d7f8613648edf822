"""The gates: each one check that must pass before the first write, and none of them writes anything.

They are one list, in the order of the preflight. A gate is asked in its phase: of the content alone, of what looking
has shown, and last, when fields that the content drops are released, whether the server takes it. In each phase the
gates that cost no call are all asked, and everything that any of them refuses is named; of the others the first that
refuses ends it.
"""

from rukpak_py.apply.preflight import crd_safety, gates, olm, permissions
from rukpak_py.apply.preflight.gate import (
    AnyRefusal,
    Candidate,
    Gate,
    GatePhase,
    OwnerIsGone,
    PassedWithWarnings,
    Refusal,
    RefusedObjects,
    Untried,
    without_calls,
)

__all__ = [
    "GATES",
    "PERMISSIONS",
    "AnyRefusal",
    "Candidate",
    "Gate",
    "GatePhase",
    "OwnerIsGone",
    "PassedWithWarnings",
    "Refusal",
    "RefusedObjects",
    "Untried",
]

PERMISSIONS = "permissions"
GATES = (
    without_calls("itself", GatePhase.CONTENT, gates.contains_itself),
    without_calls("kinds", GatePhase.CONTENT, gates.missing_kinds),
    without_calls("storable kinds", GatePhase.CONTENT, gates.unstorable_kinds),
    without_calls("requirements", GatePhase.CONTENT, gates.missing_requirements),
    without_calls("namespaces", GatePhase.CONTENT, gates.missing_namespaces),
    without_calls("certificates", GatePhase.CONTENT, gates.wrong_certificates),
    Gate(name=PERMISSIONS, phase=GatePhase.CONTENT, ask=permissions.lacking_permissions, holds=True),
    without_calls("ownership", GatePhase.PLAN, gates.names_of_others),
    Gate(name="still exists", phase=GatePhase.PLAN, ask=gates.deployment_is_gone),
    Gate(name="olm", phase=GatePhase.PLAN, ask=olm.managed_elsewhere, holds=True),
    Gate(name="CRD safety", phase=GatePhase.PLAN, ask=crd_safety.unsafe_crds, holds=True),
    Gate(name="dry run", phase=GatePhase.DRY_RUN, ask=gates.refused_by_server),
)

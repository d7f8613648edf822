"""Gate: every namespace that objects go to is there, or the content brings it."""

from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal, WaitsFor
from rukpak_py.apply.results import FailureKind
from rukpak_py.kube.resources import NAMESPACES


def missing(candidate: Candidate) -> Refusal | None:
    brought = {one.key.name for one in candidate.desired if one.head.gvk.group_kind == NAMESPACES.group_kind}
    needed = {one.key.namespace for one in candidate.desired if one.key.namespace} - brought
    absent = sorted(name for name in needed if not candidate.has_namespace(name))
    if not absent:
        return None
    names = ", ".join(f'namespaces "{name}" not found' for name in absent)
    message = (
        f"required resource not found: {names}; create what is missing, add it to the bundle, "
        "or set spec.installNamespace and spec.createNamespace"
    )
    return Refusal(
        message=message,
        failure_kinds=frozenset({FailureKind.MISSING}),
        waits_for=WaitsFor(namespaces=frozenset(absent)),
    )

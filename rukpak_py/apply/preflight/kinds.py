"""Gate: the cluster has every kind that the content needs, or the content brings it; and it can store objects of it."""

from rukpak_py.apply.kinds import missing_kinds_brief, missing_kinds_text
from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.apply.wakes import kind_wakes

NEEDED_VERBS = frozenset({"get", "list", "watch", "create", "patch", "delete"})


def missing(candidate: Candidate) -> Refusal | None:
    heads = candidate.resolution.missing
    if not heads:
        return None
    broken = {candidate.broken_service(head.gvk.group) for head in heads}
    return Refusal(
        message="\n".join([missing_kinds_text(heads), *filter(None, sorted(broken))]),
        brief=missing_kinds_brief(heads, candidate.broken_service),
        kind=FailureKind.MISSING,
        wakes=kind_wakes(head.gvk.group_kind for head in heads),
    )


def not_storable(candidate: Candidate) -> Refusal | None:
    """Kinds that the server answers but does not store: nothing of them can be installed."""
    offered = candidate.resolution.resources.values()  # without verbs: a kind that only the content has so far
    found = [one for one in offered if one.verbs and not one.verbs >= NEEDED_VERBS]
    if not found:
        return None
    kinds = ", ".join(sorted(f'"{one.gvk.kind}" in version "{one.gvk.api_version}"' for one in found))
    message = f"objects of the kind {kinds} are not stored by the API server; remove them from the bundle"
    return Refusal(kind=FailureKind.CONTENT, message=message)

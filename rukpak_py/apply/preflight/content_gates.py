"""Gates of the content alone, asked before anything of the cluster is looked at. None of them costs a call."""

from rukpak_py.apply.kinds import missing_kinds_brief, missing_kinds_text
from rukpak_py.apply.preflight.gate import Candidate, Refusal, RefusedObjects
from rukpak_py.apply.results import FailureKind, kind_wakes, namespace_wake
from rukpak_py.core.text import joined, named
from rukpak_py.kube.resources import NAMESPACES

NEEDED_VERBS = frozenset({"get", "list", "watch", "create", "patch", "delete"})
NOT_FOUND = "required resource not found: "
NAMED = 3  # objects that need a namespace, in a message


def contains_itself(candidate: Candidate) -> Refusal | None:
    """The content contains the deployment that installs it, or a Bundle of that deployment.

    It would own itself: its content would write its spec, and the collector or a pruning would delete it with its
    objects.
    """
    found = sorted(one.key for one in candidate.desired if one.key in candidate.itself)
    if not found:
        return None
    message = (
        f"the bundle contains {named(found)}, which installs it; remove it from the bundle, or give it another name"
    )
    return Refusal(kind=FailureKind.CONTENT, message=message)


def missing_kinds(candidate: Candidate) -> Refusal | None:
    """Kinds that the cluster does not have and the content does not bring."""
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


def unstorable_kinds(candidate: Candidate) -> Refusal | None:
    """Kinds that the server answers but does not store: nothing of them can be installed."""
    offered = candidate.resolution.resources.values()  # without verbs: a kind that only the content has so far
    found = [one for one in offered if one.verbs and not one.verbs >= NEEDED_VERBS]
    if not found:
        return None
    kinds = ", ".join(sorted(f'"{one.gvk.kind}" in version "{one.gvk.api_version}"' for one in found))
    message = f"objects of the kind {kinds} are not stored by the API server; remove them from the bundle"
    return Refusal(kind=FailureKind.CONTENT, message=message)


def missing_requirements(candidate: Candidate) -> Refusal | None:
    """APIs that the content says it needs, and that neither the cluster nor the content has."""
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
        message=NOT_FOUND + text,
        brief=text,
        kind=FailureKind.MISSING,
        wakes=kind_wakes(one.gvk.group_kind for one in absent),
    )


def wrong_certificates(candidate: Candidate) -> RefusedObjects | None:
    """Serving certificates that the content asks for and the signer cannot make."""
    if not candidate.wrong_certificates:
        return None
    return RefusedObjects(failures=tuple(candidate.wrong_certificates))


def missing_namespaces(candidate: Candidate) -> Refusal | None:
    """Namespaces that objects go to, and that neither the cluster nor the content has."""
    brought = {one.key.name for one in candidate.desired if one.head.gvk.group_kind == NAMESPACES.group_kind}
    needed = {one.key.namespace for one in candidate.desired if one.key.namespace} - brought
    needed.discard(candidate.makes_namespace)
    absent = sorted(name for name in needed if not candidate.has_namespace(name))
    if not absent:
        return None
    text = joined(_text(candidate, name) for name in absent)
    return Refusal(
        message=NOT_FOUND + text,
        brief=text,
        kind=FailureKind.MISSING,
        wakes=frozenset(map(namespace_wake, absent)),
    )


def _text(candidate: Candidate, namespace: str) -> str:
    keys = sorted(one.key for one in candidate.desired if one.key.namespace == namespace)
    needed_by = named(keys, NAMED)
    return f'Namespace "{namespace}" not found (needed by {needed_by}); {_advice(candidate, namespace)}'


def _advice(candidate: Candidate, namespace: str) -> str:
    ways = ["create it"]
    if candidate.may_bring_namespaces:
        ways.append("add it to the bundle")
    if namespace == candidate.install_namespace:
        ways += ["set spec.createNamespace: true", "change spec.installNamespace"]
    elif namespace in candidate.watch_namespaces:
        ways.append("change spec.watchNamespaces")
    *others, last = ways
    comma = "," if len(others) > 1 else ""
    return f"{', '.join(others)}{comma} or {last}" if others else last

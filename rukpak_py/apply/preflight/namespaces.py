"""Gate: every namespace that objects go to is there, or the content brings it."""

from rukpak_py.apply.preflight.candidate import Candidate
from rukpak_py.apply.preflight.refusal import Refusal
from rukpak_py.apply.results import FailureKind
from rukpak_py.apply.wakes import namespace_wake
from rukpak_py.core.wording import joined, named
from rukpak_py.kube.resources import NAMESPACES

NOT_FOUND = "required resource not found: "
NAMED = 3  # objects that need a namespace, in a message


def missing(candidate: Candidate) -> Refusal | None:
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

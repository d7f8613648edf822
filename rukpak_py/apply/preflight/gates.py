"""The gates, but that of OLM.

Those of the content are asked before anything of the cluster is looked at, and cost no call. Those of the plan know
what is live, or ask the API server.
"""

from rukpak_py.apply.kinds import missing_kinds_brief, missing_kinds_text
from rukpak_py.apply.ownership import belongs_to_deployment
from rukpak_py.apply.plan import Action, Change, Plan
from rukpak_py.apply.preflight.gate import Candidate, OwnerIsGone, Refusal, RefusedObjects, Untried
from rukpak_py.apply.results import FailureKind, kind_wakes, namespace_wake
from rukpak_py.apply.trying_out import not_checkable
from rukpak_py.core.objects import RBAC_GROUP, ObjectKey
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
    return Refusal(kind=FailureKind.CONTENT, message=message, objects=tuple(found))


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
        objects=tuple(sorted(head.key for head in heads)),
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
    stuck = {one.gvk for one in found}
    objects = tuple(sorted(one.key for one in candidate.desired if one.head.gvk in stuck))
    return Refusal(kind=FailureKind.CONTENT, message=message, objects=objects)


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
        objects=tuple(NAMESPACES.key("", name) for name in absent),
        wakes=frozenset(map(namespace_wake, absent)),
    )


def _text(candidate: Candidate, namespace: str) -> str:
    keys = sorted(one.key for one in candidate.desired if one.key.namespace == namespace)
    needed_by = named(keys, NAMED)
    return f"Namespace {namespace} not found (needed by {needed_by}); {_advice(candidate, namespace)}"


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


def names_of_others(candidate: Candidate) -> Refusal | None:
    """Names that the content wants and another owner has, all of them.

    A name that is free for a moment counts when no other is refused.
    """
    changes, owners = candidate.plan.refused, candidate.returning
    if changes:
        return _conflict(joined(change.reason for change in changes), {change.key for change in changes})
    if owners:
        return _conflict(joined(belongs_to_deployment(key, owners[key]) for key in sorted(owners)), set(owners))
    return None


def created_keys(plan: Plan) -> list[ObjectKey]:
    return [change.key for change in plan.changes if change.action is Action.CREATE]


def _conflict(message: str, keys: set[ObjectKey]) -> Refusal:
    return Refusal(kind=FailureKind.CONFLICT, message=message, objects=tuple(sorted(keys)), wakes=frozenset(keys))


async def deployment_is_gone(candidate: Candidate) -> OwnerIsGone | None:
    """Asks whether the deployment itself exists when something that it had is missing or has lost its owner.

    The collector deletes the objects of a deployment that is gone, and their watches may say so before its own does.
    What is created with its uid then would be collected at once, and created again, for ever.
    """
    plan = candidate.plan
    lost, created = [change for change in plan.changes if _lost_its_owner(change)], created_keys(plan)
    if not lost and not created:
        return None
    is_doubtful = bool(lost) or any(map(candidate.had, created))
    return None if await candidate.still_exists(is_doubtful) else OwnerIsGone()


def _lost_its_owner(change: Change) -> bool:
    """Ours by its labels alone. Of a deployment that is deleted with `orphan` this is seen before the deletion is; to
    give the owner back then would hand the object to the collector.
    """
    return change.action is Action.TAKE and change.live is not None and bool(change.live.labelled_for)


async def refused_by_server(candidate: Candidate) -> RefusedObjects | Untried | None:
    """Refuse an upgrade unless the server takes all that changed. Nothing is changed while it refuses anything.

    Of a first install only roles and bindings are tried out, for an account: the server refuses those that grant more
    than the account has, and half of the content would be there by then.
    """
    plan, has_account = candidate.plan, candidate.has_account
    cannot_tell = not_checkable(plan, makes_namespace=candidate.makes_namespace, has_account=has_account)
    if not candidate.is_upgrade and (not has_account or candidate.is_installed):
        return None

    def skip(change: Change) -> bool:
        is_left_to_install = not candidate.is_upgrade and change.key.group != RBAC_GROUP
        return is_left_to_install or cannot_tell(change)

    found = await candidate.dry_run(plan, skip)
    if found.failures:
        return RefusedObjects(failures=found.failures)
    return Untried(keys=found.untried) if found.untried else None

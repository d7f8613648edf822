"""Rights that reach further than they look: what the Kubernetes documentation calls ways to gain privileges.

A right is called out when it allows one of the listed things on objects of every name. Wildcards are called out as
such; the right to everything is called out once, and not again as all that it includes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rukpak_py.cli.rbac.rights import ALL, Right

_READ = ("get", "list", "watch")
_WRITE = ("create", "update", "patch")
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_WORKLOADS = (
    ("", "pods"),
    ("", "replicationcontrollers"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
)
_ROLES = ((_RBAC, "clusterroles"), (_RBAC, "roles"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Danger:
    id: str
    text: str
    verbs: tuple[str, ...]
    resources: tuple[tuple[str, str], ...]
    also_named: bool = False  # a danger even when it is restricted to objects of some names

    def shows_in(self, right: Right) -> bool:
        if (right.name and not self.also_named) or right.verb not in {ALL, *self.verbs}:
            return False
        return any(
            right.group in {ALL, group} and _covers(right.resource, resource) for group, resource in self.resources
        )


def _covers(allowed: str, resource: str) -> bool:
    _, slash, below = resource.partition("/")
    return allowed in {ALL, resource} or (bool(slash) and allowed == f"{ALL}/{below}")


DANGERS = (
    Danger(
        id="secrets",
        text="reads every Secret: passwords, keys, tokens of accounts",
        verbs=_READ,
        resources=(("", "secrets"),),
    ),
    Danger(
        id="escalate",
        text="writes roles with more rights than it has",
        verbs=("escalate",),
        resources=_ROLES,
        also_named=True,
    ),
    Danger(id="bind", text="gives roles that it does not hold", verbs=("bind",), resources=_ROLES, also_named=True),
    Danger(
        id="impersonate",
        text="acts as somebody else",
        verbs=("impersonate",),
        resources=(("", "users"), ("", "groups"), ("", "serviceaccounts"), ("authentication.k8s.io", "uids")),
        also_named=True,
    ),
    Danger(
        id="tokens",
        text="makes tokens of other accounts",
        verbs=("create",),
        resources=(("", "serviceaccounts/token"),),
    ),
    Danger(
        id="exec",
        text="runs commands in containers of others",
        verbs=("get", *_WRITE),
        resources=(("", "pods/exec"), ("", "pods/attach"), ("", "pods/ephemeralcontainers")),
    ),
    Danger(
        id="workloads",
        text="runs pods, with any account and any Secret of their namespace",
        verbs=_WRITE,
        resources=_WORKLOADS,
    ),
    Danger(
        id="privileged",
        text="lifts restrictions of pods",
        verbs=("use",),
        resources=(("security.openshift.io", "securitycontextconstraints"), ("policy", "podsecuritypolicies")),
        also_named=True,
    ),
    Danger(
        id="nodes",
        text="speaks to the kubelet: runs commands in every pod of a node",
        verbs=("get", "create"),
        resources=(("", "nodes/proxy"),),
    ),
    Danger(
        id="volumes",
        text="makes volumes of a node's own files",
        verbs=("create",),
        resources=(("", "persistentvolumes"),),
    ),
    Danger(
        id="webhooks",
        text="reads and changes what others send to the API server",
        verbs=_WRITE,
        resources=((_ADMISSION, "mutatingwebhookconfigurations"), (_ADMISSION, "validatingwebhookconfigurations")),
    ),
    Danger(
        id="apiservices",
        text="answers for other APIs",
        verbs=_WRITE,
        resources=(("apiregistration.k8s.io", "apiservices"),),
    ),
    Danger(
        id="certificates",
        text="approves client certificates",
        verbs=("update", "patch"),
        resources=(("certificates.k8s.io", "certificatesigningrequests/approval"),),
    ),
    Danger(
        id="namespaces",
        text="labels namespaces, and so switches pod security off",
        verbs=("update", "patch"),
        resources=(("", "namespaces"),),
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    id: str
    text: str
    scope: str
    rights: list[Right] = field(default_factory=list)


_ORDER = ["everything", "wildcard", *(danger.id for danger in DANGERS)]


def alarms_of(rights: Iterable[Right]) -> list[Alarm]:
    """What stands out, each with the rights that it comes from."""
    found: dict[tuple[str, str], Alarm] = {}
    for right in sorted(rights):
        for alarm_id, text in _dangers_of(right):
            alarm = Alarm(id=alarm_id, text=text, scope=right.scope)
            found.setdefault((alarm_id, right.scope), alarm).rights.append(right)
    return sorted(found.values(), key=lambda alarm: (_ORDER.index(alarm.id), alarm.scope))


def _dangers_of(right: Right) -> Iterator[tuple[str, str]]:
    if (right.verb, right.group, right.resource) == (ALL, ALL, ALL):
        yield "everything", "may do everything"
        return
    if right.has_wildcard:
        yield "wildcard", "has wildcards, which include what will be added later"
    for danger in DANGERS:
        if danger.shows_in(right):
            yield danger.id, danger.text

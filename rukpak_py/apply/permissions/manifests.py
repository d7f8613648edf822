"""Manifests that give an account permissions: what `kubectl apply -f -` takes, in the order in which it takes it.

The account comes with its namespace. A Role can only be written in a namespace that exists, so the other namespaces
come, too. One that the content brings has no mark of its BundleDeployment, which has to adopt it: where it is there
already, a mark would hand the namespace of another user over.

The operator of mode narrow needs rights of its own to watch what is installed: a ClusterRole, which counts by its
label, and a Role in each namespace with Secrets, which is bound to the operator's account.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from rukpak_py.api.accounts import Account
from rukpak_py.api.names import WATCH_ROLE_LABEL
from rukpak_py.apply.permissions.permission import mapping, text
from rukpak_py.core.objects import RBAC_GROUP, canonical_json

Json = dict[str, Any]
RulesByScope = Mapping[str, list[Json]]

EVERYWHERE = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})  # namespaces of every cluster


def roles_for(rules: RulesByScope, *, name: str, account: Account | None = None) -> list[Json]:
    """A ClusterRole and a Role per namespace, with their bindings when an account is given."""
    return [manifest for scope, listed in rules.items() for manifest in _role(scope, listed, name, account)]


def name_for_missing(deployment: str, *rules: RulesByScope) -> str:
    """Name of roles with what is missing. By other rules it is another: they take nothing away that was granted so."""
    written = b"".join(canonical_json(dict(one)) for one in rules if one)
    return f"{deployment}-{sha256(written).hexdigest()[:8]}"


def account_with_roles(
    rules: RulesByScope,
    *,
    name: str,
    account: Account,
    watched: RulesByScope = MappingProxyType({}),
    operator: Account | None = None,
) -> list[Json]:
    """The same with the account, the namespaces that are needed, and the rights of the operator to watch."""
    return [
        *_namespaces([account.namespace, *rules, *watched]),
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": account.name, "namespace": account.namespace},
        },
        *roles_for(rules, name=name, account=account),
        *_watch_roles(watched, f"{name}-watch", operator),
    ]


def _watch_roles(watched: RulesByScope, name: str, operator: Account | None) -> list[Json]:
    """The ClusterRole is not bound: its rules become those of the role by which the operator watches."""
    labelled = {"metadata": {"name": name, "labels": {WATCH_ROLE_LABEL: "true"}}}
    return [
        *(one | labelled for one in roles_for({"": watched[""]} if "" in watched else {}, name=name)),
        *roles_for({scope: rules for scope, rules in watched.items() if scope}, name=name, account=operator),
    ]


def brought_namespaces(objects: Iterable[Json]) -> frozenset[str]:
    return frozenset(
        text(mapping(one.get("metadata")).get("name"))
        for one in objects
        if (one.get("apiVersion"), one.get("kind")) == ("v1", "Namespace")
    )


def _namespaces(scopes: Iterable[str]) -> Iterator[Json]:
    for name in sorted({*scopes} - EVERYWHERE - {""}):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _role(scope: str, rules: list[Json], name: str, account: Account | None) -> Iterator[Json]:
    kind = "Role" if scope else "ClusterRole"
    metadata = {"name": name, "namespace": scope} if scope else {"name": name}
    yield {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    if account is not None:
        yield {
            "apiVersion": f"{RBAC_GROUP}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
        }

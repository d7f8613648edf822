"""Facts about a cluster and an installation in it, as its API server answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.policies.installation import Installation
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.cli.checks.results import Answer, Json, Seen, Unread
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import Resource


@dataclass(frozen=True, kw_only=True)
class ServerFacts:
    major: str
    minor: str  # of some providers with a plus behind it
    version: str
    now: datetime  # by the clock of the API server
    served: frozenset[GroupVersionKind]


@dataclass(frozen=True, kw_only=True)
class BeforeFacts:
    """Facts about a cluster into which the operator shall be installed."""

    server: ServerFacts
    installation: Installation
    missing: Mapping[str, list[Json]] | Unread  # rules that the caller lacks, by scope
    accepted: Mapping[ObjectKey, str | Unread]  # policies, created in a dry run; empty: the API server takes it
    existing: Mapping[ObjectKey, Metadata | Unread | None]  # objects outside of the system namespace
    crds: Mapping[ObjectKey, Seen]
    operators: Sequence[Metadata] | Unread  # Deployments of operators, in every namespace
    lease: Seen  # of the operator that claims the cluster


@dataclass(frozen=True, kw_only=True)
class WatchedKind:
    """A kind that a BundleDeployment owns objects of. `namespace`: where it is watched; empty: everywhere."""

    resource: Resource
    namespace: str


@dataclass(frozen=True, kw_only=True)
class WebhookFacts:
    configuration: Seen
    service: Seen
    slices: Sequence[Json] | Unread  # EndpointSlices of the Service
    authority: Seen  # Secret rukpak-ca
    serving: Seen  # Secret rukpak-serving


@dataclass(frozen=True, kw_only=True)
class AfterFacts:
    """Facts about an installed operator."""

    server: ServerFacts
    installation: Installation
    deployment: Seen
    crds: Mapping[ObjectKey, Seen]
    lease: Seen
    policies: Mapping[ObjectKey, str | Unread]  # what is wrong with a policy or binding; empty: it is as shipped
    probes: Mapping[str, str | Unread]  # why a kind is not guarded, by its plural; empty: the API server refuses
    rights: Mapping[Permission, Answer]  # that the operator needs
    may_do_everything: Answer
    watch_roles: Sequence[Json] | Unread
    webhook: WebhookFacts
    bundle_deployments: Sequence[BundleDeployment] | Unread
    accounts: Mapping[Account, Answer]  # of BundleDeployments, and the default one: whether they exist
    impersonated: Mapping[Account, Answer]  # of BundleDeployments: whether the operator may act as them
    watched: Mapping[tuple[str, WatchedKind], Answer] | Unread  # by BundleDeployment: whether the operator may

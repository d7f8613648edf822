"""Requests of an operator with a user of its own, as the audit log has them: with whose rights each was sent.

The operator has every right, so a request that it would send with its own rights succeeds, and shows. What it may send
so stands in a table, with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from e2e.cluster.audit import AuditedRequest, audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import GROUP, OPERATOR_ACCOUNT
from rukpak_py.api.policies.document import PROBE


@dataclass(frozen=True, kw_only=True)
class OwnRight:
    """Requests that the operator sends with its own rights."""

    verbs: Sequence[str]
    resource: str  # with its group; a star: any
    reason: str
    in_system: bool = False  # only in the system namespace
    name: str = ""  # of the only object

    def covers(self, request: AuditedRequest, system: str) -> bool:
        resource = f"{request.resource}.{request.group}" if request.group else request.resource
        return (
            request.verb in self.verbs
            and self.resource in {"*", resource}
            and (not self.in_system or request.namespace == system)
            and self.name in {"", request.name}
        )


GUARDS = "whether the policies stand guard"
OWN_RIGHTS = (
    OwnRight(verbs=("watch",), resource="*", reason="watches serve objects that carry the uid of a deployment of ours"),
    OwnRight(verbs=("create", "delete"), resource=f"bundles.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("patch",), resource=f"bundles/status.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("get", "list"), resource=f"bundles.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("get", "list", "patch"), resource=f"bundledeployments.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("patch",), resource=f"bundledeployments/status.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("list",), resource=f"bundleinstances.{GROUP}", reason="our own kind"),
    OwnRight(verbs=("create", "patch"), resource="events", reason="Events about our own kinds"),
    OwnRight(verbs=("create", "patch"), resource="events.events.k8s.io", reason="Events about our own kinds"),
    OwnRight(verbs=("get", "list"), resource="configmaps", reason="content of Bundles", in_system=True),
    OwnRight(verbs=("get", "list", "create", "patch"), resource="secrets", reason="keys", in_system=True),
    OwnRight(verbs=("get", "list"), resource="serviceaccounts", reason="pull secrets of Bundles", in_system=True),
    OwnRight(
        verbs=("get", "patch"),
        resource="customresourcedefinitions.apiextensions.k8s.io",
        reason="its claim of the cluster, on the CRD of BundleDeployments",
    ),
    OwnRight(
        verbs=("get", "create", "patch"),
        resource="validatingwebhookconfigurations.admissionregistration.k8s.io",
        reason="its own webhooks",
    ),
    OwnRight(verbs=("get",), resource="validatingadmissionpolicies.admissionregistration.k8s.io", reason=GUARDS),
    OwnRight(verbs=("get",), resource="validatingadmissionpolicybindings.admissionregistration.k8s.io", reason=GUARDS),
    OwnRight(verbs=("create",), resource=f"bundledeployments.{GROUP}", reason=GUARDS, name=PROBE),
    OwnRight(verbs=("get",), resource="serviceaccounts", reason="whether the account exists"),
    OwnRight(verbs=("list",), resource="namespaces", reason="first look at a watched kind"),
    OwnRight(verbs=("get",), resource="endpointslices.discovery.k8s.io", reason="addresses of the API server"),
)


@dataclass(kw_only=True)
class Watcher:
    """The requests of the operator since the last look."""

    plane: ControlPlane
    system: str
    account: Account
    seen: int = 0

    def requests(self) -> list[AuditedRequest]:
        found = audited(self.plane.state, skip=self.seen)
        self.seen += len(found)
        operator = Account(self.system, OPERATOR_ACCOUNT).user
        return [one for one in found if one.user == operator and one.resource]

    def written_as_account(self) -> set[tuple[str, str]]:
        """Verbs and names of what was written. No request had other rights than those that are explained."""
        requests = self.explained()
        return {(one.verb, one.name) for one in requests if one.account and one.is_write and not one.is_dry_run}

    def written_outside(self, namespace: str) -> list[str]:
        """Writes as the account that succeeded elsewhere. No request had rights that are not explained."""
        requests = self.explained()
        return [
            str(one)
            for one in requests
            if one.account and one.is_write and not one.is_dry_run and one.code < 300 and one.namespace != namespace
        ]

    def explained(self) -> list[AuditedRequest]:
        """All requests: none of them had other rights than the account's, or the operator's for a known reason."""
        requests = self.requests()
        own = [one for one in requests if not one.account]
        unexplained = [str(one) for one in own if not any(row.covers(one, self.system) for row in OWN_RIGHTS)]
        assert unexplained == [], unexplained
        accounts = {one.account for one in requests} - {"", self.account.user}
        assert accounts == set(), accounts
        return requests

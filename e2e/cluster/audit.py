"""The audit log of a built cluster's API server: a line for each request that has ended, without bodies.

    plane = ControlPlane.start(directory, audit=True)
    [one for one in audited(plane.state) if one.account == "system:serviceaccount:apps:installer"]

The server writes a line before it ends the request, watches excepted. Lines are in the order in which requests ended.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from e2e.cluster.errors import ClusterError
from e2e.cluster.state import StateDir

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitManagedFields": True,
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "None", "userGroups": ["system:nodes"]},
        {"level": "None", "users": ["system:apiserver", "system:kube-scheduler"]},
        {"level": "Metadata"},
    ],
}
MEGABYTES = 10_000  # a log is never rotated: the cluster goes before it is so large
FORBIDDEN = 403


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditedRequest:
    verb: str
    group: str
    resource: str  # with its subresource: `pods/exec`; empty: the request is for a URL
    namespace: str
    name: str
    path: str  # with the query
    code: int
    user: str  # who was authenticated ...
    account: str  # ... and the user whose rights the request had; empty: its own
    agent: str
    received: str  # RFC 3339, with microseconds

    @classmethod
    def of(cls, event: dict[str, Any]) -> Self:
        target = event.get("objectRef", {})
        below = f"/{target['subresource']}" if target.get("subresource") else ""
        return cls(
            verb=event["verb"],
            group=target.get("apiGroup", ""),
            resource=target.get("resource", "") + below,
            namespace=target.get("namespace", ""),
            name=target.get("name", ""),
            path=event["requestURI"],
            code=event.get("responseStatus", {}).get("code", 0),
            user=event["user"].get("username", ""),
            account=event.get("impersonatedUser", {}).get("username", ""),
            agent=event.get("userAgent", ""),
            received=event["requestReceivedTimestamp"],
        )

    @property
    def is_write(self) -> bool:
        """Whether it may change anything: reviews, which are created, are questions."""
        return self.verb not in {"get", "list", "watch"} and not self.resource.endswith("reviews")

    @property
    def is_dry_run(self) -> bool:
        return "dryRun=All" in self.path

    @property
    def is_forbidden(self) -> bool:
        return self.code == FORBIDDEN

    def __str__(self) -> str:
        place = "/".join(filter(None, (self.namespace, self.name)))
        dry = " (dry run)" if self.is_dry_run else ""
        return f"{self.verb} {self.resource or self.path} {place}{dry} by {self.account or self.user}: {self.code}"


def audited(state: StateDir, *, skip: int = 0) -> list[AuditedRequest]:
    """All requests so far, without the first `skip` of them."""
    return list(_requests(state))[skip:]


def _requests(state: StateDir) -> Iterator[AuditedRequest]:
    if not state.audit_log.exists():
        raise ClusterError(f"the cluster in {state.path} has no audit log: `up --audit` makes one")
    with state.audit_log.open() as lines:
        for line in lines:
            if line.endswith("\n"):  # else it is being written
                yield AuditedRequest.of(json.loads(line))

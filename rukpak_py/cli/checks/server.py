"""Judgments about the API server: its version, and the kinds that the operator needs it to serve."""

import re
from collections.abc import Iterator

from rukpak_py.cli.checks.facts import ServerFacts
from rukpak_py.cli.checks.results import Check, CheckResult, Section
from rukpak_py.core.objects import ADMISSION_GROUP, RBAC_GROUP, GroupVersionKind

OLDEST = (1, 30)
TESTED = (1, 35)
NEEDED = (
    GroupVersionKind(ADMISSION_GROUP, "v1", "ValidatingAdmissionPolicy"),
    GroupVersionKind(ADMISSION_GROUP, "v1", "ValidatingAdmissionPolicyBinding"),
    GroupVersionKind(ADMISSION_GROUP, "v1", "ValidatingWebhookConfiguration"),
    GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    GroupVersionKind("apiregistration.k8s.io", "v1", "APIService"),
    GroupVersionKind("apps", "v1", "Deployment"),
    GroupVersionKind("authentication.k8s.io", "v1", "TokenReview"),
    GroupVersionKind("authorization.k8s.io", "v1", "SelfSubjectRulesReview"),
    GroupVersionKind("authorization.k8s.io", "v1", "SubjectAccessReview"),
    GroupVersionKind("coordination.k8s.io", "v1", "Lease"),
    GroupVersionKind("discovery.k8s.io", "v1", "EndpointSlice"),
    GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"),
    GroupVersionKind(RBAC_GROUP, "v1", "ClusterRole"),
)
_VERSION = Check(Section.SERVER, "kubernetes-version")
_KINDS = Check(Section.SERVER, "kinds-served")


def check_server(server: ServerFacts) -> Iterator[CheckResult]:
    yield _version(server)
    missing = [one for one in NEEDED if one not in server.served]
    if not missing:
        yield _KINDS.ok("it serves every kind that the operator needs")
    for one in missing:
        yield _KINDS.error(
            f"it does not serve {one.kind} ({one.api_version})",
            "Switch this API on (flag --runtime-config of the API server), or upgrade Kubernetes.",
            one.kind,
        )


def _version(server: ServerFacts) -> CheckResult:
    oldest, tested = (".".join(map(str, one)) for one in (OLDEST, TESTED))
    parts = [re.match("[0-9]+", one) for one in (server.major, server.minor)]
    if not all(parts):
        text = f"the version {server.version or 'of the API server'} cannot be read"
        return _VERSION.warning(text, f"See that it is Kubernetes {oldest} or newer.")
    version = tuple(int(part[0]) for part in parts if part is not None)
    if version < OLDEST:
        return _VERSION.error(
            f"Kubernetes {server.version} is older than {oldest}",
            f"Upgrade Kubernetes to {oldest} or newer: the operator relies on what came with it.",
        )
    newer = f", newer than {tested}, with which this release is tested" if version > TESTED else ""
    return _VERSION.ok(f"Kubernetes {server.version}{newer}")

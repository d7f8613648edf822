"""Judgments before an installation: may the caller install, does the server take it, and what is in its way."""

from collections.abc import Iterator, Mapping, Sequence

from rukpak_py.api.names import (
    HELM_RELEASE_ANNOTATION,
    HELM_RELEASE_NAMESPACE_ANNOTATION,
    OPERATOR_LEASE,
    OPERATOR_NAMESPACE_ANNOTATION,
    OPERATOR_PART,
    PART_OF_LABEL,
    VERSION,
)
from rukpak_py.apply.permissions.permission import rule_text, scope_text
from rukpak_py.cli.checks.facts import BeforeFacts
from rukpak_py.cli.checks.lease import lease_state
from rukpak_py.cli.checks.results import Check, CheckResult, Json, Section, Seen, Unread, told
from rukpak_py.cli.checks.server import check_server
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.text import named
from rukpak_py.kube.metadata import Metadata

RELEASE = "rukpak"  # as the documents install the chart
_MAY = Check(Section.INSTALLING, "may-install")
_POLICIES = Check(Section.INSTALLING, "policies-accepted")
_CRDS = Check(Section.INSTALLING, "crds")
_LEFT = Check(Section.INSTALLING, "leftovers")
_OTHERS = Check(Section.INSTALLING, "other-operators")
_TAKE = (
    'Have Helm take it over (helm install --take-ownership), or remove it; see "Installing over install.yaml" in '
    "charts/rukpak/README.md."
)


def check_before(facts: BeforeFacts) -> Iterator[CheckResult]:
    yield from check_server(facts.server)
    yield from _may_install(facts)
    yield from told(_refused_policies(facts), _POLICIES.ok("the API server takes the admission policies"))
    yield from told(_crds(facts), _CRDS.ok("the CRDs can be installed"))
    yield from told(_leftovers(facts), _LEFT.ok("no object of another installation is in the way"))
    yield from told(_other_operators(facts), _OTHERS.ok("no other operator serves this cluster"))


def _may_install(facts: BeforeFacts) -> Iterator[CheckResult]:
    if isinstance(facts.missing, Unread):
        yield _MAY.unread(facts.missing)
        return
    if not facts.missing:
        yield _MAY.ok(f"you may install it in mode {facts.installation.mode}")
    for scope, rules in facts.missing.items():
        lacking = "; ".join(" ".join(rule_text(rule)) for rule in rules)
        yield _MAY.error(
            f"you lack rights {scope_text(scope)}: {lacking}",
            "Have a cluster admin install the operator. Who installs it hands out all rights that it has.",
            f"Namespace {scope}" if scope else "",
        )


def _refused_policies(facts: BeforeFacts) -> Iterator[CheckResult]:
    for key, refusal in facts.accepted.items():
        if isinstance(refusal, Unread):
            yield _POLICIES.unread(refusal, str(key))
        elif refusal:
            yield _POLICIES.error(
                f"the API server refuses it: {refusal}",
                "The operator acts as no service account without its policies. See that nothing in the cluster forbids "
                "them, and that Kubernetes is new enough.",
                str(key),
            )


def _crds(facts: BeforeFacts) -> Iterator[CheckResult]:
    for key, crd in facts.crds.items():
        if isinstance(crd, Unread):
            yield _CRDS.unread(crd, str(key))
        elif crd is not None:
            yield from _existing_crd(str(key), crd)


def _existing_crd(about: str, crd: Json) -> Iterator[CheckResult]:
    metadata, status = crd.get("metadata") or {}, crd.get("status") or {}
    if metadata.get("deletionTimestamp"):
        yield _CRDS.error(
            "it is being deleted, and with it every object of its kind",
            "Wait until it is gone; finalizers of its objects hold it up (kubectl get rukpak).",
            about,
        )
    stored = [one for one in status.get("storedVersions") or () if one != VERSION]
    if stored:
        yield _CRDS.error(
            f"objects of it are stored as {named(stored)}, which this release does not serve",
            "Migrate its objects, or delete the CRD with all of them.",
            about,
        )
    if (metadata.get("labels") or {}).get(PART_OF_LABEL) != OPERATOR_PART:
        yield _CRDS.warning(
            "it is there already, and this operator did not install it",
            'See "Installing over the original RukPak" in charts/rukpak/README.md: its objects can be kept.',
            about,
        )


def _leftovers(facts: BeforeFacts) -> Iterator[CheckResult]:
    left: dict[str, list[ObjectKey]] = {}
    for key, found in facts.existing.items():
        if isinstance(found, Unread):
            yield _LEFT.unread(found, str(key))
        elif found is not None and (owner := _owner(found, facts.installation.system_namespace)):
            left.setdefault(owner, []).append(key)
    for owner, keys in left.items():
        about = str(keys[0]) if len(keys) == 1 else ""
        subject = "it is" if about else f"{named(keys)} are"
        yield _LEFT.warning(f"{subject} there already, {owner}", _TAKE, about)


def _owner(found: Metadata, system_namespace: str) -> str:
    """Empty: the release that is to be installed has it already."""
    release = found.annotations.get(HELM_RELEASE_ANNOTATION, "")
    namespace = found.annotations.get(HELM_RELEASE_NAMESPACE_ANNOTATION, "")
    if (release, namespace) == (RELEASE, system_namespace):
        return ""
    return f"of the Helm release {namespace}/{release}" if release else "and no Helm release has them"


def _other_operators(facts: BeforeFacts) -> Iterator[CheckResult]:
    own = facts.installation.system_namespace
    is_installed = False
    if isinstance(facts.operators, Unread):
        yield _OTHERS.unread(facts.operators, "Deployments")
    else:
        is_installed = any(one.namespace == own for one in facts.operators)
        yield from _deployed([one for one in facts.operators if one.namespace != own])
    claimed = claimed_by(facts.crds)
    if not claimed or (is_installed and claimed == own):
        return
    about = f"Lease.coordination.k8s.io/{claimed}/{OPERATOR_LEASE}"
    if isinstance(facts.lease, Unread):
        yield _OTHERS.unread(facts.lease, about)
        return
    lease = lease_state(facts.lease, facts.server.now)
    if lease.is_fresh:
        yield _OTHERS.error(
            f"an operator of the system namespace {claimed} is at work (holder {lease.holder})",
            "Two operators would delete what the other one installs: stop that one first.",
            about,
        )


def claimed_by(crds: Mapping[ObjectKey, Seen]) -> str:
    """System namespace of the operator that claims the cluster; empty: none does, or it cannot be read."""
    annotations = [
        (one.get("metadata") or {}).get("annotations") or {} for one in crds.values() if isinstance(one, dict)
    ]
    return next((one[OPERATOR_NAMESPACE_ANNOTATION] for one in annotations if OPERATOR_NAMESPACE_ANNOTATION in one), "")


def _deployed(operators: Sequence[Metadata]) -> Iterator[CheckResult]:
    for one in operators:
        yield _OTHERS.error(
            "it is another operator of this kind",
            "Two operators would delete what the other one installs: uninstall that one, and keep its CRDs.",
            f"Deployment.apps/{one.namespace}/{one.name}",
        )

"""Judgments about the operator itself: its CRDs, its Deployment, the mode, the Lease, and its admission policies."""

from collections.abc import Iterator

from rukpak_py import __version__
from rukpak_py.api.accounts import Mode
from rukpak_py.api.crds import crds
from rukpak_py.api.names import OPERATOR_DEPLOYMENT, OPERATOR_LEASE
from rukpak_py.cli.checks.facts import AfterFacts
from rukpak_py.cli.checks.flags import OperatorFlags, flags_of, versions_of
from rukpak_py.cli.checks.lease import lease_state
from rukpak_py.cli.checks.results import Check, CheckResult, Json, Section, Unread, told
from rukpak_py.kube.admission_policies import difference_of

UPGRADE = "Upgrade the chart (helm upgrade), or apply manifests/install.yaml of this release again."
_CRDS = Check(Section.OPERATOR, "crds")
_DEPLOYMENT = Check(Section.OPERATOR, "deployment")
_VERSION = Check(Section.OPERATOR, "version")
_MODE = Check(Section.OPERATOR, "mode")
_LEASE = Check(Section.OPERATOR, "lease")
_POLICIES = Check(Section.POLICIES, "policies")
_ENFORCED = Check(Section.POLICIES, "policies-enforced")


def check_operator(facts: AfterFacts) -> Iterator[CheckResult]:
    yield from told(_crds(facts), _CRDS.ok("the CRDs are those of this release"))
    namespace = facts.installation.system_namespace
    about = f"Deployment.apps/{namespace}/{OPERATOR_DEPLOYMENT}"
    deployment = facts.deployment
    if deployment is None or isinstance(deployment, Unread):
        if deployment is None:
            yield _DEPLOYMENT.error("it does not exist", "Install the operator.", about)
        else:
            yield _DEPLOYMENT.unread(deployment, about)
        yield from _lease(facts, OperatorFlags(leader_elect=True))
        return
    yield _available(deployment, about)
    yield _version(deployment, about)
    flags = flags_of(deployment)
    yield from _mode(flags, about)
    yield from _lease(facts, flags)


def check_policies(facts: AfterFacts) -> Iterator[CheckResult]:
    consequence = (
        f"{UPGRADE} Until then no BundleDeployment is served as a service account (PolicyMissing), or users name "
        "Secrets that they may not read."
    )
    problems = [
        _POLICIES.unread(found, str(key))
        if isinstance(found, Unread)
        else _POLICIES.error(f"it is not as this release ships it: {found}", consequence, str(key))
        for key, found in facts.policies.items()
        if found
    ]
    yield from told(problems, _POLICIES.ok("the policies and their bindings are stored as this release ships them"))
    if not facts.probes:
        return
    unenforced = [
        _ENFORCED.unread(found, plural)
        if isinstance(found, Unread)
        else _ENFORCED.error(
            found,
            "Switch the admission plugin ValidatingAdmissionPolicy of the API server on; right after a change of the "
            "policies wait some seconds.",
            plural,
        )
        for plural, found in facts.probes.items()
        if found
    ]
    yield from told(unenforced, _ENFORCED.ok("the API server enforces them"))


def _crds(facts: AfterFacts) -> Iterator[CheckResult]:
    shipped = {one["metadata"]["name"]: one for one in crds().values()}
    for key, crd in facts.crds.items():
        about = str(key)
        if isinstance(crd, Unread):
            yield _CRDS.unread(crd, about)
        elif crd is None:
            yield _CRDS.error("it does not exist", f"{UPGRADE} With crds.enabled=false, apply config/crds.", about)
        elif (crd.get("metadata") or {}).get("deletionTimestamp"):
            yield _CRDS.error(
                "it is being deleted, and with it every object of its kind", "Wait until it is gone.", about
            )
        elif difference := _crd_difference(shipped[key.name], crd):
            yield _CRDS.error(
                f"it is of another release: {difference}",
                f"{UPGRADE} With crds.enabled=false, apply config/crds.",
                about,
            )
        elif not _has_condition(crd, "Established"):
            yield _CRDS.error(
                "the API server does not serve it (condition Established)",
                "See its conditions: kubectl describe crd.",
                about,
            )


def _crd_difference(shipped: Json, live: Json) -> str:
    """In the fields that this release sets; the server adds others."""
    spec = live.get("spec") or {}
    (version,) = shipped["spec"]["versions"]
    found = next((one for one in spec.get("versions") or () if one.get("name") == version["name"]), None)
    if found is None:
        return f"it has no version {version['name']}"
    if shipped["spec"]["scope"] != spec.get("scope"):
        return f"spec.scope is {spec.get('scope')}"
    path = f"spec.versions[{version['name']}]"
    return next(
        (text for name in version if (text := difference_of(version[name], found.get(name), f"{path}.{name}"))), ""
    )


def _available(deployment: Json, about: str) -> CheckResult:
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas") or 0
    hint = f"kubectl -n {deployment['metadata']['namespace']} describe deployment,pods -l app=core"
    if wanted == 0:
        return _DEPLOYMENT.error("it is scaled to 0 replicas", "Scale it to 1 or more.", about)
    if not _has_condition(deployment, "Available"):
        conditions = [one for one in status.get("conditions") or () if one.get("type") == "Available"]
        why = next((str(one.get("message")) for one in conditions if one.get("message")), "it reports no status yet")
        return _DEPLOYMENT.error(f"it is not available: {why}", f"See why its pods are not ready: {hint}", about)
    if ready < wanted or status.get("observedGeneration") != deployment["metadata"].get("generation"):
        return _DEPLOYMENT.warning(
            f"{ready} of {wanted} replicas are ready", f"Wait for the rollout, or see what holds it up: {hint}", about
        )
    return _DEPLOYMENT.ok(f"it is available, {ready} of {wanted} replicas are ready", about)


def _version(deployment: Json, about: str) -> CheckResult:
    found = versions_of(deployment)
    named = {one for one in (found.tag, found.label) if one}
    if named == {__version__}:
        return _VERSION.ok(f"the operator and this program are of version {__version__}", about)
    other = " and ".join(sorted(named)) or "an unknown one"
    return _VERSION.warning(
        f"this program is of version {__version__}, and the operator of {other} (image {found.image or 'unknown'})",
        "Use the rukpakctl of the operator's release, or upgrade the operator: other checks compare with this release.",
        about,
    )


def _mode(flags: OperatorFlags, about: str) -> Iterator[CheckResult]:
    if flags.unknown:
        yield _MODE.unread(Unread(why=f"its environment takes {', '.join(flags.unknown)} from elsewhere"), about)
    match flags.known_mode:
        case Mode.CLASSIC:
            text = "classic: a BundleDeployment without a service account has the operator's rights"
            yield _MODE.ok(f"{text}{_default(flags)}", about)
        case Mode.NARROW:
            yield _MODE.ok(f"narrow: every BundleDeployment needs a service account{_default(flags)}", about)
        case None if "--mode" not in flags.unknown:
            yield _MODE.error(f"--mode={flags.mode} is not a mode", "Set classic or narrow.", about)


def _default(flags: OperatorFlags) -> str:
    return f"; {flags.default_account} is the default" if flags.default_account else ""


def _lease(facts: AfterFacts, flags: OperatorFlags) -> Iterator[CheckResult]:
    about = f"Lease.coordination.k8s.io/{facts.installation.system_namespace}/{OPERATOR_LEASE}"
    if isinstance(facts.lease, Unread):
        yield _LEASE.unread(facts.lease, about)
        return
    if not flags.leader_elect:
        return
    lease = lease_state(facts.lease, facts.server.now)
    if lease.is_fresh:
        yield _LEASE.ok(f"{lease.holder} leads", about)
        return
    what = (
        "it does not exist"
        if facts.lease is None
        else f"it was renewed {round(lease.age.total_seconds())} seconds ago"
        if lease.age is not None and lease.holder
        else "no replica holds it"
    )
    yield _LEASE.error(
        f"{what}: no operator works",
        f"See why no replica leads: kubectl -n {facts.installation.system_namespace} logs -l app=core --tail=50",
        about,
    )


def _has_condition(one: Json, kind: str) -> bool:
    conditions = (one.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == kind and condition.get("status") == "True" for condition in conditions)

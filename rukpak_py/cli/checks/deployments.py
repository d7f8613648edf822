"""Judgments about what is installed: the accounts that BundleDeployments name, and those that are not ready."""

from collections import defaultdict
from collections.abc import Iterator

from rukpak_py.api.accounts import Account, effective_account
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import LEGACY_CLASSES, ConditionStatus, ConditionType, canonical_class
from rukpak_py.api.policies.installation import Installation
from rukpak_py.cli.checks.facts import AfterFacts
from rukpak_py.cli.checks.results import Check, CheckResult, Section, Unread, told
from rukpak_py.core.text import counted, named

_DEFAULT = Check(Section.DEPLOYMENTS, "default-account")
_ACCOUNTS = Check(Section.DEPLOYMENTS, "accounts")
_READY = Check(Section.DEPLOYMENTS, "ready")
_NOUN = "BundleDeployment"


def check_deployments(facts: AfterFacts) -> Iterator[CheckResult]:
    yield from _default_account(facts)
    if isinstance(facts.bundle_deployments, Unread):
        yield _READY.unread(facts.bundle_deployments, f"{_NOUN}s")
        return
    yield from told(_accounts(facts), _ACCOUNTS.ok(f"every service account that a {_NOUN} names exists"))
    served = [one for one in facts.bundle_deployments if is_served(one)]
    yield from told(_unready(served), _READY.ok(f"{counted(len(served), _NOUN)}, none of them has failed"))


def is_served(deployment: BundleDeployment) -> bool:
    return canonical_class(deployment.spec.provisioner_class_name) in LEGACY_CLASSES.values()


def account_of(deployment: BundleDeployment, installation: Installation) -> Account | None:
    return effective_account(
        deployment.spec, default=installation.default_account, system_namespace=installation.system_namespace
    )


def default_account(installation: Installation) -> Account | None:
    """Account of BundleDeployments that name neither an account nor a namespace."""
    return (
        Account(installation.system_namespace, installation.default_account) if installation.default_account else None
    )


def _default_account(facts: AfterFacts) -> Iterator[CheckResult]:
    account = default_account(facts.installation)
    if account is None:
        return
    about, exists = f"ServiceAccount {account}", facts.accounts[account]
    if isinstance(exists, Unread):
        yield _DEFAULT.unread(exists, about)
    elif exists:
        yield _DEFAULT.ok("the default service account exists", about)
    else:
        yield _DEFAULT.error(
            "the default service account does not exist",
            f"Create it: kubectl -n {account.namespace} create serviceaccount {account.name}. {_NOUN}s that name "
            "neither an account nor a namespace wait for it (AccountMissing).",
            about,
        )


def _accounts(facts: AfterFacts) -> Iterator[CheckResult]:
    users: defaultdict[Account, list[str]] = defaultdict(list)
    for one in facts.bundle_deployments if not isinstance(facts.bundle_deployments, Unread) else ():
        account = account_of(one, facts.installation)
        if account is not None and account != default_account(facts.installation):
            users[account].append(one.metadata.name)
    for account, names in sorted(users.items()):
        about, exists = f"ServiceAccount {account}", facts.accounts[account]
        if isinstance(exists, Unread):
            yield _ACCOUNTS.unread(exists, about)
        elif not exists:
            yield _ACCOUNTS.error(
                f"it does not exist, and {named(names)} is served as it",
                "Create it, with the roles that `rukpakctl permissions NAME -o yaml` prints.",
                about,
            )


def _unready(deployments: list[BundleDeployment]) -> Iterator[CheckResult]:
    by_reason: defaultdict[tuple[bool, str], list[str]] = defaultdict(list)
    for one in deployments:
        conditions = one.status.conditions
        ready, stalled = (find_condition(conditions, kind) for kind in (ConditionType.READY, ConditionType.STALLED))
        if ready is None:
            by_reason[False, ""].append(one.metadata.name)
        elif ready.status == ConditionStatus.FALSE:
            is_stalled = stalled is not None and stalled.status == ConditionStatus.TRUE
            by_reason[is_stalled, ready.reason].append(one.metadata.name)
    for (is_stalled, reason), names in sorted(by_reason.items()):
        state = "stalled" if is_stalled else "not ready"
        first, why = names[0], reason or "no operator has looked at it"
        yield _READY.warning(
            f"{counted(len(names), _NOUN)} {state}: {why} ({named(sorted(names))})",
            f"kubectl describe bundledeployment {first} has the message; docs/troubleshooting.md explains the reason"
            f"{' ' + reason if reason else ''}.",
            f"{_NOUN} {first}" if len(names) == 1 else "",
        )

"""Judgments about the rights of the operator: those of its own, those to watch, and those to act as accounts."""

from collections import defaultdict
from collections.abc import Iterator

from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import WATCH_ROLE_LABEL
from rukpak_py.apply.permissions.permission import ALL, Permission, rule_text, rules_of, scope_text
from rukpak_py.cli.checks.facts import AfterFacts
from rukpak_py.cli.checks.operator import UPGRADE
from rukpak_py.cli.checks.results import Check, CheckResult, Json, Section, Unread, told
from rukpak_py.cli.checks.shipped import operator_account
from rukpak_py.controllers.deployment.watch_rights import how_to_grant
from rukpak_py.core.text import named

READING = frozenset({"get", "list", "watch"})
_OWN = Check(Section.RIGHTS, "operator-rights")
_NARROW = Check(Section.RIGHTS, "operator-is-narrow")
_WATCH_ROLES = Check(Section.RIGHTS, "watch-roles")
_WATCHED = Check(Section.RIGHTS, "watched-kinds")
_ACCOUNTS = Check(Section.RIGHTS, "impersonation")


def check_rights(facts: AfterFacts) -> Iterator[CheckResult]:
    yield from told(_own(facts), _OWN.ok("it has the rights that this release needs"))
    if facts.installation.mode is not Mode.NARROW:
        return
    yield _is_narrow(facts)
    yield from told(_watch_roles(facts), _WATCH_ROLES.ok("roles to watch by let it read, and no more"))
    yield from told(_watched(facts), _WATCHED.ok("it may watch every kind that BundleDeployments own"))
    yield from told(_impersonated(facts), _ACCOUNTS.ok("it may act as every account that BundleDeployments name"))


def _own(facts: AfterFacts) -> Iterator[CheckResult]:
    account = f"ServiceAccount {operator_account(facts.installation.system_namespace)}"
    missing: defaultdict[str, set[Permission]] = defaultdict(set)
    unknown: dict[str, int] = {}
    for permission, answer in facts.rights.items():
        if isinstance(answer, Unread):
            unknown[answer.why] = unknown.get(answer.why, 0) + 1
        elif not answer:
            missing[permission.scope].add(permission)
    for scope, permissions in sorted(missing.items()):
        lacking = "; ".join(" ".join(rule_text(rule)) for rule in rules_of(permissions))
        yield _OWN.error(f"it lacks rights {scope_text(scope)}: {lacking}", UPGRADE, account)
    for why in unknown:
        yield _OWN.unread(Unread(why=why), account)


def _is_narrow(facts: AfterFacts) -> CheckResult:
    account = f"ServiceAccount {operator_account(facts.installation.system_namespace)}"
    found = facts.may_do_everything
    if isinstance(found, Unread):
        return _NARROW.unread(found, account)
    if found:
        return _NARROW.error(
            "the mode is narrow, and the operator may do everything",
            "Remove the bindings that give it every right (kubectl get clusterrolebindings -o wide), such as one that "
            "mode classic left.",
            account,
        )
    return _NARROW.ok("it may not do everything", account)


def _watch_roles(facts: AfterFacts) -> Iterator[CheckResult]:
    if isinstance(facts.watch_roles, Unread):
        yield _WATCH_ROLES.unread(facts.watch_roles, "ClusterRoles")
        return
    for role in facts.watch_roles:
        about = f"ClusterRole.rbac.authorization.k8s.io/{role['metadata']['name']}"
        rules = role.get("rules") or []
        if beyond := sorted({verb for rule in rules for verb in rule.get("verbs") or ()} - READING):
            yield _WATCH_ROLES.error(
                f"it has the label {WATCH_ROLE_LABEL}, and gives the operator {', '.join(beyond)}",
                "Leave get, list and watch, or take the label away: by this label the operator may read, and nothing "
                "else.",
                about,
            )
        if any(_reads_secrets(rule) for rule in rules):
            yield _WATCH_ROLES.warning(
                "it lets the operator read the Secrets of all namespaces",
                "Leave secrets out, and bind a Role in each namespace that needs it (docs/narrow-mode.md).",
                about,
            )


def _reads_secrets(rule: Json) -> bool:
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    return bool({"", ALL} & {*groups}) and bool({"secrets", ALL} & {*resources}) and not rule.get("resourceNames")


def _watched(facts: AfterFacts) -> Iterator[CheckResult]:
    if isinstance(facts.watched, Unread):
        yield _WATCHED.unread(facts.watched, "BundleDeployments")
        return
    owners: defaultdict[tuple[object, str], set[str]] = defaultdict(set)
    answers = {}
    for (deployment, kind), answer in facts.watched.items():
        if answer is not True:
            owners[kind.resource.group_kind, kind.namespace].add(deployment)
            answers[kind.resource.group_kind, kind.namespace] = (kind, answer)
    for place, (kind, answer) in answers.items():
        about = f"{kind.resource.group_kind}" + (f" in namespace {kind.namespace}" if kind.namespace else "")
        if isinstance(answer, Unread):
            yield _WATCHED.unread(answer, about)
            continue
        grant = how_to_grant(kind.resource, kind.namespace)
        yield _WATCHED.error(
            f"the operator may not watch it, so it is held back for {named(sorted(owners[place]))}",
            f"{grant[0].upper()}{grant[1:]}.",
            about,
        )


def _impersonated(facts: AfterFacts) -> Iterator[CheckResult]:
    for account, answer in facts.impersonated.items():
        about = f"ServiceAccount {account}"
        if isinstance(answer, Unread):
            yield _ACCOUNTS.unread(answer, about)
        elif not answer:
            yield _ACCOUNTS.error(
                "the operator may not act as it",
                f"Name it in the value tenants of the chart: {{namespace: {account.namespace}, serviceAccounts: "
                f"[{account.name}]}}.",
                about,
            )

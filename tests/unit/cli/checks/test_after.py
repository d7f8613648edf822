"""Judgments about an installed operator: a sound installation passes, and each broken fact is one finding."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rukpak_py.api.accounts import Account
from rukpak_py.api.policies.installation import Installation
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.certificates.own_webhooks import OurWebhooks, own_certificate
from rukpak_py.cli.checks.check import after, is_operator
from rukpak_py.cli.checks.facts import AfterFacts, WatchedKind
from rukpak_py.cli.checks.results import CheckResult, Json, Level, Unread
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.core.x509 import issue_ca, issue_serving
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, DEPLOYMENTS, SECRETS
from tests.unit.cli.checks import sound

ERROR, WARNING = Level.ERROR, Level.WARNING
HIDDEN = Unread(why='secrets "x" is forbidden: User "tina" cannot get resource')
DEPLOYMENT_CRD = CRDS.key("", "bundledeployments.core.rukpak.io")
READY, STALLED = ("Ready", "True", "Succeeded"), ("Stalled", "True", "ContentError")
OTHERS_CA = issue_ca(sound.NOW)
EXPIRED = issue_serving(sound.AUTHORITY, ["localhost"], sound.NOW - timedelta(days=200), life=timedelta(days=90))
OLD = issue_serving(
    sound.AUTHORITY,
    own_certificate(sound.NAMESPACE).hosts,
    sound.NOW - timedelta(days=80),
    life=timedelta(days=90),
)
OF_OTHER_HOSTS = issue_serving(sound.AUTHORITY, ["example.com"], sound.NOW)
DEFAULT = Installation(system_namespace=sound.NAMESPACE, default_account="installer")
DEFAULT_ACCOUNT = Account(sound.NAMESPACE, "installer")


def wrong(facts: AfterFacts) -> list[CheckResult]:
    return [one for one in after(facts) if one.level is not Level.OK]


@pytest.mark.parametrize("installation", [sound.CLASSIC, sound.NARROW], ids=["classic", "narrow"])
def test_sound_installation_has_no_findings(installation: Installation) -> None:
    assert wrong(sound.after(installation)) == []


def crd_with(change: Json) -> Mapping[str, Any]:
    return {"crds": {**sound.after().crds, DEPLOYMENT_CRD: sound.live_crd(sound.SHIPPED_CRDS[DEPLOYMENT_CRD]) | change}}


def older_crd() -> Json:
    found = deepcopy(sound.live_crd(sound.SHIPPED_CRDS[DEPLOYMENT_CRD]))
    schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["serviceAccountName"]
    return found


def watch_role(*verbs: str, resources: str = "configmaps", **rule: Any) -> Json:
    return {
        "metadata": {"name": "rukpak-watch-x"},
        "rules": [{"apiGroups": [""], "resources": [resources], "verbs": list(verbs), **rule}],
    }


Case = tuple[Mapping[str, Any], str, Level, str]
CASES: list[Case] = [
    ({"crds": {**sound.after().crds, DEPLOYMENT_CRD: None}}, "crds", ERROR, "does not exist"),
    (crd_with(older_crd()), "crds", ERROR, "properties.serviceAccountName is missing"),
    (crd_with({"status": {}}), "crds", ERROR, "does not serve it"),
    (
        crd_with(sound.live_crd(sound.SHIPPED_CRDS[DEPLOYMENT_CRD], deletionTimestamp="2026")),
        "crds",
        ERROR,
        "being deleted",
    ),
    ({"crds": {**sound.after().crds, DEPLOYMENT_CRD: HIDDEN}}, "crds", WARNING, "not checked: secrets"),
    ({"deployment": sound.deployment(conditions=[])}, "deployment", ERROR, "not available"),
    ({"deployment": sound.deployment(readyReplicas=0)}, "deployment", WARNING, "0 of 1"),
    ({"deployment": sound.deployment(observedGeneration=0)}, "deployment", WARNING, "replicas are ready"),
    ({"deployment": sound.deployment(image="x/operator:9.9.9")}, "version", WARNING, "9.9.9"),
    ({"deployment": sound.deployment("--mode=wide")}, "mode", ERROR, "--mode=wide"),
    ({"lease": None}, "lease", ERROR, "does not exist"),
    ({"lease": sound.lease(sound.NOW - timedelta(minutes=9))}, "lease", ERROR, "540 seconds ago"),
    ({"lease": sound.lease(sound.NOW, holder="")}, "lease", ERROR, "no replica holds it"),
    ({"lease": HIDDEN}, "lease", WARNING, "not checked"),
    ({"policies": {DEPLOYMENT_CRD: "x does not exist"}}, "policies", ERROR, "x does not exist"),
    ({"policies": {DEPLOYMENT_CRD: HIDDEN}}, "policies", WARNING, "not checked"),
    ({"probes": {"bundles": "not enforced"}}, "policies-enforced", ERROR, "not enforced"),
    ({"probes": {"bundles": HIDDEN}}, "policies-enforced", WARNING, "not checked"),
    ({"rights": {Permission("", "list", "", "nodes"): False}}, "operator-rights", ERROR, "list nodes"),
    ({"rights": {Permission("", "list", "", "nodes"): HIDDEN}}, "operator-rights", WARNING, "not checked"),
    ({"webhook": sound.webhook(configuration=None)}, "webhook-configuration", ERROR, "not found"),
    ({"webhook": sound.webhook(configuration=HIDDEN)}, "webhook-configuration", WARNING, "not checked"),
    ({"webhook": sound.webhook(service=None)}, "webhook-service", ERROR, "does not exist"),
    ({"webhook": sound.webhook(slices=[])}, "webhook-service", ERROR, "no ready endpoint"),
    (
        {"webhook": sound.webhook(slices=[{"endpoints": [{"conditions": {"ready": False}}]}])},
        "webhook-service",
        ERROR,
        "no ready endpoint",
    ),
    ({"webhook": sound.webhook(slices=HIDDEN)}, "webhook-service", WARNING, "not checked"),
    ({"webhook": sound.webhook(serving=EXPIRED)}, "serving-certificate", ERROR, "expired at 2025-09-13"),
    ({"webhook": sound.webhook(serving=OLD)}, "serving-certificate", WARNING, "valid for 10 more days"),
    ({"webhook": sound.webhook(serving=OF_OTHER_HOSTS)}, "serving-certificate", ERROR, "does not name"),
    ({"webhook": replace(sound.webhook(), authority=None)}, "authority", ERROR, "has no certificate"),
    ({"bundle_deployments": HIDDEN}, "ready", WARNING, "not checked"),
    (
        {"bundle_deployments": [sound.bundle_deployment("a", ("Ready", "False", "ContentError"), STALLED)]},
        "ready",
        WARNING,
        "1 BundleDeployment stalled: ContentError (a)",
    ),
    (
        {"bundle_deployments": [sound.bundle_deployment(name, ("Ready", "False", "Conflict")) for name in "ba"]},
        "ready",
        WARNING,
        "2 BundleDeployments not ready: Conflict (a, b)",
    ),
    ({"bundle_deployments": [sound.bundle_deployment("a")]}, "ready", WARNING, "no operator has looked at it"),
    (
        {
            "bundle_deployments": [
                sound.bundle_deployment("a", READY, installNamespace="shop", serviceAccountName="installer")
            ],
            "accounts": {sound.INSTALLER: False},
        },
        "accounts",
        ERROR,
        "a is served as it",
    ),
    ({"installation": DEFAULT, "accounts": {DEFAULT_ACCOUNT: False}}, "default-account", ERROR, "does not exist"),
    ({"installation": DEFAULT, "accounts": {DEFAULT_ACCOUNT: HIDDEN}}, "default-account", WARNING, "not checked"),
]


@pytest.mark.parametrize(("change", "check", "level", "words"), CASES)
def test_broken_fact_is_one_finding(change: Mapping[str, Any], check: str, level: Level, words: str) -> None:
    (found,) = wrong(replace(sound.after(), **change))
    assert (found.check, found.level) == (check, level)
    assert words in found.message
    assert found.hint


NARROW_CASES: list[Case] = [
    ({"may_do_everything": True}, "operator-is-narrow", ERROR, "may do everything"),
    ({"may_do_everything": HIDDEN}, "operator-is-narrow", WARNING, "not checked"),
    ({"watch_roles": [watch_role("get", "list", "watch", "patch")]}, "watch-roles", ERROR, "gives the operator patch"),
    ({"watch_roles": [watch_role("*")]}, "watch-roles", ERROR, "gives the operator *"),
    ({"watch_roles": [watch_role("list", resources="secrets")]}, "watch-roles", WARNING, "Secrets of all namespaces"),
    ({"watch_roles": [watch_role("list", resources="*")]}, "watch-roles", WARNING, "Secrets of all namespaces"),
    ({"watch_roles": HIDDEN}, "watch-roles", WARNING, "not checked"),
    (
        {"watched": {(one, WatchedKind(resource=SECRETS, namespace="shop")): False for one in ("a", "b")}},
        "watched-kinds",
        ERROR,
        "held back for a, b",
    ),
    (
        {"watched": {("a", WatchedKind(resource=DEPLOYMENTS, namespace="")): False}},
        "watched-kinds",
        ERROR,
        "held back for a",
    ),
    ({"watched": HIDDEN}, "watched-kinds", WARNING, "not checked"),
    ({"impersonated": {sound.INSTALLER: False}}, "impersonation", ERROR, "may not act as it"),
    ({"impersonated": {sound.INSTALLER: HIDDEN}}, "impersonation", WARNING, "not checked"),
]


@pytest.mark.parametrize(("change", "check", "level", "words"), NARROW_CASES)
def test_broken_fact_of_narrow_mode_is_one_finding(
    change: Mapping[str, Any], check: str, level: Level, words: str
) -> None:
    (found,) = wrong(replace(sound.after(sound.NARROW), **change))
    assert (found.check, found.level) == (check, level)
    assert words in found.message
    assert found.hint


def test_reading_roles_and_secrets_by_name_are_no_finding() -> None:
    roles = [watch_role("get", "list", "watch"), watch_role("list", resources="secrets", resourceNames=["a"])]
    kinds = {("a", WatchedKind(resource=CONFIG_MAPS, namespace="")): True}
    assert wrong(replace(sound.after(sound.NARROW), watch_roles=roles, watched=kinds)) == []


@pytest.mark.parametrize(
    ("authority", "words"),
    [(b"", "is empty"), (OTHERS_CA.certificate, "of another authority")],
    ids=["empty", "of another authority"],
)
def test_ca_bundle_that_does_not_trust_the_certificate_is_an_error(authority: bytes, words: str) -> None:
    configuration = OurWebhooks(system_namespace=sound.NAMESPACE).configuration(authority)
    (found,) = wrong(replace(sound.after(), webhook=sound.webhook(configuration=configuration)))
    assert (found.check, found.level) == ("webhook-trust", ERROR)
    assert words in found.message


@pytest.mark.parametrize(
    ("edit", "check", "level", "words"),
    [
        (lambda webhooks: webhooks.pop(), "webhook-for-crds", WARNING, "is missing: updates of CRDs"),
        (lambda webhooks: webhooks[2].update(clientConfig={"url": "u"}), "webhook-for-crds", WARNING, "another server"),
        (lambda webhooks: webhooks[2]["clientConfig"].pop("caBundle"), "webhook-trust", ERROR, "it is not called"),
        (
            lambda webhooks: webhooks[2]["clientConfig"].update(caBundle=b64encode(OTHERS_CA.certificate).decode()),
            "webhook-trust",
            ERROR,
            "of another authority",
        ),
    ],
    ids=["missing", "another server", "no caBundle", "another authority"],
)
def test_webhook_for_crds_has_findings_of_its_own(
    edit: Callable[[list[Json]], object], check: str, level: Level, words: str
) -> None:
    configuration = OurWebhooks(system_namespace=sound.NAMESPACE).configuration(sound.AUTHORITY.certificate)
    edit(configuration["webhooks"])
    (found,) = wrong(replace(sound.after(), webhook=sound.webhook(configuration=configuration)))
    assert (found.check, found.level) == (check, level)
    assert words in found.message


def test_unreadable_certificate_leaves_trust_and_life_unchecked() -> None:
    found = wrong(replace(sound.after(), webhook=replace(sound.webhook(), serving=HIDDEN)))
    assert {(one.check, one.level) for one in found} == {
        ("webhook-trust", WARNING),
        ("serving-certificate", WARNING),
    }


def test_deployment_of_another_class_and_one_in_progress_are_no_finding() -> None:
    deployments = [
        sound.bundle_deployment("mine", provisionerClassName="example-com-mine"),
        sound.bundle_deployment("new", ("Ready", "Unknown", "Progressing"), ("Reconciling", "True", "Progressing")),
        sound.bundle_deployment("good", READY),
    ]
    assert wrong(replace(sound.after(), bundle_deployments=deployments)) == []


def test_operator_outside_the_cluster_needs_no_service() -> None:
    url = "https://10.0.0.1:9443"
    configuration = OurWebhooks(system_namespace=sound.NAMESPACE, url=url).configuration(sound.AUTHORITY.certificate)
    facts = replace(
        sound.after(),
        deployment=sound.deployment(f"--webhook-url={url}"),
        webhook=sound.webhook(configuration=configuration, service=None),
    )
    assert wrong(facts) == []


def test_original_operator_is_not_taken_for_this_one() -> None:
    theirs = sound.deployment()
    theirs["metadata"]["labels"] = {"app": "core"}
    assert is_operator(sound.deployment())
    assert not is_operator(theirs)
    assert not is_operator(None)


def test_each_mode_is_named() -> None:
    for installation in (sound.CLASSIC, sound.NARROW):
        (found,) = [one for one in after(sound.after(installation)) if one.check == "mode"]
        assert found.message.startswith(f"{installation.mode}: ")


def test_group_of_a_watched_kind_tells_it_from_another() -> None:
    other = replace(SECRETS, gvk=GroupVersionKind("ecr.example.com", "v1", "Secret"))
    kinds = {("a", WatchedKind(resource=one, namespace="")): False for one in (SECRETS, other)}
    found = wrong(replace(sound.after(sound.NARROW), watched=kinds))
    assert [one.object for one in found] == ["Secret", "Secret.ecr.example.com"]

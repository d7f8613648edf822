"""The gates: what each of them refuses, in which words, and whose change brings the deployment back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Action, Change, Plan, make_plan
from rukpak_py.apply.preflight import (
    GATES,
    AnyRefusal,
    Candidate,
    GatePhase,
    OwnerIsGone,
    PassedWithWarnings,
    Refusal,
    RefusedObjects,
    Untried,
)
from rukpak_py.apply.preflight.gates import (
    contains_itself,
    deployment_is_gone,
    missing_kinds,
    missing_namespaces,
    missing_requirements,
    names_of_others,
    refused_by_server,
    unstorable_kinds,
)
from rukpak_py.apply.preflight.olm import managed_elsewhere
from rukpak_py.apply.results import DryRun, Failure, FailureKind, kind_wake, namespace_wake
from rukpak_py.apply.trying_out import not_checkable
from rukpak_py.core.objects import GroupVersionKind, Head, ObjectKey
from rukpak_py.formats.format import OlmIdentity, Requirement
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, NAMESPACES, Resource
from tests.manifests import config_map, manifest
from tests.unit.apply.lives import LABELS_OF_OTHER, OUR_LABELS, OWNER, desired, key, live, namespace, owned

BASKET = GroupVersionKind("shop.example.org", "v1", "Basket")
WAITS_FOR_BASKETS = frozenset({kind_wake(BASKET.group_kind)})
EVERY_VERB = frozenset({"get", "list", "watch", "create", "patch", "delete", "deletecollection", "update"})


@dataclass
class Server:
    """Answers what gates ask of it, and remembers it."""

    exists: bool = True
    of_olm: list[ObjectKey] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    untried: list[ObjectKey] = field(default_factory=list)
    asked: list[bool] = field(default_factory=list)
    tried: list[Change] = field(default_factory=list)
    calls: int = 0

    async def still_exists(self, is_doubtful: bool) -> bool:  # noqa: FBT001 - the port's form
        self.asked.append(is_doubtful)
        return self.exists

    async def managed_by_olm(self, _: OlmIdentity) -> list[ObjectKey]:
        self.calls += 1
        return self.of_olm

    async def dry_run(self, plan: Plan, skip: Callable[[Change], bool]) -> DryRun:
        self.calls += 1
        self.tried += [change for change in plan.writes if not skip(change)]
        return DryRun(failures=tuple(self.failures), untried=tuple(self.untried))


async def before_looking(one: Candidate) -> list[AnyRefusal | PassedWithWarnings]:
    return [found for gate in GATES if gate.phase is GatePhase.CONTENT and (found := await gate.ask(one))]


def candidate(
    *manifests: dict[str, Any],
    there: str = "",
    missing: tuple[Head, ...] = (),
    resources: tuple[Resource, ...] = (),
    install_namespace: str = "",
    requirements: tuple[Requirement, ...] = (),
    makes_namespace: str = "",
    watch_namespaces: tuple[str, ...] = (),
    may_bring_namespaces: bool = True,
    had: frozenset[ObjectKey] = frozenset(),
    server: Server | None = None,
    **others: Any,
) -> Candidate:
    server = server or Server()
    known = {one.gvk: one for one in (CONFIG_MAPS, NAMESPACES, *resources)}
    return Candidate(
        desired=tuple(desired(manifest) for manifest in manifests),
        resolution=Resolution(states=dict.fromkeys(known, KindState.SERVED), resources=known, missing=missing),
        has_namespace=lambda name: name in there.split(),
        is_served=lambda gvk: gvk in known,
        install_namespace=install_namespace,
        requirements=requirements,
        makes_namespace=makes_namespace,
        watch_namespaces=watch_namespaces,
        may_bring_namespaces=may_bring_namespaces,
        had=had.__contains__,
        still_exists=server.still_exists,
        managed_by_olm=server.managed_by_olm,
        dry_run=server.dry_run,
        **others,
    )


def plan_of(
    *wanted: Desired, live: Mapping[ObjectKey, ObservedObject] | None = None, adopt: Adopt = Adopt.NEVER
) -> Plan:
    return make_plan(wanted, live=live or {}, owned={}, fields={}, owner=OWNER, adopt=adopt)


def crd(kind: str = "Basket") -> Desired:
    spec = {"group": "shop.example.org", "names": {"kind": kind, "plural": "x"}, "scope": "Namespaced"}
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "x.shop.example.org"},
        "spec": spec,
    }
    return desired(manifest)


def basket() -> Desired:
    return desired({"apiVersion": BASKET.api_version, "kind": BASKET.kind, "metadata": {"name": "b"}})


# Kinds, requirements and namespaces


BASKETS_NEEDED = Requirement(gvk=BASKET, file="metadata/dependencies.yaml")


def test_required_kind_that_is_not_served_is_named_and_waited_for() -> None:
    refusal = missing_requirements(candidate(requirements=(BASKETS_NEEDED,)))
    assert refusal is not None
    assert "the kind Basket (shop.example.org/v1), as metadata/dependencies.yaml says" in refusal.message
    assert (refusal.kind, refusal.wakes) == (FailureKind.MISSING, WAITS_FOR_BASKETS)


def test_a_required_kind_that_is_served_or_brought_is_not() -> None:
    served = Requirement(gvk=CONFIG_MAPS.gvk, file="x")
    needed = replace(candidate(requirements=(served, BASKETS_NEEDED)), desired=(crd(),))
    assert missing_requirements(needed) is None


async def test_certificates_that_cannot_be_had_refuse_the_content() -> None:
    wrong = Failure(key=key("a"), kind=FailureKind.CONTENT, message="Service a: not a DNS label")
    refusals = await before_looking(replace(candidate(config_map(), there="ns"), wrong_certificates=(wrong,)))
    assert refusals == [RefusedObjects(failures=(wrong,))]


def test_object_in_a_namespace_that_will_be_made_is_not_tried_out() -> None:
    plan = plan_of(desired(config_map()))
    (change,) = plan.writes
    assert not_checkable(plan, makes_namespace="ns")(change)
    assert not not_checkable(plan, makes_namespace="other")(change)


def test_a_namespace_that_the_content_chose_is_made() -> None:
    assert missing_namespaces(candidate(config_map(), makes_namespace="ns")) is None
    assert missing_namespaces(candidate(config_map(), makes_namespace="other")) is not None


async def test_content_that_needs_nothing_is_not_refused() -> None:
    assert await before_looking(candidate(config_map(), there="ns")) == []


def test_missing_kinds_are_named_and_waited_for() -> None:
    refusal = missing_kinds(candidate(missing=(Head(gvk=BASKET, namespace="ns", name="b"),)))
    assert refusal is not None
    assert 'no matches for kind "Basket" in version "shop.example.org/v1"' in refusal.message
    assert (refusal.kind, refusal.wakes) == (FailureKind.MISSING, WAITS_FOR_BASKETS)


@pytest.mark.parametrize(
    ("verbs", "is_refused"),
    [
        (frozenset(), False),  # of a kind that only the content has so far, they are unknown
        (EVERY_VERB, False),
        (EVERY_VERB - {"deletecollection", "update"}, False),
        (frozenset({"create"}), True),  # a SubjectAccessReview
        (EVERY_VERB - {"watch"}, True),
        (EVERY_VERB - {"delete"}, True),
    ],
)
def test_kind_that_the_server_does_not_store_cannot_be_installed(verbs: frozenset[str], *, is_refused: bool) -> None:
    review = Resource(
        gvk=GroupVersionKind("authorization.k8s.io", "v1", "SubjectAccessReview"),
        plural="subjectaccessreviews",
        namespaced=False,
        verbs=verbs,
    )
    manifests = (manifest("authorization.k8s.io/v1", "SubjectAccessReview", "may-read"), config_map())
    refusal = unstorable_kinds(candidate(*manifests, resources=(review,)))
    assert (refusal is not None) is is_refused
    if refusal is not None:
        assert (refusal.kind, refusal.wakes) == (FailureKind.CONTENT, frozenset()), "nothing ends it"
        assert '"SubjectAccessReview" in version "authorization.k8s.io/v1"' in refusal.message
        assert [(one.kind, one.name) for one in refusal.objects] == [("SubjectAccessReview", "may-read")]


@pytest.mark.parametrize(
    ("manifests", "there", "absent"),
    [
        ([config_map()], "ns", []),
        ([config_map()], "", ["ns"]),
        ([config_map(), namespace("ns")], "", []),
        ([config_map(), namespace("other")], "", ["ns"]),
        ([namespace("other")], "", []),
    ],
)
def test_a_namespace_must_be_there_or_in_the_content(
    manifests: list[dict[str, Any]], there: str, absent: list[str]
) -> None:
    refusal = missing_namespaces(candidate(*manifests, there=there))
    assert (refusal.wakes if refusal is not None else frozenset()) == set(map(namespace_wake, absent))
    for name in absent:
        assert refusal is not None
        assert refusal.kind is FailureKind.MISSING
        assert refusal.message == (
            f"required resource not found: Namespace {name} not found (needed by ConfigMap ns/a); "
            "create it or add it to the bundle"
        )
        assert refusal.message.endswith(refusal.brief)


def test_a_missing_namespace_is_told_with_some_of_its_objects() -> None:
    refusal = missing_namespaces(candidate(*map(config_map, "abcde"), install_namespace="ns"))
    assert refusal is not None
    assert refusal.brief == (
        "Namespace ns not found (needed by ConfigMap ns/a, ConfigMap ns/b, ConfigMap ns/c and 2 more); "
        "create it, add it to the bundle, set spec.createNamespace: true, or change spec.installNamespace"
    )


@pytest.mark.parametrize(
    ("install_namespace", "watch_namespaces", "advice"),
    [
        ("", (), "create it"),
        ("ns", ("ns",), "create it, set spec.createNamespace: true, or change spec.installNamespace"),
        ("other", ("ns",), "create it or change spec.watchNamespaces"),
    ],
)
def test_a_bundle_that_cannot_bring_namespaces_is_not_asked_to(
    install_namespace: str, watch_namespaces: tuple[str, ...], advice: str
) -> None:
    refusal = missing_namespaces(
        candidate(
            config_map(),
            install_namespace=install_namespace,
            watch_namespaces=watch_namespaces,
            may_bring_namespaces=False,
        )
    )
    assert refusal is not None
    assert refusal.brief == f"Namespace ns not found (needed by ConfigMap ns/a); {advice}"


async def test_everything_that_is_refused_before_looking_is_named() -> None:
    wrong = Failure(key=key("a"), kind=FailureKind.CONTENT, message="Service a: not a DNS label")
    one = candidate(config_map(), missing=(Head(gvk=BASKET, namespace="ns", name="b"),), wrong_certificates=(wrong,))
    no_kind, no_namespace, certificates = await before_looking(one)
    assert isinstance(no_kind, Refusal)
    assert isinstance(no_namespace, Refusal)
    assert 'kind "Basket"' in no_kind.message
    assert "Namespace ns not found" in no_namespace.message
    assert no_kind.brief == (
        "Basket.shop.example.org/ns/b: the cluster has no kind Basket (shop.example.org/v1); "
        "install its CRD or add it to the bundle"
    )
    assert no_namespace.brief == (
        "Namespace ns not found (needed by ConfigMap ns/a); create it or add it to the bundle"
    )
    assert no_kind.objects == (ObjectKey(BASKET.group, BASKET.kind, "ns", "b"),)
    assert no_namespace.objects == (NAMESPACES.key("", "ns"),)
    assert (no_kind.wakes, no_namespace.wakes) == (WAITS_FOR_BASKETS, frozenset({namespace_wake("ns")}))
    assert certificates == RefusedObjects(failures=(wrong,))


# Ownership


def test_objects_of_others_are_all_named_and_waited_for() -> None:
    lives = {key("a"): live("a"), key("b"): live("b", labels=LABELS_OF_OTHER)}
    refusal = names_of_others(candidate(plan=plan_of(*map(desired, map(config_map, "abc")), live=lives)))
    assert refusal is not None
    assert "ConfigMap ns/a exists and is not managed by anyone" in refusal.message
    assert "ConfigMap ns/b belongs to BundleDeployment other" in refusal.message
    assert (refusal.kind, refusal.wakes) == (FailureKind.CONFLICT, frozenset({key("a"), key("b")}))
    assert refusal.objects == (key("a"), key("b"))


def test_names_that_are_free_or_ours_are_not_refused() -> None:
    lives = {key("a"): live(**owned("a")), key("b"): live("b", labels=OUR_LABELS)}
    assert names_of_others(candidate(plan=plan_of(*map(desired, map(config_map, "abc")), live=lives))) is None


def test_a_name_that_its_owner_is_about_to_fill_again_is_not_free() -> None:
    refusal = names_of_others(candidate(returning={key("b"): "other", key("a"): "third"}))
    assert refusal is not None
    first, second = refusal.message.split(" && ")
    assert first == (
        "ConfigMap ns/a belongs to BundleDeployment third; remove it from one of the two bundles, or, to hand "
        "its objects over, delete that BundleDeployment with --cascade=orphan and set spec.adopt: IfUnowned here"
    )
    assert second.startswith("ConfigMap ns/b belongs to BundleDeployment other")
    assert (refusal.kind, refusal.wakes) == (FailureKind.CONFLICT, frozenset({key("a"), key("b")}))


# Whether the deployment still exists


WANTED = desired(config_map())
OURS_BY_LABEL = {WANTED.key: live(labels=OUR_LABELS)}
UNOWNED = {WANTED.key: live()}
AS_APPLIED = {WANTED.key: live(**owned())}


@pytest.mark.parametrize(
    ("lives", "applied", "asked"),
    [
        (AS_APPLIED, frozenset({WANTED.key}), []),  # all is there
        ({}, frozenset(), [False]),  # something is created
        ({}, frozenset({WANTED.key}), [True]),  # something that was applied is gone: perhaps with the deployment
        (OURS_BY_LABEL, frozenset(), [True]),  # its owner reference is gone: perhaps a deletion that orphans
        (UNOWNED, frozenset(), []),  # adopted; it never had our reference
    ],
)
async def test_a_deployment_is_looked_for_when_something_it_had_is_missing(
    lives: Mapping[ObjectKey, ObservedObject], *, applied: frozenset[ObjectKey], asked: list[bool]
) -> None:
    server, plan = Server(), plan_of(WANTED, live=lives, adopt=Adopt.IF_UNOWNED)
    assert await deployment_is_gone(candidate(plan=plan, had=applied, server=server)) is None
    assert server.asked == asked


async def test_nothing_is_written_for_a_deployment_that_is_gone() -> None:
    refusal = await deployment_is_gone(candidate(plan=plan_of(WANTED), server=Server(exists=False)))
    assert refusal == OwnerIsGone()


# OLM

OLM = OlmIdentity(package="shop", csv="shop.v1")
SUBSCRIBED = ObjectKey("operators.coreos.com", "Subscription", "ns", "shop")


@pytest.mark.parametrize(
    ("about", "calls"),
    [({"olm": OLM}, 1), ({"olm": OLM, "is_installed": True}, 0), ({"olm": None}, 0)],
    ids=["an install or an upgrade", "what is installed stays", "no bundle of OLM"],
)
async def test_a_package_that_olm_manages_is_not_installed_beside_it(about: dict[str, Any], calls: int) -> None:
    server = Server(of_olm=[SUBSCRIBED])
    refusal = await managed_elsewhere(candidate(server=server, **about))
    assert server.calls == calls
    assert (refusal is not None) is bool(calls)
    if refusal is not None:
        assert refusal.message.startswith(f'OLM manages the package "shop" in this cluster ({SUBSCRIBED})')
        assert (refusal.kind, refusal.wakes, refusal.objects) == (FailureKind.CONFLICT, frozenset(), (SUBSCRIBED,))


# Dry-run


@pytest.mark.parametrize("is_upgrade", [True, False])
async def test_only_an_upgrade_is_tried_out(*, is_upgrade: bool) -> None:
    refused = failure(FailureKind.REFUSED)
    server = Server(failures=[refused])
    refusal = await refused_by_server(candidate(plan=plan_of(WANTED), is_upgrade=is_upgrade, server=server))
    assert server.calls == int(is_upgrade)
    assert refusal == (RefusedObjects(failures=(refused,)) if is_upgrade else None)


RBAC = "rbac.authorization.k8s.io/v1"
ROLE = desired(manifest(RBAC, "Role", "a", "ns", rules=[]))
CLUSTER_ROLE = desired(manifest(RBAC, "ClusterRole", "a", rules=[]))
BINDINGS = {
    kind: desired(manifest(RBAC, "RoleBinding", kind.lower(), "ns", roleRef={"kind": kind, "name": "a"}, subjects=[]))
    for kind in ("Role", "ClusterRole")
}


@pytest.mark.parametrize(
    ("about", "tried"),
    [
        ({"has_account": True}, {"Role", "RoleBinding"}),
        ({"has_account": True, "is_upgrade": True}, {"Role", "RoleBinding", "ConfigMap"}),
        ({"has_account": True, "is_installed": True}, set()),
        ({}, set()),
        ({"is_upgrade": True}, {"Role", "RoleBinding", "ConfigMap"}),
    ],
)
async def test_roles_of_a_first_install_are_tried_out_for_an_account(about: dict[str, Any], tried: set[str]) -> None:
    plan = plan_of(WANTED, ROLE, BINDINGS["ClusterRole"])
    server = Server()
    await refused_by_server(candidate(plan=plan, server=server, **about))
    assert {change.key.kind for change in server.tried} == tried


def test_binding_to_a_role_of_the_same_plan_is_not_tried_out_for_an_account() -> None:
    plan = plan_of(ROLE, *BINDINGS.values())
    skip = not_checkable(plan, has_account=True)
    assert {change.key.name: skip(change) for change in plan.changes} == {
        "a": False,
        "role": True,
        "clusterrole": False,
    }
    plan = plan_of(CLUSTER_ROLE, BINDINGS["ClusterRole"])
    skip = not_checkable(plan, has_account=True)
    assert {change.key.kind: skip(change) for change in plan.changes} == {"ClusterRole": False, "RoleBinding": True}


def test_object_that_needs_a_namespace_or_kind_of_the_same_plan_is_not_tried_out() -> None:
    plan = plan_of(desired(namespace("ns")), crd(), basket(), desired(config_map()))
    skip = not_checkable(plan)
    assert {change.key.kind: skip(change) for change in plan.changes} == {
        "Namespace": False,
        "CustomResourceDefinition": False,
        "Basket": True,
        "ConfigMap": True,
    }


def test_object_that_needs_only_existing_objects_is_tried_out() -> None:
    there, definition = desired(namespace("ns")), crd()
    unchanged = {
        there.key: live(**owned("ns"), gvk=NAMESPACES.gvk, namespace=""),
        definition.key: live(**owned("x.shop.example.org"), gvk=definition.head.gvk, namespace=""),
    }
    plan = plan_of(there, definition, basket(), desired(config_map()), live=unchanged)
    plan = replace(
        plan,
        changes=tuple(replace(one, action=Action.LEAVE) if one.live is not None else one for one in plan.changes),
    )
    assert not any(map(not_checkable(plan), plan.writes))


def failure(kind: FailureKind, name: str = "a", retry_after: float = 0.0) -> Failure:
    return Failure(key=key(name), kind=kind, message=f"{name} failed", retry_after=retry_after)


MISSING, REFUSED = failure(FailureKind.MISSING), failure(FailureKind.REFUSED, "b", 3.0)
DENIED = failure(FailureKind.ACCESS, "c", 7.0)


@pytest.mark.parametrize("failures", [[], [MISSING], [MISSING, REFUSED, DENIED]])
async def test_all_that_the_server_would_refuse_is_told(failures: list[Failure]) -> None:
    """Each with its own kind and pause; what that comes to is told of facts (test_deployment_facts)."""
    refusal = await refused_by_server(
        candidate(plan=plan_of(WANTED), is_upgrade=True, server=Server(failures=failures))
    )
    assert refusal == (RefusedObjects(failures=tuple(failures)) if failures else None)


async def test_an_upgrade_waits_for_what_is_yet_to_be_tried_out() -> None:
    untried = [WANTED.key]
    server = Server(untried=untried)
    refusal = await refused_by_server(candidate(plan=plan_of(WANTED), is_upgrade=True, server=server))
    assert refusal == Untried(keys=(WANTED.key,))
    server.failures.append(REFUSED)
    refusal = await refused_by_server(candidate(plan=plan_of(WANTED), is_upgrade=True, server=server))
    assert refusal == RefusedObjects(failures=(REFUSED,)), "a refusal is told at once"


@pytest.mark.parametrize("kind", [BUNDLE_DEPLOYMENTS, BUNDLES], ids=["the deployment", "its Bundle"])
async def test_content_that_contains_what_installs_it_is_refused(kind: Resource) -> None:
    one = manifest(kind.gvk.api_version, kind.gvk.kind, "shop", spec={})
    (key,) = (found.key for found in candidate(one).desired)
    refusal = contains_itself(candidate(one, itself=frozenset({key})))
    assert refusal is not None
    assert refusal.kind is FailureKind.CONTENT
    assert refusal.message.startswith(f"the bundle contains {key}, which installs it; ")
    assert contains_itself(candidate(one, itself=frozenset({key._replace(name="other")}))) is None


# The list


def test_the_order_of_the_gates_is_that_of_the_preflight() -> None:
    assert [(gate.name, gate.phase.name, gate.costs_calls) for gate in GATES] == [
        ("itself", "CONTENT", False),
        ("kinds", "CONTENT", False),
        ("storable kinds", "CONTENT", False),
        ("requirements", "CONTENT", False),
        ("namespaces", "CONTENT", False),
        ("certificates", "CONTENT", False),
        ("permissions", "CONTENT", True),
        ("ownership", "PLAN", False),
        ("still exists", "PLAN", True),
        ("olm", "PLAN", True),
        ("CRD safety", "PLAN", True),
        ("dry run", "DRY_RUN", True),
    ]

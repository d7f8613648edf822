"""The gates: what each of them refuses, in which words, and whose change brings the deployment back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import Adopt
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Action, Change, Plan, make_plan
from rukpak_py.apply.preflight import (
    GATES,
    Candidate,
    GatePhase,
    Refusal,
    dry_run,
    kinds,
    namespaces,
    olm,
    ownership,
    requirements,
    still_exists,
)
from rukpak_py.apply.preflight.refusal import GONE, WaitsFor, ended_by, merged
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Head, ObjectKey
from rukpak_py.formats.format import OlmIdentity, Requirement
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from tests.manifests import config_map
from tests.unit.apply.lives import LABELS_OF_OTHER, OUR_LABELS, OWNER, desired, key, live, namespace, owned

BASKET = GroupVersionKind("shop.example.org", "v1", "Basket")
CONFLICT = frozenset({FailureKind.CONFLICT})
EVERY_VERB = frozenset({"get", "list", "watch", "create", "patch", "delete", "deletecollection", "update"})


@dataclass
class Server:
    """Answers what gates ask of it, and remembers it."""

    exists: bool = True
    of_olm: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    asked: list[bool] = field(default_factory=list)
    calls: int = 0

    async def still_exists(self, is_doubtful: bool) -> bool:  # noqa: FBT001 - the port's form
        self.asked.append(is_doubtful)
        return self.exists

    async def managed_by_olm(self, _: OlmIdentity) -> list[str]:
        self.calls += 1
        return self.of_olm

    async def dry_run(self, _plan: Plan, _skip: Callable[[Change], bool]) -> list[Failure]:
        self.calls += 1
        return self.failures


async def before_looking(one: Candidate) -> Refusal | None:
    return merged([found for gate in GATES if gate.phase is GatePhase.CONTENT and (found := await gate.ask(one))])


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


def test_a_required_kind_that_nobody_serves_is_named_and_waited_for() -> None:
    refusal = requirements.missing(candidate(requirements=(BASKETS_NEEDED,)))
    assert refusal is not None
    assert "the kind Basket (shop.example.org/v1), as metadata/dependencies.yaml says" in refusal.message
    assert refusal.failure_kinds == {FailureKind.MISSING}
    assert refusal.waits_for == WaitsFor(kinds=frozenset({BASKET.group_kind}))


def test_a_required_kind_that_is_served_or_brought_is_not() -> None:
    served = Requirement(gvk=CONFIG_MAPS.gvk, file="x")
    needed = replace(candidate(requirements=(served, BASKETS_NEEDED)), desired=(crd(),))
    assert requirements.missing(needed) is None


async def test_certificates_that_cannot_be_had_refuse_the_content() -> None:
    wrong = Failure(key=key("a"), kind=FailureKind.CONTENT, message="Service a: not a DNS label")
    refusal = await before_looking(replace(candidate(config_map(), there="ns"), wrong_certificates=(wrong,)))
    assert refusal is not None
    assert refusal.message == "Service a: not a DNS label"
    assert refusal.failure_kinds == {FailureKind.CONTENT}


def test_what_goes_to_a_namespace_that_will_be_made_is_not_tried_out() -> None:
    plan = plan_of(desired(config_map()))
    (change,) = plan.writes
    assert dry_run.not_checkable(plan, "ns")(change)
    assert not dry_run.not_checkable(plan, "other")(change)


def test_a_namespace_that_the_content_chose_is_made() -> None:
    assert namespaces.missing(candidate(config_map(), makes_namespace="ns")) is None
    assert namespaces.missing(candidate(config_map(), makes_namespace="other")) is not None


async def test_content_that_needs_nothing_is_not_refused() -> None:
    assert await before_looking(candidate(config_map(), there="ns")) is None


def test_missing_kinds_are_named_and_waited_for() -> None:
    refusal = kinds.missing(candidate(missing=(Head(gvk=BASKET, namespace="ns", name="b"),)))
    assert refusal is not None
    assert 'no matches for kind "Basket" in version "shop.example.org/v1"' in refusal.message
    assert refusal.failure_kinds == {FailureKind.MISSING}
    assert refusal.waits_for == WaitsFor(kinds=frozenset({BASKET.group_kind}))


@pytest.mark.parametrize(
    ("verbs", "is_refused"),
    [
        (frozenset(), False),  # of a kind that only the content has so far, nobody knows them
        (EVERY_VERB, False),
        (EVERY_VERB - {"deletecollection", "update"}, False),
        (frozenset({"create"}), True),  # a SubjectAccessReview
        (EVERY_VERB - {"watch"}, True),
        (EVERY_VERB - {"delete"}, True),
    ],
)
def test_what_the_server_does_not_store_cannot_be_installed(verbs: frozenset[str], *, is_refused: bool) -> None:
    review = Resource(
        gvk=GroupVersionKind("authorization.k8s.io", "v1", "SubjectAccessReview"),
        plural="subjectaccessreviews",
        namespaced=False,
        verbs=verbs,
    )
    refusal = kinds.not_storable(candidate(resources=(review,)))
    assert (refusal is not None) is is_refused
    if refusal is not None:
        assert refusal.failure_kinds == {FailureKind.CONTENT}
        assert '"SubjectAccessReview" in version "authorization.k8s.io/v1"' in refusal.message


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
    refusal = namespaces.missing(candidate(*manifests, there=there))
    assert (list(refusal.waits_for.namespaces) if refusal is not None else []) == absent
    for name in absent:
        assert refusal is not None
        assert refusal.message == (
            f'required resource not found: Namespace "{name}" not found (needed by ConfigMap ns/a); '
            "create it or add it to the bundle"
        )
        assert refusal.message.endswith(refusal.brief)


def test_a_missing_namespace_is_told_with_some_of_its_objects() -> None:
    refusal = namespaces.missing(candidate(*map(config_map, "abcde"), install_namespace="ns"))
    assert refusal is not None
    assert refusal.brief == (
        'Namespace "ns" not found (needed by ConfigMap ns/a, ConfigMap ns/b, ConfigMap ns/c and 2 more); '
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
    refusal = namespaces.missing(
        candidate(
            config_map(),
            install_namespace=install_namespace,
            watch_namespaces=watch_namespaces,
            may_bring_namespaces=False,
        )
    )
    assert refusal is not None
    assert refusal.brief == f'Namespace "ns" not found (needed by ConfigMap ns/a); {advice}'


async def test_everything_that_is_refused_before_looking_is_named() -> None:
    refusal = await before_looking(candidate(config_map(), missing=(Head(gvk=BASKET, namespace="ns", name="b"),)))
    assert refusal is not None
    assert 'kind "Basket"' in refusal.message
    assert 'Namespace "ns" not found' in refusal.message
    assert refusal.brief == (
        "Basket ns/b: the cluster has no kind Basket (shop.example.org/v1); install its CRD or add it to the bundle "
        '&& Namespace "ns" not found (needed by ConfigMap ns/a); create it or add it to the bundle'
    )
    assert refusal.waits_for == WaitsFor(kinds=frozenset({BASKET.group_kind}), namespaces=frozenset({"ns"}))


# Ownership


def test_objects_of_others_are_all_named_and_waited_for() -> None:
    lives = {key("a"): live("a"), key("b"): live("b", labels=LABELS_OF_OTHER)}
    refusal = ownership.refused(candidate(plan=plan_of(*map(desired, map(config_map, "abc")), live=lives)))
    assert refusal is not None
    assert "ConfigMap ns/a exists and is not managed by anyone" in refusal.message
    assert 'ConfigMap ns/b belongs to the BundleDeployment "other"' in refusal.message
    assert refusal.failure_kinds == CONFLICT
    assert refusal.waits_for == WaitsFor(objects=frozenset({key("a"), key("b")}))


def test_names_that_are_free_or_ours_are_not_refused() -> None:
    lives = {key("a"): live(**owned("a")), key("b"): live("b", labels=OUR_LABELS)}
    assert ownership.refused(candidate(plan=plan_of(*map(desired, map(config_map, "abc")), live=lives))) is None


def test_a_name_that_its_owner_is_about_to_fill_again_is_not_free() -> None:
    refusal = ownership.refused(candidate(returning={key("b"): "other", key("a"): "third"}))
    assert refusal is not None
    first, second = refusal.message.split(" && ")
    assert first == (
        'ConfigMap ns/a belongs to the BundleDeployment "third"; remove it from one of the two bundles, or, to hand '
        "its objects over, delete that BundleDeployment with --cascade=orphan and set spec.adopt: IfUnowned here"
    )
    assert second.startswith('ConfigMap ns/b belongs to the BundleDeployment "other"')
    assert refusal.waits_for.objects == {key("a"), key("b")}


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
    assert await still_exists.refusal(candidate(plan=plan, had=applied, server=server)) is None
    assert server.asked == asked


async def test_nothing_is_written_for_a_deployment_that_is_gone() -> None:
    refusal = await still_exists.refusal(candidate(plan=plan_of(WANTED), server=Server(exists=False)))
    assert refusal is GONE
    assert refusal.is_gone


# OLM

OLM = OlmIdentity(package="shop", csv="shop.v1")


@pytest.mark.parametrize(
    ("about", "calls"),
    [({"olm": OLM}, 1), ({"olm": OLM, "is_installed": True}, 0), ({"olm": None}, 0)],
    ids=["an install or an upgrade", "what is installed stays", "no bundle of OLM"],
)
async def test_a_package_that_olm_manages_is_not_installed_beside_it(about: dict[str, Any], calls: int) -> None:
    server = Server(of_olm=["Subscription ns/shop"])
    refusal = await olm.refusal(candidate(server=server, **about))
    assert server.calls == calls
    assert (refusal is not None) is bool(calls)
    if refusal is not None:
        assert refusal.message.startswith('OLM manages the package "shop" in this cluster (Subscription ns/shop)')
        assert refusal.failure_kinds == CONFLICT


# Dry-run


@pytest.mark.parametrize("is_upgrade", [True, False])
async def test_only_an_upgrade_is_tried_out(*, is_upgrade: bool) -> None:
    server = Server(failures=[failure(FailureKind.REFUSED)])
    refusal = await dry_run.refusal(candidate(plan=plan_of(WANTED), is_upgrade=is_upgrade, server=server))
    assert server.calls == int(is_upgrade)
    assert (refusal is not None) is is_upgrade


def test_what_needs_a_namespace_or_a_kind_of_the_same_plan_cannot_be_tried_out() -> None:
    plan = plan_of(desired(namespace("ns")), crd(), basket(), desired(config_map()))
    skip = dry_run.not_checkable(plan)
    assert {change.key.kind: skip(change) for change in plan.changes} == {
        "Namespace": False,
        "CustomResourceDefinition": False,
        "Basket": True,
        "ConfigMap": True,
    }


def test_what_needs_only_what_is_there_can_be_tried_out() -> None:
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
    assert not any(map(dry_run.not_checkable(plan), plan.writes))


def failure(kind: FailureKind, name: str = "a", retry_after: float = 0.0) -> Failure:
    return Failure(key=key(name), kind=kind, message=f"{name} failed", retry_after=retry_after)


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([], None),
        (
            [failure(FailureKind.MISSING)],
            Refusal(message="required resource not found: a failed", failure_kinds=frozenset({FailureKind.MISSING})),
        ),
        (
            [
                failure(FailureKind.MISSING),
                failure(FailureKind.REFUSED, "b", 3.0),
                failure(FailureKind.ACCESS, "c", 7.0),
            ],
            Refusal(
                message="a failed && b failed && c failed",
                failure_kinds=frozenset({FailureKind.MISSING, FailureKind.REFUSED, FailureKind.ACCESS}),
                retry_after=7.0,
            ),
        ),
    ],
)
def test_all_that_the_server_would_refuse_is_told(failures: list[Failure], expected: Refusal | None) -> None:
    assert dry_run.refusal_of(failures) == (expected and replace(expected, waits_for=ended_by(failures)))


# The list


def test_the_order_of_the_gates_is_that_of_the_preflight() -> None:
    assert [(gate.name, gate.phase.name, gate.costs_calls) for gate in GATES] == [
        ("kinds", "CONTENT", False),
        ("storable kinds", "CONTENT", False),
        ("requirements", "CONTENT", False),
        ("namespaces", "CONTENT", False),
        ("certificates", "CONTENT", False),
        ("ownership", "PLAN", False),
        ("still exists", "PLAN", True),
        ("olm", "PLAN", True),
        ("dry run", "DRY_RUN", True),
    ]


# Refusals


def test_refusals_are_merged_with_all_that_ends_them() -> None:
    one = Refusal(message="one", failure_kinds=CONFLICT, waits_for=WaitsFor(objects=frozenset({key("a")})))
    other = Refusal(
        message="other",
        failure_kinds=frozenset({FailureKind.MISSING}),
        waits_for=WaitsFor(namespaces=frozenset({"n"}), kinds=frozenset({GroupKind("", "K")})),
    )
    assert merged([]) is None
    assert merged([one]) is one
    assert merged([one, other]) == Refusal(
        message="one && other",
        brief="one && other",
        failure_kinds=frozenset({FailureKind.CONFLICT, FailureKind.MISSING}),
        waits_for=WaitsFor(
            objects=frozenset({key("a")}), namespaces=frozenset({"n"}), kinds=frozenset({GroupKind("", "K")})
        ),
    )


@pytest.mark.parametrize(
    ("waits_for", "waits"),
    [
        (WaitsFor(), False),
        (WaitsFor(kinds=frozenset({GroupKind("", "K")})), True),
        (WaitsFor(namespaces=frozenset({"n"})), True),
        (WaitsFor(objects=frozenset({key()})), True),
    ],
)
def test_a_wait_for_nothing_is_no_wait(waits_for: WaitsFor, *, waits: bool) -> None:
    assert bool(waits_for) is waits


SETTINGS = key("a", namespace="shop")


@pytest.mark.parametrize(
    ("kind", "waits_for"),
    [
        (FailureKind.CONTENT, WaitsFor()),
        (FailureKind.REFUSED, WaitsFor()),
        (FailureKind.CONFLICT, WaitsFor()),
        (FailureKind.ACCESS, WaitsFor(quotas=frozenset({"shop"}))),
        (FailureKind.UNAVAILABLE, WaitsFor(namespaces=frozenset({"shop"}))),
        (
            FailureKind.MISSING,
            WaitsFor(namespaces=frozenset({"shop"}), kinds=frozenset({CONFIG_MAPS.group_kind})),
        ),
        (
            FailureKind.LAGGING,
            WaitsFor(namespaces=frozenset({"shop"}), kinds=frozenset({CONFIG_MAPS.group_kind})),
        ),
    ],
)
def test_what_may_end_a_failure_of_a_request(kind: FailureKind, waits_for: WaitsFor) -> None:
    assert ended_by([Failure(key=SETTINGS, kind=kind, message="m")]) == waits_for


def test_a_cluster_scoped_object_waits_for_no_namespace() -> None:
    failure = Failure(key=NAMESPACES.key("", "shop"), kind=FailureKind.ACCESS, message="m")
    assert ended_by([failure]) == WaitsFor()

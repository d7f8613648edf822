"""Whether a kind can be worked with: every combination of what discovery, the CRDs and our own records say."""

from itertools import product

import pytest

from rukpak_py.apply.kinds import KindFacts, KindState, Resolution, kind_state, missing_kinds_brief, missing_kinds_text
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Head
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, Resource

BASKET = GroupVersionKind("shop.example.org", "v1", "Basket")
BASKETS = Resource(gvk=BASKET, plural="baskets", namespaced=True)

# Discovery does not show the kind. `brought`: by this content; `recorded`: in the status; `crd`: what the cluster's CRD
# says of it; `hidden`: without a CRD, it may exist all the same.
BROUGHT, RECORDED, HIDDEN = "brought", "recorded", "hidden"
NO_CRD, OTHER_VERSION, THIS_VERSION = "no CRD", "a CRD without this version", "a CRD with this version"
NOT_SHOWN: dict[tuple[str, frozenset[str]], KindState] = {
    (NO_CRD, frozenset()): KindState.MISSING,
    (NO_CRD, frozenset({HIDDEN})): KindState.MISSING,
    (NO_CRD, frozenset({RECORDED})): KindState.GONE,
    (NO_CRD, frozenset({RECORDED, HIDDEN})): KindState.UNSERVED,
    (NO_CRD, frozenset({BROUGHT})): KindState.NEW,
    (NO_CRD, frozenset({BROUGHT, HIDDEN})): KindState.NEW,
    (NO_CRD, frozenset({BROUGHT, RECORDED})): KindState.NEW,  # gone, and it comes back with this content
    (NO_CRD, frozenset({BROUGHT, RECORDED, HIDDEN})): KindState.UNSERVED,
    (OTHER_VERSION, frozenset()): KindState.MISSING,
    (OTHER_VERSION, frozenset({HIDDEN})): KindState.MISSING,
    (OTHER_VERSION, frozenset({RECORDED})): KindState.MISSING,
    (OTHER_VERSION, frozenset({RECORDED, HIDDEN})): KindState.MISSING,
    (OTHER_VERSION, frozenset({BROUGHT})): KindState.NEW,
    (OTHER_VERSION, frozenset({BROUGHT, HIDDEN})): KindState.NEW,
    (OTHER_VERSION, frozenset({BROUGHT, RECORDED})): KindState.NEW,
    (OTHER_VERSION, frozenset({BROUGHT, RECORDED, HIDDEN})): KindState.NEW,
    # Its objects exist, whatever else is true: discovery lags, or has just started.
    **{
        (THIS_VERSION, frozenset(one for one, is_so in zip((BROUGHT, RECORDED, HIDDEN), said, strict=True) if is_so)): (
            KindState.UNSERVED
        )
        for said in product((False, True), repeat=3)
    },
}


def facts(crd: str, said: frozenset[str], *, is_served: bool) -> KindFacts:
    return KindFacts(
        is_served=is_served,
        is_brought=BROUGHT in said,
        is_recorded=RECORDED in said,
        is_defined=crd != NO_CRD,
        is_version_defined=crd == THIS_VERSION,
        may_be_hidden=HIDDEN in said,
    )


def _named(value: object) -> str:
    """The value in the same order in every process, which that of a set is not."""
    return f"{value[0]}; {', '.join(sorted(value[1]))}" if isinstance(value, tuple) else str(value)


def test_the_table_is_complete() -> None:
    assert len(NOT_SHOWN) == 3 * 2**3


@pytest.mark.parametrize(("case", "expected"), NOT_SHOWN.items(), ids=_named)
def test_a_kind_that_discovery_does_not_show(case: tuple[str, frozenset[str]], expected: KindState) -> None:
    assert kind_state(facts(*case, is_served=False)) is expected


@pytest.mark.parametrize("case", NOT_SHOWN, ids=_named)
def test_a_kind_that_discovery_shows_is_served_whatever_else_is_true(case: tuple[str, frozenset[str]]) -> None:
    assert kind_state(facts(*case, is_served=True)) is KindState.SERVED


def test_a_resolution_names_its_kinds_by_state() -> None:
    resolution = Resolution(
        states={
            CONFIG_MAPS.gvk: KindState.SERVED,
            SECRETS.gvk: KindState.SERVED,
            BASKET: KindState.NEW,
            BASKET._replace(version="v2"): KindState.UNSERVED,
        },
        resources={CONFIG_MAPS.gvk: CONFIG_MAPS, SECRETS.gvk: SECRETS, BASKET: BASKETS},
    )
    assert resolution.served == [CONFIG_MAPS, SECRETS]
    assert resolution.of(KindState.NEW, KindState.UNSERVED) == {GroupKind("shop.example.org", "Basket")}
    assert not resolution.of(KindState.GONE)


def test_missing_kinds_are_told_in_the_originals_words() -> None:
    head = Head(gvk=BASKET, namespace="shop", name="b")
    assert missing_kinds_text([head]) == (
        'required resource not found: [resource mapping not found for name: "b" namespace: "shop" from "": '
        'no matches for kind "Basket" in version "shop.example.org/v1"\nensure CRDs are installed first]'
    )
    assert missing_kinds_text([head, head]).count("no matches for kind") == 2


def test_missing_kinds_are_told_in_one_line_too() -> None:
    baskets = [Head(gvk=BASKET, namespace="shop", name=name) for name in "abcd"]
    policy = Head(gvk=GroupVersionKind("policy", "v1beta1", "PodSecurityPolicy"), namespace="", name="p")
    assert missing_kinds_brief([*baskets, policy]) == (
        "Basket.shop.example.org/shop/a, Basket.shop.example.org/shop/b, Basket.shop.example.org/shop/c and 1 more: "
        "the cluster has no kind Basket (shop.example.org/v1); install its CRD or add it to the bundle && "
        "PodSecurityPolicy.policy/p: the cluster has no kind PodSecurityPolicy "
        "(policy/v1beta1); use a version that the cluster serves, or remove it from the bundle"
    )

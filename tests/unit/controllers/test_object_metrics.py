"""Metrics of single objects follow the caches, and their number has a bound."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import Condition
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, PLAIN_CLASS
from rukpak_py.api.upgrades import PendingUpgrade
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.object_metrics import Expiry, ObjectMetrics
from rukpak_py.core import metrics
from rukpak_py.core.objects import ObjectKey
from tests.scrapes import samples
from tests.unit.controllers.values import START, STARTED, bundle, deployment

DEPLOYMENT = {"kind": BUNDLE_DEPLOYMENT_KIND, "name": "shop"}
SECRET = ObjectKey("", "Secret", "shop", "hooks-cert")


def condition(kind: str, status: str, reason: str = "Why") -> Condition:
    return Condition(type=kind, status=status, reason=reason, message="", last_transition_time=STARTED)


def deployed(name: str, *conditions: Condition, suspend: bool = False, **status: Any) -> BundleDeployment:
    made = deployment(name)
    return replace(
        made,
        metadata=replace(made.metadata, name=name, uid=f"uid-of-{name}"),
        spec=replace(made.spec, suspend=suspend),
        status=BundleDeploymentStatus(conditions=conditions, **status),
    )


def scraped(
    *deployments: BundleDeployment,
    bundles: Sequence[Bundle] = (),
    expiries: Sequence[Expiry] = (),
    per_object: bool = True,
    most: int = 10,
) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Samples of the collector, by their names."""
    collector = ObjectMetrics(bundles, deployments, expiries=lambda: expiries, per_object=per_object, most=most)
    return {
        family.name: [(dict(sample.labels), sample.value) for sample in family.samples]
        for family in collector.collect()
    }


@pytest.mark.parametrize(
    ("one", "ready", "since", "stalled"),
    [
        (deployed("shop", condition("Ready", "True")), 1, [], []),
        (deployed("shop"), 0, [], []),
        (deployed("shop", condition("Ready", "Unknown", "Progressing")), 0, [("Progressing", START)], []),
        (deployed("shop", condition("Ready", "False", "Unhealthy")), 0, [("Unhealthy", START)], []),
        (
            deployed("shop", condition("Ready", "False", "Conflict"), condition("Stalled", "True", "Conflict")),
            *(0, [("Conflict", START)], ["Conflict"]),
        ),
        (deployed("shop", condition("Ready", "True"), condition("Stalled", "False")), 1, [], []),
    ],
)
def test_readiness_is_that_of_the_conditions(
    one: BundleDeployment, ready: float, since: list[tuple[str, float]], stalled: list[str]
) -> None:
    found = scraped(one)
    assert found["rukpak_resource_ready"] == [(DEPLOYMENT, ready)]
    assert found["rukpak_resource_not_ready_since_timestamp_seconds"] == [
        ({**DEPLOYMENT, "reason": reason}, at) for reason, at in since
    ]
    assert found["rukpak_resource_stalled"] == [({**DEPLOYMENT, "reason": reason}, 1) for reason in stalled]


def test_a_time_that_cannot_be_read_is_left_out() -> None:
    odd = replace(condition("Ready", "False"), last_transition_time="yesterday")
    found = scraped(deployed("shop", odd))
    assert found["rukpak_resource_not_ready_since_timestamp_seconds"] == []
    assert found["rukpak_resource_ready"] == [(DEPLOYMENT, 0)]


def test_pauses_and_upgrades_that_wait_are_shown() -> None:
    pending = PendingUpgrade(digest="d", bundle="b", reason="NotApproved", verdict="Safe", since=STARTED)
    found = scraped(deployed("shop", suspend=True, pending_upgrade=pending, version="1.2.3"))
    assert found["rukpak_resource_suspended"] == [(DEPLOYMENT, 1)]
    assert found["rukpak_resource_upgrade_pending_since_timestamp_seconds"] == [
        ({**DEPLOYMENT, "reason": "NotApproved"}, START)
    ]
    more = {"class": PLAIN_CLASS, "source": "configMaps", "version": "1.2.3"}
    assert found["rukpak_resource_info"] == [({**DEPLOYMENT, **more}, 1)]
    usual = scraped(deployed("shop"))
    assert usual["rukpak_resource_suspended"] == []
    assert usual["rukpak_resource_upgrade_pending_since_timestamp_seconds"] == []


def test_bundles_have_the_same_metrics() -> None:
    one = bundle("b", status=BundleStatus(conditions=(condition("Ready", "True"),)))
    found = scraped(bundles=[one])
    place = {"kind": BUNDLE_KIND, "name": "b"}
    assert found["rukpak_resource_ready"] == [(place, 1)]
    assert found["rukpak_resource_info"][0][0] == {**place, "class": PLAIN_CLASS, "source": "configMaps", "version": ""}


def test_beyond_the_limit_those_that_are_ready_are_left_out() -> None:
    good = [deployed(f"a{number}", condition("Ready", "True")) for number in range(5)]
    bad = [deployed(f"z{number}", condition("Ready", "False")) for number in range(2)]
    found = scraped(*good, *bad, most=3)
    assert [labels["name"] for labels, _ in found["rukpak_resource_ready"]] == ["z0", "z1", "a0"]
    assert ({"kind": BUNDLE_DEPLOYMENT_KIND}, 4) in found["rukpak_resources_left_out"]
    assert ({"kind": BUNDLE_DEPLOYMENT_KIND, "ready": "True"}, 5) in found["rukpak_resources"]
    assert ({"kind": BUNDLE_DEPLOYMENT_KIND, "ready": "False"}, 2) in found["rukpak_resources"]
    assert ({"kind": BUNDLE_DEPLOYMENT_KIND, "ready": "Unknown"}, 0) in found["rukpak_resources"]


def test_beyond_the_limit_those_that_alerts_are_about_come_first() -> None:
    pending = PendingUpgrade(digest="d", bundle="b", reason="NotApproved", verdict="Safe", since=STARTED)
    found = scraped(
        deployed("a-good", condition("Ready", "True")),
        deployed("b-paused", condition("Ready", "False"), suspend=True),
        deployed("c-waits", condition("Ready", "True"), pending_upgrade=pending),
        deployed("d-bad", condition("Ready", "False")),
        most=2,
    )
    assert [labels["name"] for labels, _ in found["rukpak_resource_ready"]] == ["d-bad", "c-waits"]
    assert [labels["name"] for labels, _ in found["rukpak_resource_upgrade_pending_since_timestamp_seconds"]] == [
        "c-waits"
    ]


def test_beyond_the_limit_certificates_that_expire_last_are_left_out() -> None:
    """Times may have any offset from UTC: their order is not that of their texts. Odd ones take no place."""
    expiries = [
        (ObjectKey("", "Secret", "shop", name), "uid-of-shop", end)
        for name, end in [
            ("a-odd", "soon"),
            ("b-last", "2027-01-01T00:00:00+00:00"),
            ("c-first", "2026-01-02T01:00:00+09:00"),
            ("d-second", "2026-01-02T00:00:00+00:00"),
        ]
    ]
    found = scraped(deployed("shop"), expiries=expiries, most=2)
    shown = found["rukpak_serving_certificate_expiry_timestamp_seconds"]
    assert [labels["secret"] for labels, _ in shown] == ["c-first", "d-second"]


def test_without_metrics_of_single_objects_their_number_is_left() -> None:
    found = scraped(deployed("shop"), per_object=False)
    assert set(found) == {"rukpak_resources"}


def test_certificates_are_those_of_deployments() -> None:
    """Another client may set the label that the operator watches on any Secret."""
    foreign = ObjectKey("", "Secret", "shop", "foreign")
    odd = ObjectKey("", "Secret", "shop", "odd")
    expiries = [
        (foreign, "", STARTED),
        (foreign, "uid-of-another", STARTED),
        (SECRET, "uid-of-shop", STARTED),
        (odd, "uid-of-shop", "soon"),
    ]
    found = scraped(deployed("shop"), expiries=expiries)
    labels = {"deployment": "shop", "secret_namespace": "shop", "secret": "hooks-cert"}
    assert found["rukpak_serving_certificate_expiry_timestamp_seconds"] == [(labels, START)]


def test_a_deleted_object_leaves_no_series() -> None:
    cache: Cache[BundleDeployment] = Cache(clock=lambda: 0.0)
    cache.put(deployed("short-lived", condition("Ready", "False")))
    collector = ObjectMetrics((), cache, expiries=tuple, per_object=True, most=10)
    labels = frozenset({"kind": BUNDLE_DEPLOYMENT_KIND, "name": "short-lived"}.items())
    with metrics.exported(collector):
        assert labels in samples("rukpak_resource_ready")
        cache.drop("short-lived", "uid-of-short-lived")
        assert labels not in samples("rukpak_resource_ready")
        assert samples("rukpak_resources")
    assert not samples("rukpak_resources")

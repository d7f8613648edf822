"""Judgments before an installation: an empty cluster passes, and each obstacle is one finding."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rukpak_py.cli.checks.before import check_before
from rukpak_py.cli.checks.facts import BeforeFacts
from rukpak_py.cli.checks.results import CheckResult, Json, Level, Unread
from rukpak_py.cli.checks.server import NEEDED, check_server
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import CLUSTER_ROLES, CRDS
from tests.unit.cli.checks import sound

ERROR, WARNING = Level.ERROR, Level.WARNING
HIDDEN = Unread(why='User "tina" cannot list resource')
ROLE = CLUSTER_ROLES.key("", "core-admin")
CRD = CRDS.key("", "bundles.core.rukpak.io")
POLICY = next(iter(sound.before().accepted))
STORED_AS_V1: Json = {"status": {"storedVersions": ["v1", "v1alpha1"]}}
CLAIMED = {"annotations": {"core.rukpak.io/operator-namespace": "other"}}
RULE: Json = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create"]}


def wrong(facts: BeforeFacts) -> list[CheckResult]:
    return [one for one in check_before(facts) if one.level is not Level.OK]


def of_release(name: str, namespace: str) -> Metadata:
    return Metadata(
        name="core-admin",
        sent_annotations={"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace},
    )


def test_empty_cluster_has_no_findings() -> None:
    assert wrong(sound.before()) == []


def crd_with(**metadata: Any) -> Mapping[str, Any]:
    return {"crds": {CRD: sound.live_crd(sound.SHIPPED_CRDS[CRD], **metadata)}}


@pytest.mark.parametrize(
    ("change", "check", "level", "words"),
    [
        ({"missing": {"": [RULE]}}, "may-install", ERROR, "in the whole cluster: create deployments (apps)"),
        ({"missing": HIDDEN}, "may-install", WARNING, "not checked"),
        ({"accepted": {POLICY: "undeclared reference"}}, "policies-accepted", ERROR, "undeclared reference"),
        ({"accepted": {POLICY: HIDDEN}}, "policies-accepted", WARNING, "not checked"),
        (crd_with(labels={}), "crds", WARNING, "this operator did not install it"),
        (crd_with(deletionTimestamp="2026"), "crds", ERROR, "being deleted"),
        (
            {
                "crds": {
                    CRD: sound.live_crd(sound.SHIPPED_CRDS[CRD]) | {"status": {"storedVersions": ["v1", "v1alpha1"]}}
                }
            },
            "crds",
            ERROR,
            "stored as v1,",
        ),
        ({"crds": {CRD: HIDDEN}}, "crds", WARNING, "not checked"),
        ({"existing": {ROLE: Metadata(name="core-admin")}}, "leftovers", WARNING, "no Helm release has them"),
        ({"existing": {ROLE: of_release("web", "shop")}}, "leftovers", WARNING, "of the Helm release shop/web"),
        ({"existing": {ROLE: HIDDEN}}, "leftovers", WARNING, "not checked"),
        ({"operators": [Metadata(name="core", namespace="other")]}, "other-operators", ERROR, "another operator"),
        ({"operators": HIDDEN}, "other-operators", WARNING, "not checked"),
        (
            {**crd_with(**CLAIMED), "lease": sound.lease(sound.NOW)},
            "other-operators",
            ERROR,
            "system namespace other is at work (holder core-0_10.0.0.1)",
        ),
        ({**crd_with(**CLAIMED), "lease": HIDDEN}, "other-operators", WARNING, "not checked"),
    ],
)
def test_obstacle_is_one_finding(change: Mapping[str, Any], check: str, level: Level, words: str) -> None:
    (found,) = wrong(replace(sound.before(), **change))
    assert (found.check, found.level) == (check, level)
    assert words in found.message
    assert found.hint


@pytest.mark.parametrize(
    "change",
    [
        {"existing": {ROLE: of_release("rukpak", sound.NAMESPACE)}},
        {"existing": {ROLE: None}},
        {**crd_with(**CLAIMED), "lease": sound.lease(sound.NOW - timedelta(hours=1))},
        {**crd_with(**CLAIMED), "lease": None},
        {"operators": [Metadata(name="core", namespace=sound.NAMESPACE)]},
    ],
    ids=["of this release", "not there", "claim of a dead operator", "claim without a lease", "this operator"],
)
def test_object_that_is_not_in_the_way_is_no_finding(change: Mapping[str, Any]) -> None:
    assert wrong(replace(sound.before(), **change)) == []


@pytest.mark.parametrize(
    ("major", "minor", "level"),
    [
        ("1", "29", ERROR),
        ("1", "30", Level.OK),
        ("1", "30+", Level.OK),
        ("1", "35", Level.OK),
        ("1", "40", Level.OK),
        ("2", "0", Level.OK),
        ("1", "", WARNING),
        ("", "x", WARNING),
    ],
)
def test_version_of_the_server_is_compared_with_the_oldest(major: str, minor: str, level: Level) -> None:
    found = next(check_server(replace(sound.SERVER, major=major, minor=minor)))
    assert (found.check, found.level) == ("kubernetes-version", level)


@pytest.mark.parametrize("kind", NEEDED, ids=lambda kind: kind.kind)
def test_kind_that_is_not_served_is_an_error(kind: Any) -> None:
    (_, found) = check_server(replace(sound.SERVER, served=sound.SERVER.served - {kind}))
    assert (found.check, found.level, found.object) == ("kinds-served", ERROR, kind.kind)

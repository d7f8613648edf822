"""Workloads of some content that serve its kinds: only what the content itself shows is followed."""

from typing import Any

import pytest

from rukpak_py.apply.serving_workloads import serving_workloads
from rukpak_py.core.objects import GroupKind, ObjectKey
from tests.unit.apply.lives import desired

KIND = GroupKind("shop.example.org", "Basket")
WEB = ObjectKey("apps", "Deployment", "ns", "web")
SERVICE = {"clientConfig": {"service": {"name": "hooks", "namespace": "ns", "path": "/x"}}}

Manifest = dict[str, Any]


def crd(*, converts: bool) -> Manifest:
    webhook = {**SERVICE, "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": webhook} if converts else {"strategy": "None"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "baskets.shop.example.org"},
        "spec": {
            "group": KIND.group,
            "names": {"kind": KIND.kind, "plural": "baskets"},
            "scope": "Namespaced",
            "conversion": conversion,
        },
    }


def service(**selector: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hooks"}, "spec": {"selector": selector}}


def workload(name: str = "web", kind: str = "Deployment", **labels: str) -> Manifest:
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def configuration(groups: list[str], resources: list[str], kind: str = "Validating") -> Manifest:
    webhook = {**SERVICE, "name": "a.example.org", "rules": [{"apiGroups": groups, "resources": resources}]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "hooks"},
        "webhooks": [webhook],
    }


def served(*manifests: Manifest) -> dict[GroupKind, set[ObjectKey]]:
    found = serving_workloads([desired(one) for one in manifests])
    return {kind: set(keys) for kind, keys in found.items()}


def test_workload_of_a_conversion_webhook_serves_the_kind() -> None:
    assert served(crd(converts=True), service(app="web"), workload(app="web", tier="x")) == {KIND: {WEB}}


@pytest.mark.parametrize("resources", [["baskets"], ["other", "baskets/*"], ["*"], ["*/*"]])
def test_workload_of_an_admission_webhook_serves_the_kind(resources: list[str]) -> None:
    rules = configuration([KIND.group], resources)
    assert served(crd(converts=False), rules, service(app="web"), workload(app="web")) == {KIND: {WEB}}


@pytest.mark.parametrize(
    "manifests",
    [
        [crd(converts=False), service(app="web"), workload(app="web")],
        [crd(converts=True), workload(app="web")],
        [crd(converts=True), service(), workload(app="web")],
        [crd(converts=True), service(app="other"), workload(app="web")],
        [crd(converts=True), service(app="web"), workload(app="web", kind="ReplicaSet")],
        [crd(converts=False), configuration(["*"], ["*"]), service(app="web"), workload(app="web")],
        [crd(converts=False), configuration([KIND.group], ["crates"]), service(app="web"), workload(app="web")],
        [configuration([KIND.group], ["baskets"]), service(app="web"), workload(app="web")],
    ],
    ids=[
        "no webhook",
        "a service of others",
        "a service without a selector",
        "pods of others",
        "a kind that selects nothing",
        "a rule about everything",
        "a rule about another kind",
        "a kind of others",
    ],
)
def test_nothing_of_the_content_serves_it(manifests: list[Manifest]) -> None:
    assert served(*manifests) == {}


@pytest.mark.parametrize("odd", [None, 5, "x", [5], [{}], {"a": "b"}], ids=str)
def test_invalid_webhook_serves_nothing(odd: Any) -> None:
    broken = configuration([KIND.group], ["baskets"])
    broken["webhooks"][0]["rules"] = [{"apiGroups": odd, "resources": odd}, odd]
    selecting = service(app="web")
    selecting["spec"]["selector"] = odd
    converting = crd(converts=True)
    converting["spec"]["conversion"]["webhook"] = odd
    assert served(converting, broken, selecting, workload(app="web")) == {}
    assert served(crd(converts=False), {**broken, "webhooks": odd}, workload(app="web")) == {}


def test_several_workloads_behind_one_service() -> None:
    other = workload("other", kind="StatefulSet", app="web")
    found = served(crd(converts=True), service(app="web"), workload(app="web"), other)
    assert found == {KIND: {WEB, ObjectKey("apps", "StatefulSet", "ns", "other")}}

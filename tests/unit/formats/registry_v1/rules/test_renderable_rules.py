"""Rules for a bundle to be rendered: each with several errors, in the reference renderer's words and order."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.rules import demand_renderable, renderable
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Locator, judge
from tests.unit.bundles import (
    ALL_MODES,
    bundle,
    crd,
    csv_document,
    deployment,
    manifest,
    modes,
    owned_crd,
    webhook,
)

RFC = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DEMO = "demos.demo.example.com"
LONG = "x" * 254
ONLY_ALL = {"installModes": modes("AllNamespaces")}
ADMISSION = "admissionregistration.k8s.io"


def judged(tree: Tree, *, parity: bool = True) -> list[Finding]:
    found = read(tree, parity=parity, limits=DEFAULT_LIMITS).bundle
    assert found is not None
    return list(judge([renderable.FAMILY], found, Locator(tree)))


def with_csv(**fields: Any) -> Tree:
    return bundle(csv=csv_document(**fields))


def with_webhooks(*webhooks: dict[str, Any]) -> Tree:
    return with_csv(webhooks=webhooks, **ONLY_ALL)


def converting(name: str, *definitions: str) -> dict[str, Any]:
    return webhook(name, "Conversion", conversionCRDs=list(definitions))


def ruled(name: str, kind: str, *rules: tuple[list[str], list[str]]) -> dict[str, Any]:
    return webhook(name, kind, rules=[{"apiGroups": groups, "resources": resources} for groups, resources in rules])


CASES: dict[str, tuple[str, Tree, list[str]]] = {
    "duplicate deployments, once per name": (
        "RV1-001",
        with_csv(deployments=[deployment(name) for name in ("b", "a", "b", "a", "b", "c")], webhooks=[]),
        [f"cluster service version contains duplicate strategy deployment spec '{name}'" for name in ("a", "b")],
    ),
    "bad deployment names, by name, reasons sorted": (
        "RV1-002",
        with_csv(deployments=[deployment(name) for name in (LONG, "Bad", LONG.upper(), "")]),
        [
            f"invalid cluster service version strategy deployment name '{name}': {reasons}"
            for name, reasons in [
                ("", RFC),
                ("Bad", RFC),
                (LONG.upper(), f"{RFC}, must be no more than 253 characters"),
                (LONG, "must be no more than 253 characters"),
            ]
        ],
    ),
    "duplicate definitions": (
        "RV1-003",
        bundle(crds=[crd(), crd(), crd(), crd("a"), crd("a")]),
        [f"bundle contains duplicate custom resource definition '{name}'" for name in ("a.demo.example.com", DEMO)],
    ),
    "owned definitions that are missing, once per name": (
        "RV1-004",
        with_csv(owned=[owned_crd("z.z", version="v1"), owned_crd("z.z", version="v2"), owned_crd(), owned_crd("a.a")]),
        [
            f"cluster service definition references owned custom resource definition '{name}' not found in bundle"
            for name in ("a.a", "z.z")
        ],
    ),
    "no package": ("RV1-005", bundle(package=None), ["package name is empty"]),
    "an empty package": ("RV1-005", bundle(package=""), ["package name is empty"]),
    "conversion and other modes, in the order of the CSV": (
        "RV1-006",
        with_csv(
            webhooks=[converting("b", DEMO), converting("a")],
            installModes=modes("Odd", "OwnNamespace", "AllNamespaces"),
        ),
        [
            f'bundle contains conversion webhook "{name}" and supports install modes '
            "[AllNamespaces Odd OwnNamespace] - conversion webhooks are only supported for bundles that only support "
            "AllNamespaces install mode"
            for name in ("b", "a")
        ],
    ),
    "conversion without any mode": (
        "RV1-006",
        with_csv(webhooks=[converting("c", DEMO)], installModes=[]),
        [
            (
                'bundle contains conversion webhook "c" and supports install modes [] - conversion webhooks are only '
                "supported for bundles that only support AllNamespaces install mode"
            )
        ],
    ),
    "webhooks without their deployment, by deployment, type, name": (
        "RV1-007",
        with_webhooks(
            webhook("v2", deployment_name="z"),
            webhook("v1", deployment_name="z"),
            webhook("v3", "Weird", deployment_name="z"),
            webhook("m", "Mutating", deployment_name="a"),
            webhook("c", "Conversion", deployment_name=""),
        ),
        [
            f"webhook of type '{kind}' with name '{name}' references non-existent deployment '{missing}'"
            for kind, name, missing in [
                ("ConversionWebhook", "c", ""),
                ("MutatingAdmissionWebhook", "m", "a"),
                ("ValidatingAdmissionWebhook", "v1", "z"),
                ("ValidatingAdmissionWebhook", "v2", "z"),
                ("Weird", "v3", "z"),
            ]
        ],
    ),
    "duplicate webhooks, once per type and name": (
        "RV1-008",
        with_webhooks(
            *(webhook("v") for _ in range(3)),
            *(webhook(name, "Mutating") for name in ("b", "a", "b", "a", "v")),
            *(webhook("w", "Weird") for _ in range(2)),
        ),
        [
            f"duplicate webhook '{name}' of type '{kind}'"
            for kind, name in [
                ("MutatingAdmissionWebhook", "a"),
                ("MutatingAdmissionWebhook", "b"),
                ("ValidatingAdmissionWebhook", "v"),
                ("Weird", "w"),
            ]
        ],
    ),
    "bad webhook names, reasons without a blank": (
        "RV1-009",
        with_webhooks(
            webhook("B_"), webhook("-a"), webhook("m-", "Mutating"), converting(LONG.upper()), webhook("", "Weird")
        ),
        [
            f"webhook of type '{kind}' has invalid name '{name}': {reasons}"
            for kind, name, reasons in [
                ("ConversionWebhook", LONG.upper(), f"{RFC},must be no more than 253 characters"),
                ("MutatingAdmissionWebhook", "m-", RFC),
                ("ValidatingAdmissionWebhook", "-a", RFC),
                ("ValidatingAdmissionWebhook", "B_", RFC),
                ("Weird", "", RFC),
            ]
        ],
    ),
    "definitions with several conversions": (
        "RV1-010",
        with_webhooks(converting("c2", "z.z", "a.a", "a.a"), converting("c1", "z.z")),
        [
            "conversion webhooks [c2,c2] reference same custom resource definition 'a.a'",
            "conversion webhooks [c1,c2] reference same custom resource definition 'z.z'",
        ],
    ),
    "conversions of what is not owned, each time it is named": (
        "RV1-011",
        with_webhooks(converting("b", "z.z", DEMO, "a.a", "z.z"), converting("a", "b.b")),
        [
            f"conversion webhook '{name}' references custom resource definition '{definition}' not owned bundle"
            for name, definition in [("a", "b.b"), ("b", "a.a"), ("b", "z.z"), ("b", "z.z")]
        ],
    ),
    "forbidden rules, in the order of the CSV": (
        "RV1-012",
        with_webhooks(
            ruled(
                "v",
                "Validating",
                (["apps", "*"], ["x"]),
                ([ADMISSION], ["*", "Pods", "ValidatingWebhookConfigurations"]),
            ),
            ruled("c", "Conversion", (["*"], [])),
            ruled("m", "Mutating", ([ADMISSION, "olm.operatorframework.io"], ["mutatingwebhookconfiguration"])),
            ruled("w", "Weird", (["*"], [])),
        ),
        [
            f'webhook "{name}" contains forbidden rule: admission webhook rules cannot reference {what}'
            for name, what in [
                ("v", 'API group "*"'),
                ("v", f'resource "*" for API group "{ADMISSION}"'),
                ("v", f'resource "ValidatingWebhookConfigurations" for API group "{ADMISSION}"'),
                ("m", f'resource "mutatingwebhookconfiguration" for API group "{ADMISSION}"'),
                ("m", 'API group "olm.operatorframework.io"'),
                ("w", 'API group "*"'),
            ]
        ],
    ),
    "kinds that are not supported, in the order of files": (
        "RV1-013",
        bundle(others=[manifest("Pod", "p"), manifest("Role", "r"), manifest("configmap", "c"), {"kind": "Job"}]),
        [
            f'unsupported resource "{name}" with kind "{kind}"'
            for name, kind in [("p", "Pod"), ("c", "configmap"), ("", "Job")]
        ],
    ),
}


@pytest.mark.parametrize(("rule", "tree", "messages"), CASES.values(), ids=CASES)
def test_errors_are_told_in_upstreams_words_and_order(rule: str, tree: Tree, messages: list[str]) -> None:
    found = [finding for finding in judged(tree) if finding.rule == rule]
    assert [finding.message for finding in found] == messages
    assert all(finding.hint and finding.is_error for finding in found)


@pytest.mark.parametrize(("rule", "tree", "messages"), CASES.values(), ids=CASES)
def test_every_error_has_a_line(rule: str, tree: Tree, messages: list[str]) -> None:
    found = [finding for finding in judged(tree) if finding.rule == rule]
    assert len(found) == len(messages)
    assert all(finding.line > (finding.path != "kind" and rule != "RV1-005") for finding in found)


def test_a_good_bundle_breaks_no_rule() -> None:
    assert judged(bundle()) == []
    supported = [manifest(kind, "x") for kind in ("PriorityClass", "NetworkPolicy", "ConsolePlugin", "PodMonitor")]
    assert judged(bundle(others=supported)) == []


def test_rules_run_in_their_order_and_all_of_them() -> None:
    csv = csv_document(
        deployments=[deployment("a"), deployment("a")],
        owned=[owned_crd("q.q")],
        webhooks=[converting("c_", "r.r"), ruled("c_", "Validating", (["*"], []))],
        installModes=modes(*ALL_MODES),
    )
    tree = bundle(csv=csv, package=None, crds=[crd(), crd()], others=[manifest("Pod", "p")])
    numbers = list(dict.fromkeys(finding.rule for finding in judged(tree)))
    assert numbers == [f"RV1-{number:03}" for number in (1, 3, 4, 5, 6, 7, 9, 11, 12, 13)]


def test_a_place_is_the_field_that_is_wrong() -> None:
    tree = with_csv(deployments=[deployment("a"), deployment("Bad")])
    (finding,) = judged(tree)
    assert finding.path == "spec.install.spec.deployments[1].name"
    text = tree["manifests/csv.yaml"].decode().splitlines()
    assert text[finding.line - 1][finding.column - 1 :] == "Bad"
    assert finding.location == f"manifests/csv.yaml:{finding.line}:{finding.column}"


def test_the_dash_that_rendering_removes_is_refused_in_parity_only() -> None:
    tree = with_webhooks(webhook("a-"), webhook("b--"))
    assert len(judged(tree)) == 2
    (finding,) = judged(tree, parity=False)
    assert "'b--'" in finding.message


def test_names_that_rendering_makes_equal_are_refused() -> None:
    tree = with_webhooks(webhook("a"), webhook("a-"), webhook("a-", "Mutating"))
    (finding,) = judged(tree, parity=False)
    assert (finding.rule, finding.path) == ("RV1-008", "spec.webhookdefinitions[1].generateName")
    assert {finding.rule for finding in judged(tree)} == {"RV1-009"}


def test_forbidden_resources_are_told_once_for_people() -> None:
    """Hundreds of thousands of groups and as many resources would be told in as many combinations."""
    tree = with_webhooks(ruled("v", "Validating", ([ADMISSION] * 3, ["*", "pods"])))
    assert len(judged(tree)) == 3
    assert len(judged(tree, parity=False)) == 1


def test_in_parity_the_refusal_is_the_joined_texts() -> None:
    tree = bundle(package=None, others=[manifest("Pod", "p")])
    with pytest.raises(InvalidBundleError) as caught:
        demand(tree, parity=True)
    assert str(caught.value) == 'package name is empty\nunsupported resource "p" with kind "Pod"'


def test_for_people_the_refusal_says_where() -> None:
    tree = bundle(package=None, others=[manifest("Pod", "p")])
    with pytest.raises(InvalidBundleError) as caught:
        demand(tree, parity=False)
    assert str(caught.value).splitlines() == [
        "metadata/annotations.yaml:1:1: package name is empty [RV1-005]",
        'manifests/other-0.yaml:2:7: unsupported resource "p" with kind "Pod" [RV1-013]',
    ]


def test_collisions_are_refused_and_repetitions_are_not() -> None:
    repeated = bundle(others=[manifest("ConfigMap", "c"), manifest("ConfigMap", "c", namespace="elsewhere")])
    different = bundle(others=[manifest("ConfigMap", "c"), manifest("ConfigMap", "c", data={"a": "b"})])
    demand(repeated, parity=False)
    demand(different, parity=True)
    with pytest.raises(InvalidBundleError, match=r"other-0\.yaml and in manifests/other-1\.yaml \[RV1-913\]"):
        demand(different, parity=False)


def demand(tree: Tree, *, parity: bool) -> None:
    found = read(tree, parity=parity, limits=DEFAULT_LIMITS).bundle
    assert found is not None
    demand_renderable(InstallRequest(bundle=found), Locator(tree))

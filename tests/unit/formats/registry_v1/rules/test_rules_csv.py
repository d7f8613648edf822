"""The ClusterServiceVersion as operator-framework's validator sees it: each of its checks."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats import dns
from rukpak_py.formats.registry_v1.rules import cluster_service_version, examples
from tests.unit.bundles import ALL_MODES, Json, bundle, csv_document, modes, owned_crd, webhook
from tests.unit.readings import findings_of, told

_EXAMPLE = '{"apiVersion":"demo.example.com/v1","kind":"Demo"}'
_API = "Demo (demo.example.com/v1)"


def without(manifest: Json, *path: str) -> Json:
    """A copy without the field."""
    *above, last = path
    if not above:
        return {key: value for key, value in manifest.items() if key != last}
    return {**manifest, above[0]: without(manifest[above[0]], *above[1:], last)}


def with_field(manifest: Json, value: Any, *path: str) -> Json:
    first, *below = path
    return {**manifest, first: with_field(manifest.get(first) or {}, value, *below) if below else value}


GOOD = csv_document()
LONG = "a" * 64
NOTHING_INSTALLED = "the CSV installs no deployment"


def test_a_good_one_has_no_findings() -> None:
    assert told(bundle(), cluster_service_version.FAMILY, examples.FAMILY) == []


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (
            csv_document("Demo_1"),
            [("RV1-201", f'metadata.name "Demo_1" is invalid: {",".join(dns.subdomain("Demo_1"))}')],
        ),
        (csv_document(LONG), [("RV1-201", f'metadata.name "{LONG}" is invalid: must be no more than 63 bytes')]),
        (
            csv_document(replaces="Old_1"),
            [("RV1-202", f'spec.replaces "Old_1" is invalid: {",".join(dns.subdomain("Old_1"))}')],
        ),
        (csv_document(replaces=""), []),
        (without(GOOD, "apiVersion"), [("RV1-203", "apiVersion is missing")]),
        (without(GOOD, "spec", "displayName"), [("RV1-204", "spec.displayName is missing")]),
        (without(GOOD, "spec", "install"), [("RV1-204", "spec.install is missing")]),
        (
            without(GOOD, "spec", "install", "strategy"),
            [("RV1-204", "spec.install.strategy is missing")],
        ),
        (
            without(GOOD, "spec", "install", "spec", "deployments"),
            [("RV1-204", "spec.install.spec.deployments is missing")],
        ),
        (without(GOOD, "spec", "install", "spec"), [("RV1-701", NOTHING_INSTALLED)]),
        (csv_document(deployments=[]), [("RV1-701", NOTHING_INSTALLED)]),
        (csv_document(installModes=[]), [("RV1-205", "spec.installModes lists no install mode")]),
        (
            csv_document(installModes=[*modes("AllNamespaces"), *modes("AllNamespaces")[:1]]),
            [("RV1-206", "the install mode AllNamespaces is listed twice")],
        ),
        (csv_document(installModes=modes()), [("RV1-207", "no install mode is supported")]),
        (csv_document(installModes=modes("Other")), []),
        (
            csv_document(minKubeVersion="v1.20.0"),
            [("RV1-210", 'spec.minKubeVersion "v1.20.0" is not a semantic version')],
        ),
        (csv_document(minKubeVersion="1.20"), [("RV1-210", 'spec.minKubeVersion "1.20" is not a semantic version')]),
        (csv_document(minKubeVersion="1.20.0-x+y"), []),
        (
            csv_document(annotations={"olm.skiprange": "<1.0.0"}),
            [("RV1-211", "OLM does not read the annotation olm.skiprange: it is spelled olm.skipRange")],
        ),
        (csv_document(annotations={"olm.skipRange": "<1.0.0"}), []),
        (
            csv_document(annotations={"olm.properties": "[]"}),
            [("RV1-212", "the CSV has the annotation olm.properties")],
        ),
        (
            csv_document(owned=[owned_crd(), owned_crd("nodot")]),
            [("RV1-213", "the name 'nodot' of an owned CRD has no group")],
        ),
    ],
)
def test_each_rule_tells_its_defect(manifest: Json, expected: list[tuple[str, str]]) -> None:
    assert told(bundle(csv=manifest), cluster_service_version.FAMILY) == expected


@pytest.mark.parametrize("version", [None, "", "  "])
def test_a_missing_minimum_version_is_a_warning(version: str | None) -> None:
    (finding,) = findings_of(bundle(csv=csv_document(minKubeVersion=version)), cluster_service_version.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-209", Severity.WARNING)
    assert finding.message.startswith("spec.minKubeVersion is not set")


@pytest.mark.parametrize(("version", "right"), [("v1.20.0", "1.20.0"), (" v1.16.0-0", "1.16.0-0"), ("v1.20", "")])
def test_the_version_that_was_meant_is_named(version: str, right: str) -> None:
    (finding,) = findings_of(bundle(csv=csv_document(minKubeVersion=version)), cluster_service_version.FAMILY)
    assert (finding.hint == f"Write `{right}`.") is bool(right)


def test_an_api_version_of_another_case_is_named() -> None:
    manifest = {"ApiVersion": "v1", **without(GOOD, "apiVersion")}
    (finding,) = findings_of(bundle(csv=manifest), cluster_service_version.FAMILY)
    assert (finding.rule, finding.hint) == ("RV1-203", "Did you mean `apiVersion` instead of `ApiVersion`?")


def test_annotations_in_the_spec_are_to_be_moved() -> None:
    misplaced = {**GOOD["spec"], "annotations": {"a": "b"}}
    manifest = {**without(GOOD, "metadata", "annotations"), "spec": misplaced}
    (finding,) = findings_of(bundle(csv=manifest), examples.FAMILY)
    assert finding.rule == "RV1-220"
    assert finding.hint.startswith("Move `spec.annotations`")


def test_metadata_and_a_spec_that_are_missing_are_told_as_a_whole() -> None:
    rules = [
        rule for rule, _ in told(bundle(csv={**GOOD, "metadata": None, "spec": None}), cluster_service_version.FAMILY)
    ]
    assert rules == ["RV1-201", "RV1-204", "RV1-204", "RV1-205", "RV1-209"]


@pytest.mark.parametrize(
    ("supported", "is_allowed"),
    [
        (("AllNamespaces",), True),
        (ALL_MODES, False),
        (("OwnNamespace",), False),
        ((), False),
    ],
)
def test_conversion_webhooks_allow_only_all_namespaces(supported: tuple[str, ...], *, is_allowed: bool) -> None:
    converting = webhook("c", "Conversion", conversionCRDs=["demos.demo.example.com"])
    manifest = csv_document(webhooks=[webhook("v"), converting], installModes=modes(*supported))
    expected = (
        "webhook 'c' has conversionCRDs, for which the CSV must support the install mode AllNamespaces and no other"
    )
    assert (("RV1-006", expected) in told(bundle(csv=manifest), cluster_service_version.FAMILY)) != is_allowed


def test_a_mode_that_is_not_listed_forbids_no_conversion() -> None:
    converting = webhook("c", "Conversion", conversionCRDs=["demos.demo.example.com"])
    manifest = csv_document(webhooks=[converting], installModes=[{"type": "AllNamespaces", "supported": True}])
    assert told(bundle(csv=manifest), cluster_service_version.FAMILY) == []


def examples_are(text: Any, **fields: Any) -> Json:
    return csv_document(annotations={"alm-examples": text}, **fields)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (without(GOOD, "metadata", "annotations"), [("RV1-220", "the CSV has no metadata.annotations")]),
        (without(csv_document(owned=[]), "metadata", "annotations", "alm-examples"), []),
        (
            without(GOOD, "metadata", "annotations", "alm-examples"),
            [("RV1-221", "the CSV has no annotation alm-examples")],
        ),
        (
            csv_document(annotations={"olm.examples": "["}),
            [("RV1-222", "the CSV has both the annotations alm-examples and olm.examples")],
        ),
        (
            examples_are("[{]"),
            [("RV1-223", "invalid example: expected a key in double quotes, got ']'")],
        ),
        (examples_are(" "), [("RV1-223", "invalid example: expected a value, got the end")]),
        (examples_are("[NaN]"), [("RV1-223", "invalid example: expected a value, got 'N'")]),
        (
            examples_are(f'[{{"a": {"9" * 400}}}]'),
            [("RV1-223", f"invalid example: number {'9' * 40} is out of range")],
        ),
        (examples_are("[] x"), [("RV1-223", "invalid example: expected the end, got 'x'")]),
        (examples_are("{}"), [("RV1-224", "the examples must be a list")]),
        (
            examples_are(f"[{_EXAMPLE}, {{}}]"),
            [("RV1-224", "example 1 must be an object with `apiVersion` and `kind`")],
        ),
        (
            examples_are("[null]"),
            [("RV1-224", "example 0 must be an object with `apiVersion` and `kind`")],
        ),
        (
            examples_are('[{"apiVersion":"x.io/v1","kind":"X"}]', owned=[]),
            [("RV1-225", "there is an example of X (x.io/v1), which the CSV does not own")],
        ),
        (
            examples_are('[{"kind":"X"},{"kind":"X"}]', owned=[]),
            [("RV1-225", "there is an example of X (no apiVersion), which the CSV does not own")],
        ),
        (examples_are("[]"), [("RV1-226", f"there is no example of {_API}")]),
        (examples_are("null"), [("RV1-226", f"there is no example of {_API}")]),
        (examples_are(""), [("RV1-226", f"there is no example of {_API}")]),
        (
            examples_are(
                f"[{_EXAMPLE}]",
                apiservicedefinitions={"owned": [{"group": "g.io", "version": "v1", "kind": "K", "name": "x"}]},
            ),
            [("RV1-226", "there is no example of K (g.io/v1)")],
        ),
    ],
)
def test_examples_fit_what_is_provided(manifest: Json, expected: list[tuple[str, str]]) -> None:
    assert told(bundle(csv=manifest), examples.FAMILY) == expected


def test_deep_examples_are_refused_not_recursed_into() -> None:
    deep = examples_are("[" * 100_000)
    ((rule, message),) = told(bundle(csv=deep), examples.FAMILY)
    assert rule == "RV1-223"
    assert "exceeds the limit" in message


def test_findings_point_at_the_line() -> None:
    text = (
        "kind: ClusterServiceVersion\nmetadata:\n  name: x\n  annotations:\n    olm.skiprange: a\n"
        "spec:\n  minKubeVersion: v1\n"
    )
    found = findings_of(bundle(files={"manifests/cluster_service_version.yaml": text}), cluster_service_version.FAMILY)
    places = {finding.rule: finding.location for finding in found}
    assert places["RV1-211"] == "manifests/cluster_service_version.yaml:5:5"
    assert places["RV1-210"] == "manifests/cluster_service_version.yaml:7:19"
    assert places["RV1-203"] == "manifests/cluster_service_version.yaml:1:1"


@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}, None, True])
@pytest.mark.parametrize(
    "path",
    [
        ("metadata",),
        ("metadata", "annotations"),
        ("metadata", "annotations", "alm-examples"),
        ("spec",),
        ("spec", "installModes"),
        ("spec", "customresourcedefinitions"),
        ("spec", "customresourcedefinitions", "owned"),
        ("spec", "install", "spec"),
        ("spec", "webhookdefinitions"),
        ("spec", "minKubeVersion"),
    ],
)
def test_wrong_types_break_no_rule(path: tuple[str, ...], value: Any) -> None:
    manifest = with_field(GOOD, value, *path)
    assert isinstance(told(bundle(csv=manifest), cluster_service_version.FAMILY, examples.FAMILY), list)


def test_a_repeated_install_mode_is_told_where_it_is_repeated() -> None:
    repeated = csv_document(installModes=[*modes("AllNamespaces"), *modes("AllNamespaces")[:2]])
    found = [
        finding.path
        for finding in findings_of(bundle(csv=repeated), cluster_service_version.FAMILY)
        if finding.rule == "RV1-206"
    ]
    assert found == ["spec.installModes[4].type", "spec.installModes[5].type"]


def test_deeply_nested_value_is_judged_without_recursion() -> None:
    nested: Any = None
    for _ in range(100_000):
        nested = {"properties": nested}
    assert cluster_service_version._is_zero(nested)
    while nested is not None:  # else the interpreter takes it apart by recursion
        nested = nested.pop("properties")

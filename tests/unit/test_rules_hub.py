"""What OperatorHub.io asks, and good practices."""

import hashlib
from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.rules import hub, practices, urls
from tests.unit.bundles import Json, bundle, crd, csv_document, deployment, manifest, owned_crd, permission
from tests.unit.readings import findings_of, told

ICON = {"base64data": "aWNvbg==", "mediatype": "image/png"}
PAIR = "csv.Spec.Maintainers elements should contain both name and email"
LINK = "csv.Spec.Links elements should contain both name and url"
PIXELS = "csv.Spec.Icon elements should contain both data and mediatype"
CATEGORY = 'csv.Metadata.Annotations["categories"] value "{}" is not in the set of standard categories'


def csv(**fields: Any) -> Json:
    return csv_document(**{"provider": {"name": "Someone"}, "icon": [ICON], **fields})


def test_a_good_bundle_has_no_findings() -> None:
    assert told(bundle(csv=csv()), hub.FAMILY) == []


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (csv(provider=None), [("RV1-601", "csv.Spec.Provider.Name not specified")]),
        (csv(provider={"name": " "}), [("RV1-601", "csv.Spec.Provider.Name not specified")]),
        (csv(maintainers=[{}]), [("RV1-602", PAIR)]),
        (csv(maintainers=[{"email": "a@b.c"}]), [("RV1-602", PAIR)]),
        (
            csv(maintainers=[{"name": "n", "email": "bad"}]),
            [("RV1-602", "csv.Spec.Maintainers email bad is invalid: mail: missing '@' or angle-addr")],
        ),
        (csv(links=[{"name": "n"}]), [("RV1-603", LINK)]),
        (
            csv(links=[{"name": "n", "url": "www.x.io"}]),
            [("RV1-603", "csv.Spec.Links url www.x.io is invalid: invalid URI for request")],
        ),
        (
            csv(annotations={"capabilities": "Nope"}),
            [("RV1-604", 'csv.Metadata.Annotations.Capabilities "Nope" is not a valid capabilities level')],
        ),
        (csv(annotations={"categories": "Database, Storage"}), []),
        (
            csv(annotations={"categories": "Database, Games,"}),
            [("RV1-605", CATEGORY.format("Games")), ("RV1-605", CATEGORY.format(""))],
        ),
        (csv(version="0.0.0"), [("RV1-606", "csv.Spec.Version must be set")]),
        (csv(version=None), [("RV1-606", "csv.Spec.Version must be set")]),
        (csv(version="0.0.0-x"), []),
        (csv(icon=[ICON, ICON]), [("RV1-607", "csv.Spec.Icon should only have one element")]),
        (csv(icon=[{"mediatype": "image/png"}]), [("RV1-607", PIXELS)]),
        (csv(icon=[{"base64data": "x"}]), [("RV1-607", PIXELS)]),
        (
            csv(icon=[{**ICON, "mediatype": "image/jpg"}]),
            [("RV1-607", "csv.Spec.Icon image/jpg does not have a valid mediatype")],
        ),
        (csv(icon=None), [("RV1-608", "csv.Spec.Icon not specified")]),
        (csv(icon=[]), []),
    ],
)
def test_each_rule_of_the_hub_tells_its_defect(manifest: Json, expected: list[tuple[str, str]]) -> None:
    assert told(bundle(csv=manifest), hub.FAMILY) == expected


@pytest.mark.parametrize(
    "email",
    ["a@b", "A <a@b.c>", " a@b.c ", '"a b"@c.d', "<a@b>", "é@b.c", "a@[1.2.3.4]", "a@b (c)", "A. <a@b>", "'A' <a@b>"],
)
def test_addresses_that_go_reads(email: str) -> None:
    assert told(bundle(csv=csv(maintainers=[{"name": "n", "email": email}])), hub.FAMILY) == []


@pytest.mark.parametrize(
    "email",
    [
        "a",
        "a@",
        "@b",
        "a b@c",
        "a@b,c@d",
        "a@b c",
        "a@b..c",
        "A a@b",
        "a.@b",
        "A <a@b> x",
        "mailto:a@b",
        "ab",
        "a@b\n",
    ],
)
def test_addresses_that_go_refuses(email: str) -> None:
    found = told(bundle(csv=csv(maintainers=[{"name": "n", "email": email}])), hub.FAMILY)
    assert [rule for rule, _ in found] == ["RV1-602"]


@pytest.mark.parametrize(
    "url",
    [
        "http://x", "/x", "x:y", "//x", "http://", "mailto:a@b", "http://x/a b", "HTTP://x", "http://[::1]", "http:/x",
        "http://ü.de", "http://a<b", "https://x?%zz", "https://u:p@x", "http://x/#a",
    ],
)  # fmt: skip
def test_urls_that_go_takes_in_requests(url: str) -> None:
    assert urls.is_request_uri(url)


@pytest.mark.parametrize(
    "url",
    [
        "x", "", "http://a b", "http://x/%zz", "https://x:port", "http://x#a", "#a", "?a", "http://[::1", "a/b:c",
        "1http://x", "http://x/\n", " http://x", "http://x ", "http://x\\y", "www.x.com",
    ],
)  # fmt: skip
def test_urls_that_go_refuses(url: str) -> None:
    assert not urls.is_request_uri(url)


def old_budget() -> Json:
    return manifest("PodDisruptionBudget", "p", api_version="policy/v1beta1")


@pytest.mark.parametrize(
    ("lowest", "severity"),
    [
        ("1.20.0", Severity.WARNING),
        ("1.24.9", Severity.WARNING),
        ("1.25.0", Severity.ERROR),
        ("v1.25", Severity.ERROR),
        ("", Severity.WARNING),
        ("2.0.0", Severity.WARNING),
    ],
)
def test_removed_apis_are_errors_where_no_cluster_has_them(lowest: str, severity: Severity) -> None:
    (finding,) = findings_of(bundle(csv=csv(minKubeVersion=lowest), others=[old_budget()]), hub.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-610", severity)
    assert finding.message.startswith("this bundle is using APIs which were deprecated and removed in v1.25: ")


def test_removed_apis_are_found_in_definitions_and_permissions() -> None:
    rule = {"apiGroups": ["policy"], "resources": ["podsecuritypolicies"], "verbs": ["use"]}
    old = {**crd(), "apiVersion": "apiextensions.k8s.io/v1beta1"}
    tree = bundle(csv=csv(minKubeVersion="1.20.0", permissions=[permission(rules=[rule])]), crds=[old])
    found = findings_of(tree, hub.FAMILY)
    assert [(finding.file, finding.path) for finding in found] == [
        ("manifests/demos.demo.example.com.crd.yaml", "apiVersion"),
        ("manifests/csv.yaml", "spec.install.spec.permissions[0].rules[0]"),
    ]


SIZED = deployment(
    containers=[{"name": "m", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1"}}}],
)
CREATING = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["create"]}


def good(name: str = "demo.v1.2.3", **fields: Any) -> Json:
    return csv_document(name, **{"deployments": [SIZED], **fields})


def named(name: str) -> list[tuple[str, str]]:
    return [("RV1-706", f"csv.metadata.Name {name} is not following the recommended naming convention")]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (good(), []),
        (
            good(deployments=[deployment()]),
            [("RV1-702", "unable to find the resource requests for the container: (manager)")],
        ),
        (
            good(owned=[{**owned_crd(), "description": ""}]),
            [("RV1-703", 'owned CRD "demos.demo.example.com" has an empty description')],
        ),
        (
            good(cluster_permissions=[permission(rules=[CREATING])]),
            [("RV1-705", "CSV contains permissions to create CRD")],
        ),
        (good("demo"), named("demo")),
        (good("demo.1.2.3"), named("demo.1.2.3")),
        (good("demo.v01.2.3"), named("demo.v01.2.3")),
        (
            good(release="1"),
            [
                (
                    "RV1-707",
                    'bundle name with release versioning "demo.v1.2.3" does not match expected name "demo-v1.2.3-1"',
                )
            ],
        ),
        (good(relatedImages=[{"name": "a"}]), [("RV1-708", "relatedImages[0] has an empty image field")]),
        (
            good(relatedImages=[{"name": "a", "image": "r.io/a:1"}, {"name": "b", "image": "no b"}]),
            [("RV1-708", 'relatedImages[1] has an invalid image pullspec "no b"')],
        ),
    ],
)
def test_good_practices(manifest: Json, expected: list[tuple[str, str]]) -> None:
    assert told(bundle(csv=manifest), practices.FAMILY) == expected


def test_channels_begin_with_their_stability() -> None:
    channels = {"operators.operatorframework.io.bundle.channels.v1": "stable-v1,alpha"}
    message = 'channel(s) ["alpha"] are not following the recommended naming convention'
    assert told(bundle(csv=good(), annotations=channels), practices.FAMILY) == [("RV1-704", message)]


def test_an_api_that_is_defined_twice_is_told() -> None:
    again = crd("others")
    found = told(bundle(csv=good(), crds=[crd(), again]), practices.FAMILY)
    assert found == [("RV1-709", 'duplicate CRD "demo.example.com/v1, Kind=Demo" in bundle')]


def test_a_bundle_that_is_too_large_for_a_config_map_is_told() -> None:
    noise = hashlib.shake_256(b"noise").hexdigest(1_000_000)  # does not compress below its 1 MB
    large = manifest("ConfigMap", "c", data={"x": noise})
    ((rule, message),) = told(bundle(csv=good(), others=[large]), practices.FAMILY)
    assert rule == "RV1-710"
    assert message.startswith("maximum bundle compressed size with gzip size exceeded")


def test_practices_are_warnings_without_exception() -> None:
    assert {rule.severity for rule in practices.FAMILY.rules} == {Severity.WARNING}


@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}, None, True])
@pytest.mark.parametrize(
    "field", ["provider", "maintainers", "links", "icon", "version", "relatedImages", "minKubeVersion", "install"]
)
def test_wrong_types_break_no_rule(field: str, value: Any) -> None:
    tree = bundle(csv=csv(**{field: value}))
    assert isinstance(told(tree, hub.FAMILY, practices.FAMILY), list)

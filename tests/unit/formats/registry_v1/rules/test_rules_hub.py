"""Rules of OperatorHub.io, and good practices."""

import hashlib
from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats import urls
from rukpak_py.formats.registry_v1.rules import operatorhub, practices
from tests.hostile.texts import FIXED, Hostile
from tests.unit.bundles import Json, bundle, crd, csv_document, deployment, manifest, owned_crd, permission
from tests.unit.readings import findings_of, told

ICON = {"base64data": "aWNvbg==", "mediatype": "image/png"}
PAIR = "a maintainer must have both name and email"
LINK = "a link must have both name and url"
PIXELS = "an icon must have both base64data and mediatype"
CATEGORY = "'{}' is not a category of OperatorHub.io"


def csv(**fields: Any) -> Json:
    return csv_document(**{"provider": {"name": "Someone"}, "icon": [ICON], **fields})


def test_a_good_bundle_has_no_findings() -> None:
    assert told(bundle(csv=csv()), operatorhub.FAMILY) == []


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (csv(provider=None), [("RV1-601", "spec.provider.name is not set")]),
        (csv(provider={"name": " "}), [("RV1-601", "spec.provider.name is not set")]),
        (csv(maintainers=[{}]), [("RV1-602", PAIR)]),
        (csv(maintainers=[{"email": "a@b.c"}]), [("RV1-602", PAIR)]),
        (
            csv(maintainers=[{"name": "n", "email": "bad"}]),
            [("RV1-602", "'bad' is not an e-mail address")],
        ),
        (csv(links=[{"name": "n"}]), [("RV1-603", LINK)]),
        (
            csv(links=[{"name": "n", "url": "www.x.io"}]),
            [("RV1-603", "'www.x.io' is not a valid URL")],
        ),
        (
            csv(annotations={"capabilities": "Nope"}),
            [("RV1-604", "the annotation capabilities is 'Nope', which is not a capability level")],
        ),
        (csv(annotations={"categories": "Database, Storage"}), []),
        (
            csv(annotations={"categories": "Database, Games,"}),
            [("RV1-605", CATEGORY.format("Games")), ("RV1-605", CATEGORY.format(""))],
        ),
        (csv(version="0.0.0"), [("RV1-606", "spec.version is not set")]),
        (csv(version=None), [("RV1-606", "spec.version is not set")]),
        (csv(version="0.0.0-x"), []),
        (csv(icon=[ICON, ICON]), [("RV1-607", "there must be only one icon")]),
        (csv(icon=[{"mediatype": "image/png"}]), [("RV1-607", PIXELS)]),
        (csv(icon=[{"base64data": "x"}]), [("RV1-607", PIXELS)]),
        (
            csv(icon=[{**ICON, "mediatype": "image/jpg"}]),
            [("RV1-607", "'image/jpg' is not a media type of an icon")],
        ),
        (csv(icon=None), [("RV1-608", "spec.icon is not set")]),
        (csv(icon=[]), []),
    ],
)
def test_each_rule_of_the_hub_tells_its_defect(manifest: Json, expected: list[tuple[str, str]]) -> None:
    assert told(bundle(csv=manifest), operatorhub.FAMILY) == expected


@pytest.mark.parametrize(
    "email",
    ["a@b", "A <a@b.c>", " a@b.c ", '"a b"@c.d', "<a@b>", "é@b.c", "a@[1.2.3.4]", "a@b (c)", "A. <a@b>", "'A' <a@b>"],
)
def test_addresses_that_go_reads(email: str) -> None:
    assert told(bundle(csv=csv(maintainers=[{"name": "n", "email": email}])), operatorhub.FAMILY) == []


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
    found = told(bundle(csv=csv(maintainers=[{"name": "n", "email": email}])), operatorhub.FAMILY)
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
    (finding,) = findings_of(bundle(csv=csv(minKubeVersion=lowest), others=[old_budget()]), operatorhub.FAMILY)
    assert (finding.rule, finding.severity) == ("RV1-610", severity)
    assert finding.message.startswith("Kubernetes 1.25 removed what the bundle uses: ")


def test_removed_apis_are_found_in_manifests_and_permissions() -> None:
    """A rule of its own tells of CRDs."""
    rule = {"apiGroups": ["policy"], "resources": ["podsecuritypolicies"], "verbs": ["use"]}
    old = {**crd(), "apiVersion": "apiextensions.k8s.io/v1beta1"}
    with_rule = csv(minKubeVersion="1.20.0", permissions=[permission(rules=[rule])])
    found = findings_of(bundle(csv=with_rule, crds=[old], others=[old_budget()]), operatorhub.FAMILY)
    assert [(finding.file, finding.path) for finding in found] == [
        ("manifests/other-0.yaml", "apiVersion"),
        ("manifests/csv.yaml", "spec.install.spec.permissions[0].rules[0]"),
    ]


SIZED = deployment(
    containers=[{"name": "m", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1"}}}],
)
CREATING = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["create"]}


def good(name: str = "demo.v1.2.3", **fields: Any) -> Json:
    return csv_document(name, **{"deployments": [SIZED], **fields})


def named(name: str) -> list[tuple[str, str]]:
    return [("RV1-706", f"the CSV's name '{name}' is not <operator>.v<version>")]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (good(), []),
        (
            good(deployments=[deployment()]),
            [("RV1-702", "container 'manager' does not request cpu and memory")],
        ),
        (
            good(owned=[{**owned_crd(), "description": ""}]),
            [("RV1-703", "the owned CRD 'demos.demo.example.com' has no description")],
        ),
        (
            good(cluster_permissions=[permission(rules=[CREATING])]),
            [("RV1-705", "the operator may create CRDs")],
        ),
        (good("demo"), named("demo")),
        (good("demo.1.2.3"), named("demo.1.2.3")),
        (good("demo.v01.2.3"), named("demo.v01.2.3")),
        (
            good(release="1"),
            [("RV1-707", "the CSV's name 'demo.v1.2.3' is not 'demo-v1.2.3-1', though it has a release")],
        ),
    ],
)
def test_bad_practice_is_told(manifest: Json, expected: list[tuple[str, str]]) -> None:
    assert told(bundle(csv=manifest), practices.FAMILY) == expected


def test_the_conventional_name_is_advised() -> None:
    (finding,) = findings_of(bundle(csv=good("other")), practices.FAMILY)
    assert finding.hint == "Name the CSV `demo.v1.2.3`."


def test_a_limit_is_a_request_where_none_is_given() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}}
    limited = deployment(containers=[{"name": "m", "image": "i", "resources": resources}])
    half = deployment(containers=[{"name": "m", "image": "i", "resources": {"limits": {"cpu": "1"}}}])
    assert told(bundle(csv=good(deployments=[limited, half])), practices.FAMILY) == [
        ("RV1-702", "container 'm' does not request memory")
    ]


def test_channels_begin_with_their_stability() -> None:
    channels = {"operators.operatorframework.io.bundle.channels.v1": "stable-v1,alpha"}
    message = "these channels do not begin with candidate, fast, stable: alpha"
    assert told(bundle(csv=good(), annotations=channels), practices.FAMILY) == [("RV1-704", message)]


def test_a_bundle_that_is_too_large_for_a_config_map_is_told() -> None:
    noise = hashlib.shake_256(b"noise").hexdigest(1_000_000)  # does not compress below its 1 MB
    large = manifest("ConfigMap", "c", data={"x": noise})
    ((rule, message),) = told(bundle(csv=good(), others=[large]), practices.FAMILY)
    assert rule == "RV1-710"
    assert message.startswith("the compressed bundle has ")


def test_practices_are_warnings_without_exception() -> None:
    assert {rule.severity for rule in practices.FAMILY.rules} == {Severity.WARNING}


@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}, None, True])
@pytest.mark.parametrize(
    "field", ["provider", "maintainers", "links", "icon", "version", "relatedImages", "minKubeVersion", "install"]
)
def test_wrong_types_break_no_rule(field: str, value: Any) -> None:
    tree = bundle(csv=csv(**{field: value}))
    assert isinstance(told(tree, operatorhub.FAMILY, practices.FAMILY), list)


@pytest.mark.parametrize("email", ["the-operators-team-of-example-dot-com", FIXED[Hostile.EMAIL_WITHOUT_AT](200_000)])
def test_a_long_text_without_an_at_is_refused_at_once(email: str) -> None:
    [(rule, message)] = told(bundle(csv=csv(maintainers=[{"name": "n", "email": email}])), operatorhub.FAMILY)

    assert rule == "RV1-602"
    assert "is not an e-mail address" in message
    assert len(message) < 400

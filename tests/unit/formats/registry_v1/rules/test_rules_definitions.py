"""Definitions as an API server sees them before their schemas: every check, in its words."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from rukpak_py.formats import dns
from rukpak_py.formats.registry_v1.rules import definitions
from tests.unit.bundles import Json, bundle, crd
from tests.unit.readings import findings_of, told

BETA = "apiextensions.k8s.io/v1beta1"
FAMILIES = (definitions.FAMILY, definitions.PARTS)
SERVICE = {"name": "hook", "namespace": "system", "path": "/convert"}
CLIENT = {"service": SERVICE}
STRING_A = {"type": "object", "properties": {"a": {"type": "string"}, "o": {"type": "object"}}}


def changed(*edits: tuple[str, Any], of: Json | None = None) -> Json:
    """A definition with the fields at dotted paths replaced; `...` removes one."""
    manifest = deepcopy(crd() if of is None else of)
    for path, value in edits:
        *above, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        inner: Any = manifest
        for part in above:
            inner = inner[part] if isinstance(part, int) else inner.setdefault(part, {})
        if value is ...:
            inner.pop(last, None)
        else:
            inner[last] = value
    return manifest


def version(name: str = "v1", **fields: Any) -> Json:
    return {"name": name, "served": True, "storage": name == "v1", **fields}


def converting(client: Mapping[str, Any] | None = None, reviews: Sequence[str] = ("v1",)) -> Json:
    webhook = {"clientConfig": dict(CLIENT if client is None else client), "conversionReviewVersions": list(reviews)}
    return {"strategy": "Webhook", "webhook": webhook}


def told_of(manifest: Json) -> list[tuple[str, str]]:
    return told(bundle(crds=[], files={"manifests/x.crd.yaml": manifest}), *FAMILIES)


def column(**fields: Any) -> tuple[str, Any]:
    return "spec.versions.0.additionalPrinterColumns", [
        {"name": "A", "type": "string", "jsonPath": ".a"} | {k: v for k, v in fields.items() if v is not None}
    ]


def scale(**fields: Any) -> tuple[str, Any]:
    value = {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r", **fields}
    return "spec.versions.0.subresources", {"scale": value}


VERSIONS = "spec.versions: Invalid value"
COLUMN = "spec.versions[0].additionalPrinterColumns[0]"
SCALE = "spec.versions[0].subresources.scale"
HOOK = "spec.conversion.webhook.clientConfig"
REVIEWS = "spec.conversion.webhook.conversionReviewVersions"
DESIRED = "; desired format: https://host[/path]"
TYPES = "must be one of boolean,date,integer,number,string"
FORMATS = "must be one of byte,date,date-time,double,float,int32,int64,password"
APPROVAL = "metadata.annotations[api-approved.kubernetes.io]"
PROTECTED = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
EITHER = 'with either a URL or a reason starting with "unapproved"'
LINK = "see https://github.com/kubernetes/enhancements/pull/1111"
NAMED = [("metadata.name", "demos.x.k8s.io"), ("spec.group", "x.k8s.io")]
PRESERVED = (
    "spec.preserveUnknownFields: Invalid value: true: cannot set to true, "
    "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
)
MIXED = "may have mixed case, but should otherwise match"
SELECTED = "spec.versions[0].selectableFields[0].jsonPath"
KEPT_OUT = "Forbidden: should not be set when strategy is not set to Webhook"


def reasons(text: str) -> str:
    return ",".join(dns.dns_1035_label(text))


@pytest.mark.parametrize(
    "manifest",
    [
        crd(),
        changed(("spec.names.singular", ...), ("spec.names.listKind", ...)),
        changed(("spec.preserveUnknownFields", False)),
        changed(("spec.preserveUnknownFields", None)),
        changed(column()),
        changed(column(jsonPath=".status.conditions[?(@.type=='Ready')].status")),
        changed(scale()),
        changed(scale(labelSelectorPath=".status.selector")),
        changed(scale(statusReplicasPath="anything")),
        changed(("spec.conversion", {"strategy": "None"})),
        changed(("spec.conversion", converting())),
        changed(("spec.conversion", converting({"url": "https://example.com/convert"}))),
        changed(*NAMED, ("metadata.annotations", {"api-approved.kubernetes.io": "https://example.com/1"})),
        changed(*NAMED, ("metadata.annotations", {"api-approved.kubernetes.io": "unapproved, a trial"})),
        changed(("status", {"storedVersions": ["x"]})),
        changed(("spec.versions.0.deprecated", True), ("spec.versions.0.deprecationWarning", "Use v2.")),
    ],
)
def test_good_definitions_have_no_findings(manifest: Json) -> None:
    assert told_of(manifest) == []


@pytest.mark.parametrize(
    ("manifest", "rule", "message"),
    [
        (
            changed(("apiVersion", "apiextensions.k8s.io/v2")),
            301,
            "CRD 'demos.demo.example.com' has the unknown apiVersion 'apiextensions.k8s.io/v2'",
        ),
        (changed(("apiVersion", ...)), 301, "CRD 'demos.demo.example.com' has no apiVersion"),
        (
            changed(("metadata.namespace", "n")),
            302,
            "CRD 'demos.demo.example.com' names the namespace 'n', but CRDs have none",
        ),
        (changed(("metadata.name", "")), 302, "metadata.name: Required value: name or generateName is required"),
        (
            changed(("metadata.name", "other.example.com")),
            303,
            'metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group',
        ),
        (changed(("spec.group", "")), 304, "spec.group: Required value"),
        (
            changed(("spec.group", "example")),
            304,
            'spec.group: Invalid value: "example": should be a domain with at least one dot',
        ),
        (
            changed(("spec.group", "A.b")),
            304,
            f'spec.group: Invalid value: "A.b": {",".join(dns.subdomain("A.b"))}',
        ),
        (changed(*NAMED), 305, f"{APPROVAL}: Required value: {PROTECTED}, {LINK}"),
        (
            changed(*NAMED, ("metadata.annotations", {"api-approved.kubernetes.io": "yes"})),
            305,
            f'{APPROVAL}: Invalid value: "yes": {PROTECTED} {EITHER}, {LINK}',
        ),
        (changed(("spec.scope", ...)), 306, "spec.scope: Required value"),
        (
            changed(("spec.scope", "cluster")),
            306,
            'spec.scope: Unsupported value: "cluster": supported values: "Cluster", "Namespaced"',
        ),
        (changed(("spec.names.plural", ...)), 307, "spec.names.plural: Required value"),
        (
            changed(("spec.names.singular", "Demo")),
            307,
            f'spec.names.singular: Invalid value: "Demo": {reasons("Demo")}',
        ),
        (
            changed(("spec.names.kind", "De mo")),
            307,
            f'spec.names.kind: Invalid value: "De mo": {MIXED}: {reasons("De mo")}',
        ),
        (
            changed(("spec.names.shortNames", ["d", "D"])),
            307,
            f'spec.names.shortNames[1]: Invalid value: "D": {reasons("D")}',
        ),
        (
            changed(("spec.names.categories", ["a.b"])),
            307,
            f'spec.names.categories[0]: Invalid value: "a.b": {reasons("a.b")}',
        ),
        (
            changed(("spec.names.listKind", "Demo")),
            308,
            'spec.names.listKind: Invalid value: "Demo": kind and listKind may not be the same',
        ),
        (
            changed(("spec.versions.0.name", "1v")),
            309,
            f'spec.versions[0].name: Invalid value: "1v": {reasons("1v")}',
        ),
        (
            changed(("spec.versions", [version(), version(storage=False)])),
            309,
            f"{VERSIONS}: v1: must contain unique version names",
        ),
        (
            changed(("spec.versions.0.storage", False)),
            310,
            f"{VERSIONS}: none: must have exactly one version marked as storage version",
        ),
        (
            changed(("spec.versions", [version(), version("v2", storage=True)])),
            310,
            f"{VERSIONS}: v1, v2: must have exactly one version marked as storage version",
        ),
        (
            changed(("spec.versions", ...)),
            310,
            f"{VERSIONS}: none: must have exactly one version marked as storage version",
        ),
        (changed(("spec.preserveUnknownFields", True)), 311, PRESERVED),
        (
            changed(column(name="")),
            320,
            f"{COLUMN}.name: Required value",
        ),
        (changed(column(type="")), 320, f"{COLUMN}.type: Required value: {TYPES}"),
        (changed(column(type="text")), 320, f'{COLUMN}.type: Invalid value: "text": {TYPES}'),
        (changed(column(format="text")), 320, f'{COLUMN}.format: Invalid value: "text": {FORMATS}'),
        (changed(column(jsonPath="")), 320, f"{COLUMN}.jsonPath: Required value"),
        (
            changed(column(jsonPath="a")),
            320,
            f'{COLUMN}.jsonPath: Invalid value: "a": must be a simple json path starting with .',
        ),
        (changed(scale(specReplicasPath="")), 321, f"{SCALE}.specReplicasPath: Required value"),
        (
            changed(scale(specReplicasPath=".x")),
            321,
            f'{SCALE}.specReplicasPath: Invalid value: ".x": should be a json path under .spec',
        ),
        (
            changed(scale(specReplicasPath="x")),
            321,
            f'{SCALE}.specReplicasPath: Invalid value: "x": must be a simple json path starting with .',
        ),
        (
            changed(scale(labelSelectorPath=".x")),
            321,
            f'{SCALE}.labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status',
        ),
        (
            changed(("spec.versions.0.deprecationWarning", "x")),
            322,
            'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
        ),
        (
            changed(("spec.versions.0.deprecated", True), ("spec.versions.0.deprecationWarning", "")),
            322,
            'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
        ),
        (changed(("spec.conversion", {})), 323, "spec.conversion.strategy: Required value"),
        (
            changed(("spec.conversion", {"strategy": "x"})),
            323,
            'spec.conversion.strategy: Unsupported value: "x": supported values: "None", "Webhook"',
        ),
        (
            changed(("spec.conversion", {**converting(), "strategy": "None"})),
            324,
            f"{HOOK}: {KEPT_OUT}",
        ),
        (
            changed(("spec.conversion", converting({}))),
            324,
            f"{HOOK}: Required value: exactly one of url or service is required",
        ),
        (
            changed(("spec.conversion", converting({"url": "http://a.b"}))),
            324,
            f"{HOOK}.url: Invalid value: \"http://a.b\": 'https' is the only allowed URL scheme{DESIRED}",
        ),
        (
            changed(("spec.conversion", converting({"url": "https:///c"}))),
            324,
            f'{HOOK}.url: Invalid value: "https:///c": host must be specified{DESIRED}',
        ),
        (
            changed(("spec.conversion", converting({"url": "https://u@a.b/"}))),
            324,
            f'{HOOK}.url: Invalid value: "https://u@a.b/": user information is not permitted in the URL',
        ),
        (
            changed(("spec.conversion", converting({"url": "https://a.b/#f"}))),
            324,
            f'{HOOK}.url: Invalid value: "https://a.b/#f": fragments are not permitted in the URL',
        ),
        (
            changed(("spec.conversion", converting({"url": "https://a.b/?q"}))),
            324,
            f'{HOOK}.url: Invalid value: "https://a.b/?q": query parameters are not permitted in the URL',
        ),
        (
            changed(("spec.conversion", converting({"url": ":"}))),
            324,
            f"{HOOK}.url: Required value: url must be a valid URL{DESIRED}",
        ),
        (
            changed(("spec.conversion", converting({"service": {"name": "a"}}))),
            324,
            f"{HOOK}.service.namespace: Required value",
        ),
        (
            changed(("spec.conversion", converting({"service": {**SERVICE, "port": 0}}))),
            324,
            f"{HOOK}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        ),
        (
            changed(("spec.conversion", converting({"service": {**SERVICE, "path": "c"}}))),
            324,
            f"{HOOK}.service.path: Invalid value: \"c\": must start with a '/'",
        ),
        (
            changed(("spec.conversion", converting({"service": {**SERVICE, "path": "/a//b"}}))),
            324,
            f'{HOOK}.service.path: Invalid value: "/a//b": segment[1] may not be empty',
        ),
        (changed(("spec.conversion", converting(reviews=[]))), 325, f"{REVIEWS}: Required value"),
        (
            changed(("spec.conversion", converting(reviews=["v2"]))),
            325,
            f"{REVIEWS}: Invalid value: [v2]: must include at least one of v1, v1beta1",
        ),
        (
            changed(("spec.conversion", converting(reviews=["v1", "v1"]))),
            325,
            f'{REVIEWS}[1]: Invalid value: "v1": duplicate version',
        ),
        (
            changed(("spec.conversion", converting(reviews=["v1", "V2"]))),
            325,
            f'{REVIEWS}[1]: Invalid value: "V2": {reasons("V2")}',
        ),
        (
            changed(("spec.versions.0.selectableFields", [{"jsonPath": ".spec"}])),
            326,
            f'{SELECTED}: Invalid value: ".spec": is an invalid path: does not refer to a valid field',
        ),
        (
            changed(
                ("spec.versions.0.schema.openAPIV3Schema", STRING_A),
                ("spec.versions.0.selectableFields", [{"jsonPath": ".a"}, {"jsonPath": ".a"}]),
            ),
            326,
            'spec.versions[0].selectableFields[1].jsonPath: Duplicate value: ".a"',
        ),
        (
            changed(
                ("spec.versions.0.schema.openAPIV3Schema", STRING_A),
                ("spec.versions.0.selectableFields", [{"jsonPath": ".o"}]),
            ),
            326,
            f'{SELECTED}: Invalid value: ".o": must point to a field of type string, boolean or integer',
        ),
    ],
)
def test_each_rule_tells_its_defect(manifest: Json, rule: int, message: str) -> None:
    assert (f"RV1-{rule}", message) in told_of(manifest)


def test_a_conversion_without_webhook_lacks_its_client_and_reviews() -> None:
    assert told_of(changed(("spec.conversion", {"strategy": "Webhook"}))) == [
        ("RV1-324", f"{HOOK}: Required value: required when strategy is set to Webhook"),
        ("RV1-325", f"{REVIEWS}: Required value"),
    ]


def test_a_webhook_cannot_convert_what_keeps_unknown_fields() -> None:
    manifest = changed(("spec.preserveUnknownFields", True), ("spec.conversion", converting()))
    message = 'spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true'
    assert told_of(manifest) == [("RV1-311", PRESERVED), ("RV1-323", message)]


def test_an_old_definition_is_told_once() -> None:
    """Whatever else is wrong with it: it has to be rewritten."""
    old = changed(("apiVersion", BETA), ("metadata.namespace", "n"), ("spec.scope", ...), ("spec.versions", ...))
    message = "CRD 'demos.demo.example.com' is of apiextensions.k8s.io/v1beta1, which Kubernetes 1.22 removed"
    assert told_of(old) == [("RV1-910", message)]


def test_a_finding_points_at_the_field_or_at_what_there_is_of_the_way() -> None:
    text = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: as.b.c\n"
        "spec:\n  group: b.c\n  names: {plural: as, kind: A}\n  versions:\n  - name: v1\n"
    )
    found = findings_of(bundle(crds=[], files={"manifests/x.yaml": text}), *FAMILIES)
    places = {finding.rule: (finding.line, finding.path) for finding in found}
    assert places == {"RV1-310": (8, "spec.versions"), "RV1-306": (6, "spec.scope")}


@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}, None, True])
@pytest.mark.parametrize(
    "path",
    [
        "metadata",
        "spec",
        "spec.names",
        "spec.names.shortNames",
        "spec.versions",
        "spec.versions.0",
        "spec.versions.0.schema",
        "spec.versions.0.subresources",
        "spec.versions.0.additionalPrinterColumns",
        "spec.conversion",
        "spec.conversion.webhook",
        "spec.conversion.webhook.clientConfig",
        "spec.conversion.webhook.clientConfig.service",
    ],
)
def test_wrong_types_break_no_rule(path: str, value: Any) -> None:
    base = changed(("spec.conversion", converting()), column(), scale())
    assert isinstance(told_of(changed((path, value), of=base)), list)

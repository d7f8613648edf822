"""Findings of `opm alpha bundle validate` for each bundle of the corpus, beside ours.

With the profile `opm` we accept what it accepts and refuse what it refuses; and each of its texts has a counterpart
among our findings.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import pytest

from rukpak_py.core.findings import Finding, Severity
from rukpak_py.formats.registry_v1.reading import DEFECT_KINDS
from rukpak_py.formats.validation import Profile, validate
from rukpak_py.sources.local import open_tree
from tests.corpus.place import CORPUS, GOLDENS, needs_corpus

pytestmark = needs_corpus

Table = Sequence[tuple[str, set[str]]]
UNREADABLE = {kind.id for kind in DEFECT_KINDS}

DECODING = (
    r"error getting (bundle|CSV)|error converting YAML to JSON|unmarshal|^yaml: |^cannot (convert|restore)"
    r"|^unrecognized type|^parsing time|^quantities must match|^invalid Yaml document separator|^strconv\."
    r"|^Invalid character\(s\) found|^Numeric PreRelease"
)

# A text of upstream's -> the rules that tell the same; the first match counts.
ERRORS: Table = (
    (r"^Unable to locate (manifests|metadata) directory", {"RV1-904"}),
    (r"contains no yaml files|^open \S+: no such file", {"RV1-904", "RV1-905"}),
    (r"^Could not find annotations file", {"RV1-904", "RV1-907", *UNREADABLE}),
    (r"^Missing annotation \"\S+package", {"RV1-103", "RV1-005"}),
    (r"^Missing annotation", {"RV1-103"}),
    (r"^Expecting annotation \"\S+mediatype.*instead of \"\"$", {"RV1-103", "RV1-104"}),
    # What hides the CSV from catalog tools is told where it stands.
    (r"^Expecting annotation \"\S+mediatype", {"RV1-104", "RV1-501"}),
    (r"^Expecting annotation \"\S+channel.* non-empty", {"RV1-105", "RV1-103"}),
    (r"^API |^Package |^Label |^The CEL |^Invalid CEL |^Invalid semver |^couldn't parse dependency", {"RV1-110"}),
    (r"^EOF$", {"RV1-108"}),
    (r"^Unable to read file \S+ in supported types", UNREADABLE),
    (r"is not supported type for registryV1 bundle", {"RV1-501", "RV1-013", *UNREADABLE}),
    (r"^Unsupported api version of CRD", {"RV1-301"}),
    (r"metadata.namespace: Forbidden: not allowed on this type$", {"RV1-302", "RV1-910"}),
    (r"^error validating object metadata: metadata.namespace: Forbidden", {"RV1-503"}),
    (r"^error validating object metadata", {"RV1-502"}),
    (r": metadata.name: Invalid value: .* must be spec.names.plural", {"RV1-303", "RV1-910"}),
    (r"protected groups must have approval annotation", {"RV1-305", "RV1-910"}),
    (r"must have exactly one version marked as storage version", {"RV1-310", "RV1-910"}),
    (r"spec.preserveUnknownFields: Invalid value: true", {"RV1-311", "RV1-910"}),
    (r"\) metadata.name \".*\" is invalid", {"RV1-201"}),
    (r"\) spec.replaces \".*\" is invalid", {"RV1-202"}),
    (r"\) 'apiVersion' is missing", {"RV1-203"}),
    (r"^Error: Field (ObjectMeta|Spec)\S*, Value \w+: required field missing", {"RV1-204"}),
    (r"\) install modes not found", {"RV1-205"}),
    (r"\) none of InstallModeTypes are supported", {"RV1-207"}),
    (r"\) only AllNamespaces InstallModeType is supported", {"RV1-006"}),
    (r"\) csv.Spec.MinKubeVersion has an invalid value", {"RV1-210"}),
    (r"provided annotation \S+ uses wrong case", {"RV1-211"}),
    (r"couldn't parse plural.group from crd name", {"RV1-213"}),
    (r": invalid example$", {"RV1-223"}),
    (r": error decoding example CustomResource$", {"RV1-224"}),
    (r"example must have a provided API", {"RV1-225"}),
    (r"^Error: Value \{\S.*\}: owned CRD \S+ not found in bundle", {"RV1-402", "RV1-004"}),
    (r"owned CRD \S+ not found in bundle", {"RV1-405", "RV1-004"}),
    (r"cannot have both a release version", {"RV1-404"}),
    (
        DECODING,
        {*UNREADABLE, "RV1-910"},
    ),
)
WARNINGS: Table = (
    (r"\) annotations not found", {"RV1-220"}),
    (r"\) example annotations not found", {"RV1-221"}),
    (r"both `alm-examples` and `olm.examples` are present", {"RV1-222"}),
    (r"provided API should have an example annotation", {"RV1-226"}),
    (r"csv.Spec.minKubeVersion is not informed", {"RV1-209"}),
    (r"found olm.properties annotation", {"RV1-212"}),
    # An entry that differs in its group only is told as such.
    (r"is present in bundle \"\S*\" but not defined in CSV", {"RV1-403", "RV1-402"}),
    (r"csv.Spec.Icon not specified", {"RV1-608"}),
)
HUB: Table = (
    (r"csv.Spec.Provider.Name not specified", {"RV1-601"}),
    (r"csv.Spec.Maintainers ", {"RV1-602"}),
    (r"csv.Spec.Links ", {"RV1-603"}),
    (r"csv.Metadata.Annotations.Capabilities", {"RV1-604"}),
    (r"csv.Metadata.Annotations\[\"categories\"\]", {"RV1-605"}),
    (r"csv.Spec.Version must be set", {"RV1-606"}),
    (r"csv.Spec.Icon ", {"RV1-607"}),
    (r"csv.Spec.MinKubeVersion has an invalid value", {"RV1-210"}),
)

# Upstream crashes without having said anything; what we say.
CRASHES = {"s016-annotations-leading-doc": {"RV1-103"}, "s248-properties-comment-file": set[str]()}
# Texts for which there is nothing to tell, and why.
SILENT = (
    r"The \"operatorhub\" validator is deprecated",  # about the validator
)
# Warnings about what is in order, why, and the bundles.
NORMAL = (
    (
        r"is present in bundle \"\S*\" but not defined in CSV",
        "the version is not served",
        {"076-portworx-certified-1.10.3", "081-sriov-fec-v2.6.0"},
    ),
    (r"\) example annotations not found", "the CSV owns no API", {"084-stackable-opa-operator-26.3.0"}),
)


def names() -> list[str]:
    return sorted(path.name.removesuffix(".opm.json") for path in GOLDENS.glob("*.opm.json"))


def golden(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDENS / f"{name}.opm.json").read_text())
    return loaded


@cache
def findings(name: str) -> list[Finding]:
    return validate(
        open_tree(CORPUS / "bundles" / name), format_name="registry+v1", profiles=[Profile.OPM, Profile.OPERATORHUB]
    )


def rules_of(text: str, table: Table) -> set[str]:
    found = next((rules for pattern, rules in table if re.search(pattern, text, re.DOTALL)), None)
    assert found is not None, f"no row for {text!r}"
    return found


def to_tell(name: str) -> list[str]:
    normal = [pattern for pattern, _, bundles in NORMAL if name in bundles]
    warnings: list[str] = golden(name)["dropped_warnings"]
    return [text for text in warnings if not any(re.search(pattern, text) for pattern in normal)]


def without_counterpart(texts: Iterable[str], table: Table, told: set[str]) -> list[str]:
    """An unreadable part may hide what upstream says about it."""
    asked = [text for text in texts if not any(re.search(pattern, text) for pattern in SILENT)]
    return [text for text in asked if told.isdisjoint(rules_of(text, table)) and told.isdisjoint(UNREADABLE)]


@pytest.mark.parametrize("name", names())
def test_we_say_what_upstream_says(name: str) -> None:
    said, found = golden(name), findings(name)
    told = {finding.rule for finding in found}
    errors = said["format_errors"] + said["content_errors"]
    assert without_counterpart(errors, ERRORS, told) == []
    assert without_counterpart(to_tell(name), WARNINGS, told) == []
    assert without_counterpart(said["operatorhub_errors"], HUB, told) == []
    assert without_counterpart(said["operatorhub_warnings"], WARNINGS, told) == []


@pytest.mark.parametrize("name", names())
def test_we_refuse_what_upstream_refuses(name: str) -> None:
    said = golden(name)
    refused = {f.rule for f in findings(name) if f.severity is Severity.ERROR and not f.rule.startswith("RV1-6")}
    errors = said["format_errors"] + said["content_errors"]
    if name in CRASHES:
        assert (errors, refused) == ([], CRASHES[name])
    else:
        assert bool(errors) == bool(refused), refused


@pytest.mark.parametrize("name", names())
def test_the_hub_refuses_the_same(name: str) -> None:
    """Upstream judges the part it has of a CSV that is absent or cannot be decoded: that is not compared."""
    found, said = findings(name), golden(name)
    is_broken = any(finding.rule in UNREADABLE and finding.file.startswith("manifests") for finding in found)
    is_decoded = said["media_type"] == "registry+v1" and not is_broken
    refused = {rule for _, rules in HUB for rule in rules} & {f.rule for f in found if f.severity is Severity.ERROR}
    assert not is_decoded or bool(refused) == bool(said["operatorhub_errors"])

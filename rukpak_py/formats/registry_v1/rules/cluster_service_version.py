"""Rules of operator-framework's own validator for a ClusterServiceVersion, without its examples."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Fix, Profile, Severity
from rukpak_py.formats import dns
from rukpak_py.formats.json_fields import Json, at, entries, mapping, text
from rukpak_py.formats.registry_v1.bundle import InstallMode, WebhookType
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import EachOfCsv, add_rows, csvs, is_semantic
from rukpak_py.formats.rules import Family, Problem, path_text

FAMILY: Family[Reading] = Family(title="The ClusterServiceVersion", origin="operator-framework/api")

_DEPLOYMENTS: Final = ("spec", "install", "spec", "deployments")
_EXACT_ANNOTATIONS: Final = {
    key.lower(): key
    for key in (
        "olm.operatorGroup",
        "olm.operatorNamespace",
        "olm.targetNamespaces",
        "olm.providedAPIs",
        "olm.skipRange",
    )
}
# A required field -> what to write there.
_REQUIRED: Final[dict[Path, str]] = {
    ("metadata",): "Give the CSV its `metadata` with a name: `<package>.v<version>`.",
    ("spec",): "Describe the operator in `spec`: displayName, version, installModes, install.",
    ("spec", "install"): (
        "Say in `spec.install` how the operator is installed: `strategy: deployment`, and deployments in `spec`."
    ),
    ("spec", "install", "strategy"): "Write `strategy: deployment`.",
    _DEPLOYMENTS: "List the operator's deployments in `spec.install.spec.deployments`, or write `deployments: []`.",
    ("spec", "displayName"): "Give the operator's name for people in `spec.displayName`.",
}


@FAMILY.rule(
    "RV1-203",
    title="The CSV has an apiVersion",
    hint="Begin the file with `apiVersion: operators.coreos.com/v1alpha1`.",
    error_only_in=Profile.OPM,
)
def the_api_version_is_given(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if not text(csv.manifest, "apiVersion"):
            near = next((key for key in csv.manifest if key.lower() == "apiversion"), "")
            hint = f"Did you mean `apiVersion` instead of `{near}`?" if near and near != "apiVersion" else None
            yield Problem(message="apiVersion is missing", place=csv.place("apiVersion"), hint=hint)


@FAMILY.rule(
    "RV1-204",
    title="Required fields of the CSV are given",
    hint="Add the field that is named.",
    error_only_in=Profile.OPM,
)
def required_fields_are_given(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for field in _missing_fields(csv.manifest):
            message = f"{path_text(field)} is missing"
            yield Problem(message=message, place=csv.place(*field, on_key=True), hint=_REQUIRED[field])


def _missing_fields(csv: Json) -> Iterator[Path]:
    """The fields that are missing. Nothing is told about the parts of a missing part."""
    if _is_zero(at(csv, "metadata")):
        yield ("metadata",)
    if _is_zero(at(csv, "spec")):
        yield ("spec",)
        return
    if not text(csv, "spec", "displayName"):
        yield "spec", "displayName"
    if _is_zero(at(csv, "spec", "install")):
        yield "spec", "install"
        return
    if not text(csv, "spec", "install", "strategy"):
        yield "spec", "install", "strategy"
    strategy = mapping(csv, "spec", "install", "spec")
    # As upstream: a strategy that says nothing at all lacks nothing.
    if not _is_zero(strategy) and strategy.get("deployments") is None:
        yield _DEPLOYMENTS


def _is_zero(value: Any) -> bool:
    """Whether Go would hold a zero value: an empty list is not, it was made."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            todo += part.values()
        elif part is not None and (part or isinstance(part, list)):
            return False
    return True


@FAMILY.rule(
    "RV1-206",
    title="Every install mode is listed once",
    hint="Keep one entry for each type; when they contradict each other, a reader may take either.",
    origin="operator-framework/api, where it never fires",
    error_only_in=Profile.DEFAULT,
)
def install_modes_are_listed_once(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        listed: Counter[str] = Counter()
        for path, entry in entries(csv.manifest, "spec", "installModes"):
            mode = text(entry, "type")
            listed[mode] += 1
            if listed[mode] == 2:
                message = f"the install mode {mode} is listed twice"
                yield Problem(message=message, place=csv.place(*path, "type"))


@FAMILY.further_check(
    "RV1-006",
    hint="CRDs are converted for the whole cluster: support AllNamespaces only, or remove `conversionCRDs`.",
)
def conversion_is_for_all_namespaces(reading: Reading) -> Iterator[Problem]:
    """Leave out webhooks of type conversion where there is a bundle: another rule tells of these."""
    for csv in csvs(reading):
        modes = entries(csv.manifest, "spec", "installModes")
        if all((mode.get("supported") is True) == (text(mode, "type") == InstallMode.ALL) for _, mode in modes):
            continue
        for path, webhook in entries(csv.manifest, "spec", "webhookdefinitions"):
            is_told = reading.bundle is not None and text(webhook, "type") == WebhookType.CONVERSION
            if webhook.get("conversionCRDs") and not is_told:
                message = (
                    f"webhook '{text(webhook, 'generateName')}' has conversionCRDs, "
                    "for which the CSV must support the install mode AllNamespaces and no other"
                )
                yield Problem(message=message, place=csv.place(*path, "conversionCRDs", on_key=True))


@FAMILY.rule(
    "RV1-210",
    title="spec.minKubeVersion is a semantic version",
    hint="Write three numbers without a leading `v`: `1.25.0`.",
    error_only_in=Profile.OPM,
)
def min_kube_version_is_valid(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        version = text(csv.manifest, "spec", "minKubeVersion")
        if version.strip() and not is_semantic(version):
            message = f'spec.minKubeVersion "{version}" is not a semantic version'
            right = version.strip().removeprefix("v")
            right = right if right.count(".") != 1 else f"{right}.0"
            is_plain = is_semantic(right)
            yield Problem(
                message=message,
                place=csv.place("spec", "minKubeVersion"),
                hint=f"Write `{right}`." if is_plain else None,
                fix=Fix(text=right) if is_plain else None,
            )


@FAMILY.rule(
    "RV1-211",
    title="Annotations that OLM knows are spelled as it spells them",
    hint="Rename the annotation: its case matters.",
    error_only_in=Profile.OPM,
)
def annotations_have_their_case(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        annotations = mapping(csv.manifest, "metadata", "annotations")
        given = set(annotations)
        for key in annotations:
            right = _EXACT_ANNOTATIONS.get(key.lower(), key)
            if key != right:
                yield Problem(
                    message=f"OLM does not read the annotation {key}: it is spelled {right}",
                    place=csv.place("metadata", "annotations", key, on_key=True),
                    fix=Fix(text=right) if right not in given else None,
                )
                given.add(right)  # two slips must not become one key


def _not_a_name(field: str, name: str) -> str:
    reasons = [*dns.subdomain(name), *dns.label_value(name)]
    return f'{field} "{name}" is invalid: {",".join(reasons)}' if reasons else ""


def _no_deployment(csv: Json) -> str:
    is_told = any(path == _DEPLOYMENTS[: len(path)] for path in _missing_fields(csv))
    return "" if is_told or at(csv, *_DEPLOYMENTS) else "the CSV installs no deployment"


def _no_supported_mode(csv: Json) -> str:
    listed = [mode.get("supported") for _, mode in entries(csv, "spec", "installModes")]
    is_known = all(isinstance(supported, bool | None) for supported in listed)  # else RV1-903 tells
    return "no install mode is supported" if is_known and listed and True not in listed else ""


def _no_min_kube_version(csv: Json) -> str:
    version = at(csv, "spec", "minKubeVersion")
    is_set = version is not None and not (isinstance(version, str) and not version.strip())
    return "" if is_set else "spec.minKubeVersion is not set: clusters of every version may install the operator"


add_rows(
    FAMILY,
    EachOfCsv(
        id="RV1-201",
        title="The CSV's name is a DNS-1123 subdomain of at most 63 characters",
        hint="Name the CSV `<package>.v<version>`: lower case letters, digits, `-` and `.`, at most 63 characters.",
        field=("metadata", "name"),
        defect=lambda csv: _not_a_name("metadata.name", text(csv, "metadata", "name")),
        error_only_in=Profile.OPM,
    ),
    EachOfCsv(
        id="RV1-202",
        title="spec.replaces is the name of a CSV",
        hint="Write the metadata.name of the CSV that this one replaces, or remove the field.",
        field=("spec", "replaces"),
        defect=lambda csv: (name := text(csv, "spec", "replaces")) and _not_a_name("spec.replaces", name),
        error_only_in=Profile.OPM,
    ),
    EachOfCsv(
        id="RV1-701",
        title="The CSV installs a deployment",
        hint="List the operator's deployment in spec.install.spec.deployments: without one nothing runs.",
        field=_DEPLOYMENTS,
        on_key=True,
        defect=_no_deployment,
        severity=Severity.WARNING,
    ),
    EachOfCsv(
        id="RV1-205",
        title="The CSV says in which modes the operator can be installed",
        hint="List the four modes in `spec.installModes`, each with `type` and `supported`.",
        field=("spec", "installModes"),
        on_key=True,
        defect=lambda csv: (
            "" if any(entries(csv, "spec", "installModes")) else "spec.installModes lists no install mode"
        ),
    ),
    EachOfCsv(
        id="RV1-207",
        title="At least one install mode is supported",
        hint="Set `supported: true` for the modes in which the operator works, AllNamespaces if it can watch all of "
        "them.",
        field=("spec", "installModes"),
        on_key=True,
        defect=_no_supported_mode,
    ),
    EachOfCsv(
        id="RV1-209",
        title="The CSV says which version of Kubernetes it needs",
        hint="Write the lowest version of Kubernetes that the operator works with, as `1.25.0`.",
        field=("spec", "minKubeVersion"),
        on_key=True,
        defect=_no_min_kube_version,
        severity=Severity.WARNING,
    ),
    EachOfCsv(
        id="RV1-212",
        title="Properties are in metadata/properties.yaml",
        hint="Move the properties to metadata/properties.yaml, as a list below `properties:`, and remove the "
        "annotation.",
        field=("metadata", "annotations", "olm.properties"),
        on_key=True,
        defect=lambda csv: (
            "the CSV has the annotation olm.properties"
            if "olm.properties" in mapping(csv, "metadata", "annotations")
            else ""
        ),
        severity=Severity.WARNING,
    ),
    EachOfCsv(
        id="RV1-213",
        title="The name of an owned CRD has a group",
        hint="Write the CRD's metadata.name, `<plural>.<group>`, as in `demos.example.com`.",
        of=["spec.customresourcedefinitions.owned[]"],
        field=("name",),
        defect=lambda owned: (
            "" if "." in (name := text(owned, "name")) else f"the name '{name}' of an owned CRD has no group"
        ),
        error_only_in=Profile.OPM,
    ),
)

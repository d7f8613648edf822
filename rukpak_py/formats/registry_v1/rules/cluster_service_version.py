"""Rules of operator-framework's own validator for a ClusterServiceVersion, without its examples."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats.manifests import Document
from rukpak_py.formats.registry_v1 import dns
from rukpak_py.formats.registry_v1.bundle import InstallMode, WebhookType
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import at, csvs, entries, is_semantic, mapping, name_of, text
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
    "RV1-201",
    title="The CSV's name is a DNS-1123 subdomain of at most 63 characters",
    hint="Name the CSV `<package>.v<version>`: lower case letters, digits, `-` and `.`, at most 63 characters.",
    error_only_in=Profile.OPM,
)
def the_name_is_valid(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        name = name_of(csv)
        if reasons := _name_reasons(name):
            message = f'metadata.name "{name}" is invalid: {",".join(reasons)}'
            yield Problem(message=message, place=csv.place("metadata", "name"))


@FAMILY.rule(
    "RV1-202",
    title="spec.replaces is the name of a CSV",
    hint="Write the metadata.name of the CSV that this one replaces, or remove the field.",
    error_only_in=Profile.OPM,
)
def what_it_replaces_is_valid(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        name = text(csv.manifest, "spec", "replaces")
        if name and (reasons := _name_reasons(name)):
            message = f'spec.replaces "{name}" is invalid: {",".join(reasons)}'
            yield Problem(message=message, place=csv.place("spec", "replaces"))


def _name_reasons(name: str) -> list[str]:
    return [*dns.subdomain(name), *dns.label_value(name)]


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
        for field in _missing_fields(csv):
            message = f"{path_text(field)} is missing"
            yield Problem(message=message, place=csv.place(*field, on_key=True), hint=_REQUIRED[field])


def _missing_fields(csv: Document) -> Iterator[Path]:
    """The fields that are missing. Nothing is told about the parts of a missing part."""
    if _is_zero(at(csv.manifest, "metadata")):
        yield ("metadata",)
    if _is_zero(at(csv.manifest, "spec")):
        yield ("spec",)
        return
    if not text(csv.manifest, "spec", "displayName"):
        yield "spec", "displayName"
    if _is_zero(at(csv.manifest, "spec", "install")):
        yield "spec", "install"
        return
    if not text(csv.manifest, "spec", "install", "strategy"):
        yield "spec", "install", "strategy"
    strategy = mapping(csv.manifest, "spec", "install", "spec")
    # As upstream: a strategy that says nothing at all lacks nothing.
    if not _is_zero(strategy) and strategy.get("deployments") is None:
        yield _DEPLOYMENTS


@FAMILY.rule(
    "RV1-701",
    severity=Severity.WARNING,
    title="The CSV installs a deployment",
    hint="List the operator's deployment in spec.install.spec.deployments: without one nothing runs.",
)
def something_is_installed(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        is_told = any(path == _DEPLOYMENTS[: len(path)] for path in _missing_fields(csv))
        if not is_told and not at(csv.manifest, *_DEPLOYMENTS):
            yield Problem(message="the CSV installs no deployment", place=csv.place(*_DEPLOYMENTS, on_key=True))


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
    "RV1-205",
    title="The CSV says in which modes the operator can be installed",
    hint="List the four modes in `spec.installModes`, each with `type` and `supported`.",
)
def install_modes_are_given(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if not _modes(csv):
            yield Problem(
                message="spec.installModes lists no install mode", place=csv.place("spec", "installModes", on_key=True)
            )


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


@FAMILY.rule(
    "RV1-207",
    title="At least one install mode is supported",
    hint="Set `supported: true` for the modes in which the operator works, AllNamespaces if it can watch all of them.",
)
def some_install_mode_is_supported(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        modes = _modes(csv)
        listed = [mode for _, mode in entries(csv.manifest, "spec", "installModes")]
        is_known = all(isinstance(mode.get("supported"), bool | None) for mode in listed)  # else RV1-903 tells
        if is_known and modes and not any(supported for _, supported in modes):
            place = csv.place("spec", "installModes", on_key=True)
            yield Problem(message="no install mode is supported", place=place)


@FAMILY.further_check(
    "RV1-006",
    hint="CRDs are converted for the whole cluster: support AllNamespaces only, or remove `conversionCRDs`.",
)
def conversion_is_for_all_namespaces(reading: Reading) -> Iterator[Problem]:
    """Leave out webhooks of type conversion where there is a bundle: another rule tells of these."""
    for csv in csvs(reading):
        if all(supported == (mode == InstallMode.ALL) for mode, supported in _modes(csv)):
            continue
        for path, webhook in entries(csv.manifest, "spec", "webhookdefinitions"):
            is_told = reading.bundle is not None and text(webhook, "type") == WebhookType.CONVERSION
            if webhook.get("conversionCRDs") and not is_told:
                message = (
                    f"webhook '{text(webhook, 'generateName')}' has conversionCRDs, "
                    "for which the CSV must support the install mode AllNamespaces and no other"
                )
                yield Problem(message=message, place=csv.place(*path, "conversionCRDs", on_key=True))


def _modes(csv: Document) -> list[tuple[str, bool]]:
    return [
        (text(mode, "type"), mode.get("supported") is True) for _, mode in entries(csv.manifest, "spec", "installModes")
    ]


@FAMILY.rule(
    "RV1-209",
    severity=Severity.WARNING,
    title="The CSV says which version of Kubernetes it needs",
    hint="Write the lowest version of Kubernetes that the operator works with, as `1.25.0`.",
)
def min_kube_version_is_set(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        version = at(csv.manifest, "spec", "minKubeVersion")
        if version is None or (isinstance(version, str) and not version.strip()):
            message = "spec.minKubeVersion is not set: clusters of every version may install the operator"
            yield Problem(message=message, place=csv.place("spec", "minKubeVersion", on_key=True))


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
            hint = f"Write `{right}`." if is_semantic(right) else None
            yield Problem(message=message, place=csv.place("spec", "minKubeVersion"), hint=hint)


@FAMILY.rule(
    "RV1-211",
    title="Annotations that OLM knows are spelled as it spells them",
    hint="Rename the annotation: its case matters.",
    error_only_in=Profile.OPM,
)
def annotations_have_their_case(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for key in mapping(csv.manifest, "metadata", "annotations"):
            right = _EXACT_ANNOTATIONS.get(key.lower(), key)
            if key != right:
                message = f"OLM does not read the annotation {key}: it is spelled {right}"
                yield Problem(message=message, place=csv.place("metadata", "annotations", key, on_key=True))


@FAMILY.rule(
    "RV1-212",
    severity=Severity.WARNING,
    title="Properties are in metadata/properties.yaml",
    hint="Move the properties to metadata/properties.yaml, as a list below `properties:`, and remove the annotation.",
)
def properties_have_their_file(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        if "olm.properties" in mapping(csv.manifest, "metadata", "annotations"):
            message = "the CSV has the annotation olm.properties"
            yield Problem(message=message, place=csv.place("metadata", "annotations", "olm.properties", on_key=True))


@FAMILY.rule(
    "RV1-213",
    title="The name of an owned CRD has a group",
    hint="Write the CRD's metadata.name, `<plural>.<group>`, as in `demos.example.com`.",
    error_only_in=Profile.OPM,
)
def owned_names_have_a_group(reading: Reading) -> Iterator[Problem]:
    for csv in csvs(reading):
        for path, owned in entries(csv.manifest, "spec", "customresourcedefinitions", "owned"):
            name = text(owned, "name")
            if "." not in name:
                message = f"the name '{name}' of an owned CRD has no group"
                yield Problem(message=message, place=csv.place(*path, "name"))

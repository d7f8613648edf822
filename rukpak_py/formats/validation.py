"""Everything that is wrong with a bundle, as Findings in the order of its files.

Reading gives the first of them; all rules run on what could be read. What could not be read counts as absent, and what
follows from that is not reported. A profile adds rules or changes severities, never a text. Errors are what the DEFAULT
profile refuses; with OPM, what `opm` does; with both, what either does.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core.findings import Finding, Profile, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats import plain_rules
from rukpak_py.formats.detection import FormatName, detect_format
from rukpak_py.formats.helm import rendered_rules
from rukpak_py.formats.helm import rules as helm_rules
from rukpak_py.formats.helm.rendered_rules import RenderedChart
from rukpak_py.formats.helm.rules import ChartReading
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.object_rules import rules as object_rules
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.plain_rules import PlainReading
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.made_names import service_name
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.reading import LAYOUT, METADATA, WRONG_TYPE, Reading
from rukpak_py.formats.registry_v1.rules import rule_sets
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Family, Locator, Place, Problem, judge, severity_in

__all__ = ["ALL_FAMILIES", "Profile", "arranged", "validate"]

_MOST_OF_A_FILE: Final = 20
_METADATA_SUFFIXES: Final = (".yaml", ".yml", ".json")
# Whatever other rules say at their place, or inside it, follows from them.
_UNREAD: Final = (WRONG_TYPE.id, LAYOUT.id, METADATA.id)
# The missing object may well be in a sub-directory of manifests/, which is not read.
_MAY_LIE_DEEPER: Final = "RV1-004"
_Where: TypeAlias = tuple[str, str, int]  # rule, file, document
PLAIN_FAMILIES: Final = (plain_rules.FAMILY, plain_rules.FIELDS)
CHART_FAMILIES: Final = (helm_rules.FAMILY, helm_rules.SURPRISES, helm_rules.RENDERING)
HELM_FAMILIES: Final = (*CHART_FAMILIES, rendered_rules.FAMILY)


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    tree: Tree
    limits: Limits


FILE_FAMILY: Family[Files] = Family(title="Files", origin="rukpak-py")


@FILE_FAMILY.rule(
    "FILE-001",
    title="A mapping gives each key once",
    hint="Keep one of them: the last one counts, the earlier ones are lost without a word.",
    severity=Severity.WARNING,
)
def keys_are_given_once(files: Files) -> Iterator[Problem]:
    for file in files.tree:
        folder, _, name = file.rpartition("/")
        if folder != "manifests" and not (folder == "metadata" and name.endswith(_METADATA_SUFFIXES)):
            continue
        # Not the locator's, which are kept: those of all files at once would be most of a validation's memory.
        positions = Positions(files.tree[file], limits=files.limits)
        for key, (line, column) in islice(positions.repeated_keys(), _MOST_OF_A_FILE):
            yield Problem(message=f"key {key[:100]!r} is given again", place=Place(file=file), at=(line, column))


ALL_FAMILIES: Final[tuple[Family[Any], ...]] = (
    *rule_sets.ALL,
    FILE_FAMILY,
    *object_rules.FAMILIES,
    *PLAIN_FAMILIES,
    *HELM_FAMILIES,
)


def validate(
    tree: Tree,
    *,
    format_name: str | None = None,
    is_directory: bool = False,
    profiles: Collection[Profile] = (),
    categories: frozenset[str] = frozenset(),
    makes_certificates: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Finding]:
    """Without `format_name` the content decides; without certificates, webhooks are refused.

    `is_directory`: the tree does not come from an archive. `categories`: those of the catalog that the bundle is for,
    in the place of OperatorHub.io's.
    """
    locator = Locator(tree, limits)
    match detect_format(tree, limits) if format_name is None else FormatName(format_name):
        case FormatName.HELM:
            found = _of_chart(
                ChartReading.of(tree, limits, is_directory=is_directory),
                locator,
                is_directory=is_directory,
                limits=limits,
            )
        case FormatName.PLAIN:
            found = chain(
                judge((FILE_FAMILY,), Files(tree=tree, limits=limits), locator),
                _of_plain(PlainReading.of(tree, limits), locator),
            )
        case FormatName.REGISTRY:
            reading = replace(read(tree, parity=False, limits=limits), categories=categories)
            found = _of_registry(reading, profiles, locator, makes_certificates=makes_certificates)
    return arranged(_judged(finding, profiles) for finding in found)


def _of_chart(reading: ChartReading, locator: Locator, *, is_directory: bool, limits: Limits) -> Iterator[Finding]:
    yield from judge(CHART_FAMILIES, reading, locator)
    rendered = RenderedChart.of(reading, limits, is_directory=is_directory)
    yield from judge((rendered_rules.FAMILY,), rendered, locator)
    yield from judge(object_rules.FAMILIES, rendered.judged, locator)


def _of_plain(reading: PlainReading, locator: Locator) -> Iterator[Finding]:
    yield from judge(PLAIN_FAMILIES, reading, locator)
    judged = Judged()
    for document in reading.manifests:
        judged.add(document)
    yield from judge(object_rules.FAMILIES, judged, locator)


def arranged(findings: Iterable[Finding]) -> list[Finding]:
    """Each defect once, by place; at one place errors first."""
    unique = list(dict.fromkeys(findings))
    told: dict[_Where, _Told] = {}
    for finding in unique:
        told.setdefault((finding.rule, finding.file, finding.document), _Told()).add(finding)
    of_others = [one for one in unique if not _is_of_object(one)]
    said = {(one.file, one.document, one.path) for one in of_others if one.is_error}
    warned = {(one.file, one.document, one.path) for one in of_others if one.path}
    kept = [
        one
        for one in unique
        if not _follows(one, told) and not (_is_of_object(one) and _is_said(one, said, () if one.is_error else warned))
    ]
    return sorted(kept, key=_order)


def _of_registry(
    reading: Reading, profiles: Collection[Profile], locator: Locator, *, makes_certificates: bool
) -> Iterator[Finding]:
    told = [defect.finding for defect in reading.defects]
    yield from told
    has_directories = any(finding.rule == LAYOUT.id and finding.file.startswith(f"{MANIFESTS}/") for finding in told)
    for finding in _by_rules(reading, profiles, locator, makes_certificates=makes_certificates):
        if not (has_directories and finding.rule == _MAY_LIE_DEEPER):
            yield finding


def _by_rules(
    reading: Reading, profiles: Collection[Profile], locator: Locator, *, makes_certificates: bool
) -> Iterator[Finding]:
    yield from judge((FILE_FAMILY,), Files(tree=reading.tree, limits=reading.limits), locator)
    asked = [family for profile, family in rule_sets.READING_FAMILIES_OF.items() if profile in profiles]
    yield from judge((*rule_sets.READING_FAMILIES, *asked), reading, locator)
    if reading.bundle is None:
        return
    request = InstallRequest(bundle=reading.bundle, makes_certificates=makes_certificates)
    refusing = [family for profile, family in rule_sets.REQUEST_FAMILIES_OF.items() if profile in profiles]
    yield from judge((*rule_sets.REQUEST_FAMILIES, *refusing), request, locator)
    yield from judge(rule_sets.BUNDLE_FAMILIES, reading.bundle, locator)
    yield from judge(object_rules.FAMILIES, _objects_of(reading.bundle), locator)


def _objects_of(bundle: RegistryBundle) -> Judged:
    """Shipped objects, what becomes objects, and the schemas of CRDs, which have rules of their own for the rest."""
    judged, csv = Judged(), bundle.csv
    serving = {webhook.deployment_name for webhook in csv.webhooks}  # certificates are mounted there
    generated = {name for entry in csv.deployments for name in (service_name(entry.name),) if csv.webhooks}
    for document in bundle.others:
        if document.kind != "Service" or document.name not in generated:  # else the one that is made takes its place
            judged.add(replace(document, manifest=_without_namespace(document.manifest)))
    for definition in bundle.definitions:
        judged.add_schemas(definition.document)
    for entry in csv.deployments:
        # OLM, and we, set the limit of the history ourselves.
        spec = {key: value for key, value in entry.spec.items() if key != "revisionHistoryLimit"}
        place = csv.document.place(*entry.path, "spec")
        judged.add_deployment(spec, place, has_volumes=entry.name not in serving)
    for permission in (*csv.permissions, *csv.cluster_permissions):  # in the whole cluster both are ClusterRoles
        judged.add_role({"rules": permission.rules}, csv.document.place(*permission.path))
    for webhook in csv.webhooks:
        selector, place = webhook.typed.get("objectSelector") or {}, csv.document.place(*webhook.path, "objectSelector")
        judged.add_part(selector, "LabelSelector", place)
    return judged


def _without_namespace(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Without `metadata.namespace`, which is not what a bundle of OLM is installed with."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "namespace" not in metadata:
        return dict(manifest)
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key != "namespace"}}


def _judged(finding: Finding, profiles: Collection[Profile]) -> Finding:
    if Profile.STRICT in profiles:
        return replace(finding, severity=Severity.ERROR)
    if finding.error_only_in is None:
        return finding
    refusing = profiles if Profile.OPM in profiles else {Profile.DEFAULT}
    return replace(finding, severity=severity_in(refusing, Severity.ERROR, finding.error_only_in))


def _is_of_object(finding: Finding) -> bool:
    return finding.rule.startswith(object_rules.PREFIX)


def _is_said(
    finding: Finding, said: Collection[tuple[str, int, str]], warned: Collection[tuple[str, int, str]]
) -> bool:
    """Whether a rule that knows more tells it, at the same place or, of errors, right around it."""
    if (finding.file, finding.document, finding.path) in warned:
        return True
    around = finding.path.rpartition("." if finding.path.rfind(".") > finding.path.rfind("[") else "[")[0]
    return any((finding.file, finding.document, path) in said for path in (finding.path, around) if path)


def _follows(finding: Finding, told: Mapping[_Where, "_Told"]) -> bool:
    return finding.rule not in _UNREAD and any(
        (where := (rule, finding.file, finding.document)) in told and told[where].is_around(finding) for rule in _UNREAD
    )


class _Told:
    """Where one rule has told something in one document. Looked up by path: both sides may be many thousands."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._lengths: set[int] = set()

    def add(self, finding: Finding) -> None:
        self._paths.add(finding.path)
        self._lengths.add(len(finding.path))

    def is_around(self, inner: Finding) -> bool:
        path = inner.path
        return path in self._paths or any(
            (length == 0 or path[length] in ".[") and path[:length] in self._paths
            for length in self._lengths
            if length < len(path)
        )


def _order(finding: Finding) -> tuple[str, int, int, bool, str, str]:
    return finding.file, finding.line, finding.column, not finding.is_error, finding.rule, finding.message

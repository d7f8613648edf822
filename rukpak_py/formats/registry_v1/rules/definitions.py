"""Rules of an API server for a CustomResourceDefinition before its schemas: group, names, scope, versions.

The document is judged as it was written, with the server's defaults. As for `opm`, nothing below a schema counts. CRDs
of v1beta1, which no supported Kubernetes takes, are judged by that alone: rewriting them changes everything else.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from rukpak_py.core.findings import Profile
from rukpak_py.formats.manifests import Document
from rukpak_py.formats.registry_v1 import dns
from rukpak_py.formats.registry_v1.bundle import Json, Webhook, WebhookType
from rukpak_py.formats.registry_v1.kinds import DEFINITION, OLD_DEFINITIONS
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules import object_metadata
from rukpak_py.formats.registry_v1.rules.first_documents import at, entries, mapping, name_of, of_kind, text
from rukpak_py.formats.registry_v1.rules.urls import has_scheme_and_host
from rukpak_py.formats.rules import Check, Family, Place, Problem, path_text

FAMILY: Family[Reading] = Family(
    title="CustomResourceDefinitions", origin="Kubernetes, by way of operator-framework/api"
)

_VERSION: Final = "apiextensions.k8s.io/v1"
_SCOPES: Final = ("Cluster", "Namespaced")
_APPROVAL: Final = "api-approved.kubernetes.io"
_APPROVAL_TEXT: Final = f'protected groups must have approval annotation "{_APPROVAL}"'
_APPROVAL_LINK: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenDefinition:
    """A CRD as it was written. `versions` are its mappings with their paths."""

    document: Document
    spec: Json
    versions: list[tuple[tuple[str | int, ...], Json]]

    @property
    def group(self) -> str:
        return text(self.spec, "group")

    def place(self, *path: str | int, on_key: bool = False) -> Place:
        return self.document.place(*path, on_key=on_key)

    def problem(self, reason: str, *path: str | int, on_key: bool = False) -> Problem:
        """In the API server's words, which begin with the field."""
        return Problem(message=f"{path_text(path)}: {reason}", place=self.place(*path, on_key=on_key))


OfDefinition: TypeAlias = Callable[[WrittenDefinition], Iterable[Problem]]

_SAME_IN_V1BETA1: Final[list[OfDefinition]] = []
_OF_V1: Final[list[OfDefinition]] = []


def problems_of(document: Document) -> Iterator[Problem]:
    """All that is wrong with a CRD of v1 before its schemas, in whatever content it is."""
    written = _written(document)
    for check in _OF_V1:
        yield from check(written)


def each_definition(check: OfDefinition) -> Check[Reading]:
    _OF_V1.append(check)

    def judged(reading: Reading) -> Iterator[Problem]:
        converted = {name for webhook in _conversions(reading) for name in webhook.conversion_crds}
        for document in of_kind(reading, DEFINITION):
            if document.api_version == _VERSION:
                is_replaced = name_of(document) in converted
                for problem in check(_written(document)):
                    yield _of_conversion(problem) if is_replaced else problem

    judged.__name__ = check.__name__
    judged.__doc__ = check.__doc__
    return judged


def _conversions(reading: Reading) -> Iterable[Webhook]:
    return reading.bundle.csv.webhooks_of(WebhookType.CONVERSION) if reading.bundle is not None else ()


def _of_conversion(problem: Problem) -> Problem:
    """Where the CSV has a conversion webhook, it takes the place of what the CRD says of its conversion."""
    is_about = problem.place is not None and problem.place.path[:2] == ("spec", "conversion")
    return replace(problem, error_only_in=Profile.OPM) if is_about else problem


def same_in_v1beta1(check: OfDefinition) -> OfDefinition:
    """Mark a check that `opm` makes of CRDs of v1beta1, too."""
    _SAME_IN_V1BETA1.append(check)
    return check


def _written(document: Document) -> WrittenDefinition:
    versions = list(entries(document.manifest, "spec", "versions"))
    return WrittenDefinition(document=document, spec=mapping(document.manifest, "spec"), versions=versions)


@FAMILY.rule(
    "RV1-301",
    title="The apiVersion of a CRD is known",
    hint=f"Write `apiVersion: {_VERSION}`.",
)
def the_api_version_is_known(reading: Reading) -> Iterator[Problem]:
    for document in of_kind(reading, DEFINITION):
        if document.api_version not in {_VERSION, OLD_DEFINITIONS}:
            found = f"the unknown apiVersion '{document.api_version}'" if document.api_version else "no apiVersion"
            yield Problem(message=f"CRD '{name_of(document)}' has {found}", place=document.place("apiVersion"))


@FAMILY.rule(
    "RV1-910",
    title="A CRD is of apiextensions.k8s.io/v1, not of v1beta1",
    hint=f"Rewrite it for {_VERSION}: validation, subresources and additionalPrinterColumns move into each version, "
    "JSONPath becomes jsonPath, and every version needs a schema.",
    origin="rukpak-py; Kubernetes, by way of operator-framework/api",
)
def definitions_are_of_v1(reading: Reading) -> Iterator[Problem]:
    """Judge all CRDs, where there is a bundle."""
    bundle = reading.bundle
    read = [definition.document for definition in bundle.definitions] if bundle is not None else []
    for document in read or of_kind(reading, DEFINITION):
        if document.api_version == OLD_DEFINITIONS:
            message = f"CRD '{name_of(document)}' is of {OLD_DEFINITIONS}, which Kubernetes 1.22 removed"
            only_in = Profile.DEFAULT if _is_accepted_by_opm(document) else None
            yield Problem(message=message, place=document.place("apiVersion"), error_only_in=only_in)


def _is_accepted_by_opm(document: Document) -> bool:
    """Whether `opm` takes it: it reads a file's first document. v1beta1 preserves unknown fields unless told not to."""
    written = _written(document)
    prunes = written.spec.get("preserveUnknownFields") is False
    return bool(document.index) or (prunes and not any(list(check(written)) for check in _SAME_IN_V1BETA1))


@FAMILY.rule(
    "RV1-302",
    title="The metadata of a CRD are valid, and it has no namespace",
    hint="CRDs belong to the whole cluster: remove `metadata.namespace`. Names are DNS-1123 subdomains; keys of labels "
    "and annotations are `<prefix>/<name>`.",
)
@each_definition
@same_in_v1beta1
def metadata_are_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    yield from object_metadata.problems(definition.document)
    if namespace := text(definition.document.manifest, "metadata", "namespace"):
        message = f"CRD '{name_of(definition.document)}' names the namespace '{namespace}', but CRDs have none"
        place = definition.place("metadata", "namespace")
        yield Problem(message=message, place=place, error_only_in=Profile.OPM)  # rendering removes it
    name = name_of(definition.document)
    if reasons := dns.subdomain(name) if name else []:
        yield definition.problem(f'Invalid value: "{name}": {",".join(reasons)}', "metadata", "name")


@FAMILY.rule(
    "RV1-303",
    title="A CRD is named after its plural and its group",
    hint="The name must be spec.names.plural, a dot, and spec.group: correct the one of the three that is wrong.",
)
@each_definition
@same_in_v1beta1
def the_name_is_plural_and_group(definition: WrittenDefinition) -> Iterator[Problem]:
    expected = f"{text(definition.spec, 'names', 'plural')}.{definition.group}"
    for field in ("name", "generateName"):
        name = text(definition.document.manifest, "metadata", field)
        if name and name != expected:
            reason = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
            yield definition.problem(reason, "metadata", field)


@FAMILY.rule(
    "RV1-304",
    title="The group of a CRD is a domain",
    hint="Write the API group as a domain with a dot in it, in lower case: `example.com`.",
)
@each_definition
@same_in_v1beta1
def the_group_is_a_domain(definition: WrittenDefinition) -> Iterator[Problem]:
    group = definition.group
    if not group:
        yield definition.problem("Required value", "spec", "group")
    elif reasons := dns.subdomain(group):
        yield definition.problem(f'Invalid value: "{group}": {",".join(reasons)}', "spec", "group")
    elif "." not in group:
        yield definition.problem(f'Invalid value: "{group}": should be a domain with at least one dot', "spec", "group")


@FAMILY.rule(
    "RV1-305",
    title="Groups of Kubernetes itself need an approval",
    hint="Use a group of a domain of your own. If the API was reviewed, name the review in the annotation "
    "`api-approved.kubernetes.io` as a URL; if not, let its value begin with `unapproved`.",
)
@each_definition
@same_in_v1beta1
def protected_groups_are_approved(definition: WrittenDefinition) -> Iterator[Problem]:
    group = definition.group
    if group not in {"k8s.io", "kubernetes.io"} and not group.endswith((".k8s.io", ".kubernetes.io")):
        return
    field = f"metadata.annotations[{_APPROVAL}]"
    place = definition.place("metadata", "annotations", _APPROVAL)
    approval = text(definition.document.manifest, "metadata", "annotations", _APPROVAL)
    if not approval:
        yield Problem(message=f"{field}: Required value: {_APPROVAL_TEXT}, {_APPROVAL_LINK}", place=place)
    elif not approval.startswith("unapproved") and not has_scheme_and_host(approval):
        why = f'{_APPROVAL_TEXT} with either a URL or a reason starting with "unapproved", {_APPROVAL_LINK}'
        yield Problem(message=f'{field}: Invalid value: "{approval}": {why}', place=place)


@FAMILY.rule(
    "RV1-306",
    title="The scope of a CRD is Cluster or Namespaced",
    hint="Write `scope: Namespaced`, or `scope: Cluster`.",
)
@each_definition
@same_in_v1beta1
def the_scope_is_known(definition: WrittenDefinition) -> Iterator[Problem]:
    scope = text(definition.spec, "scope")
    if not scope:
        yield definition.problem("Required value", "spec", "scope")
    elif scope not in _SCOPES:
        reason = f'Unsupported value: "{scope}": supported values: "Cluster", "Namespaced"'
        yield definition.problem(reason, "spec", "scope")


@FAMILY.rule(
    "RV1-307",
    title="The names of a CRD are DNS-1035 labels",
    hint="Use letters, digits and `-` only, beginning with a letter; upper case in kind and listKind only.",
)
@each_definition
@same_in_v1beta1
def names_are_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    for field, name in _names(definition).items():
        if reason := _name_reason(field, name):
            yield definition.problem(reason, "spec", "names", field)
    for field in ("shortNames", "categories"):
        names = at(definition.spec, "names", field)
        for index, name in enumerate(names if isinstance(names, list) else []):
            if isinstance(name, str) and (reasons := dns.dns_1035_label(name)):
                reason = f'Invalid value: "{name}": {",".join(reasons)}'
                yield definition.problem(reason, "spec", "names", field, index)


def _names(definition: WrittenDefinition) -> dict[str, str]:
    names = mapping(definition.spec, "names")
    kind = text(names, "kind")
    return {
        "plural": text(names, "plural"),
        "singular": text(names, "singular") or kind.lower(),
        "kind": kind,
        "listKind": text(names, "listKind") or (kind and f"{kind}List"),
    }


def _name_reason(field: str, name: str) -> str:
    if not name:
        return "Required value"
    is_kind = field in {"kind", "listKind"}
    reasons = dns.dns_1035_label(name.lower() if is_kind else name)
    prefix = "may have mixed case, but should otherwise match: " if is_kind else ""
    return f'Invalid value: "{name}": {prefix}{",".join(reasons)}' if reasons else ""


@FAMILY.rule(
    "RV1-308",
    title="kind and listKind of a CRD are different",
    hint="Name the list `<kind>List`, or leave listKind out.",
)
@each_definition
@same_in_v1beta1
def kind_and_list_kind_differ(definition: WrittenDefinition) -> Iterator[Problem]:
    names = _names(definition)
    if names["kind"] and names["kind"] == names["listKind"]:
        reason = f'Invalid value: "{names["kind"]}": kind and listKind may not be the same'
        yield definition.problem(reason, "spec", "names", "listKind")


@FAMILY.rule(
    "RV1-309",
    title="The versions of a CRD have names that are DNS-1035 labels, each once",
    hint="Name versions `v1`, `v1beta1` and so on, each once.",
)
@each_definition
def version_names_are_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    for path, version in definition.versions:
        name = text(version, "name")
        if reasons := dns.dns_1035_label(name):
            yield definition.problem(f'Invalid value: "{name}": {",".join(reasons)}', *path, "name")
    counted = Counter(text(version, "name") for _, version in definition.versions)
    if repeated := [name for name, count in counted.items() if count > 1]:
        reason = f"Invalid value: {', '.join(repeated)}: must contain unique version names"
        yield definition.problem(reason, "spec", "versions", on_key=True)


@FAMILY.rule(
    "RV1-310",
    title="Exactly one version of a CRD is stored",
    hint="Set `storage: true` in one entry of spec.versions, and `storage: false` in the others.",
)
@each_definition
def one_version_is_stored(definition: WrittenDefinition) -> Iterator[Problem]:
    stored = [text(version, "name") for _, version in definition.versions if version.get("storage") is True]
    if len(stored) != 1:
        found = ", ".join(stored) or "none"
        reason = f"Invalid value: {found}: must have exactly one version marked as storage version"
        yield definition.problem(reason, "spec", "versions", on_key=True)


@FAMILY.rule(
    "RV1-311",
    title="A CRD does not preserve unknown fields",
    hint="Remove `preserveUnknownFields`; a part of a schema that must keep unknown fields takes "
    "`x-kubernetes-preserve-unknown-fields: true`.",
)
@each_definition
def unknown_fields_are_not_preserved(definition: WrittenDefinition) -> Iterator[Problem]:
    if preserves_unknown_fields(definition):
        reason = (
            "Invalid value: true: cannot set to true, "
            "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield definition.problem(reason, "spec", "preserveUnknownFields", on_key=True)


def preserves_unknown_fields(definition: WrittenDefinition) -> bool:
    return definition.spec.get("preserveUnknownFields") is True

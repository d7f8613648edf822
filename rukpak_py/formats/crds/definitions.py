"""Rules of an API server for a CustomResourceDefinition before its schemas: group, names, scope, versions.

The document is judged as it was written, with the server's defaults. As for `opm`, nothing below a schema counts.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Fix, Profile
from rukpak_py.formats import dns, object_metadata
from rukpak_py.formats.crds.written import WrittenDefinition
from rukpak_py.formats.json_fields import at, mapping, text
from rukpak_py.formats.rules import Family, Problem, of_other_case
from rukpak_py.formats.urls import has_scheme_and_host

FAMILY: Family[WrittenDefinition] = Family(
    title="CustomResourceDefinitions", origin="Kubernetes, by way of operator-framework/api"
)

_SCOPES: Final = ("Cluster", "Namespaced")
_APPROVAL: Final = "api-approved.kubernetes.io"
_APPROVAL_TEXT: Final = f'protected groups must have approval annotation "{_APPROVAL}"'
_APPROVAL_LINK: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


@FAMILY.rule(
    "RV1-302",
    title="The metadata of a CRD are valid, and it has no namespace",
    hint="CRDs belong to the whole cluster: remove `metadata.namespace`. Names are DNS-1123 subdomains; keys of labels "
    "and annotations are `<prefix>/<name>`.",
)
def metadata_are_valid(definition: WrittenDefinition) -> Iterator[Problem]:
    yield from object_metadata.problems(definition.document)
    if namespace := text(definition.document.manifest, "metadata", "namespace"):
        message = f"CRD '{definition.document.name}' names the namespace '{namespace}', but CRDs have none"
        place = definition.place("metadata", "namespace")
        yield Problem(message=message, place=place, error_only_in=Profile.OPM)  # rendering removes it
    name = definition.document.name
    if reasons := dns.subdomain(name) if name else []:
        yield definition.problem(f'Invalid value: "{name}": {",".join(reasons)}', "metadata", "name")


@FAMILY.rule(
    "RV1-303",
    title="A CRD is named after its plural and its group",
    hint="The name must be spec.names.plural, a dot, and spec.group: correct the one of the three that is wrong.",
)
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
def the_scope_is_known(definition: WrittenDefinition) -> Iterator[Problem]:
    scope = text(definition.spec, "scope")
    if not scope:
        yield definition.problem("Required value", "spec", "scope")
    elif scope not in _SCOPES:
        reason = f'Unsupported value: "{scope}": supported values: "Cluster", "Namespaced"'
        same = of_other_case(scope, _SCOPES)
        yield definition.problem(reason, "spec", "scope", fix=Fix(text=same) if same else None)


@FAMILY.rule(
    "RV1-307",
    title="The names of a CRD are DNS-1035 labels",
    hint="Use letters, digits and `-` only, beginning with a letter; upper case in kind and listKind only.",
)
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
def unknown_fields_are_not_preserved(definition: WrittenDefinition) -> Iterator[Problem]:
    if preserves_unknown_fields(definition):
        reason = (
            "Invalid value: true: cannot set to true, "
            "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield definition.problem(reason, "spec", "preserveUnknownFields", on_key=True)


def preserves_unknown_fields(definition: WrittenDefinition) -> bool:
    return definition.spec.get("preserveUnknownFields") is True

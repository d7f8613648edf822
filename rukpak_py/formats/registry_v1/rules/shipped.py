"""Rules for the CRDs and other objects that a bundle ships: what an API server refuses, or drops without a word.

An integer that does not fit prevents rendering: the server takes it for another one without a word. An unknown field is
left out where we render for people; in a cluster the server decides, which may know more fields than we do.
"""

from collections.abc import Iterator
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import QUOTED, Fix, Profile, Severity
from rukpak_py.formats import dns
from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.documents import Document
from rukpak_py.formats.go_types.restore import TypeDefect, restore
from rukpak_py.formats.json_fields import at, entries, mapping
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.kinds import OLD_DEFINITIONS, SUPPORTED
from rukpak_py.formats.rules import Family, Problem, of_other_case
from rukpak_py.formats.type_defects import RANGES
from rukpak_py.formats.unknown_fields import UnknownField

FAMILY: Family[RegistryBundle] = Family(title="What a cluster refuses: shipped objects", origin="Kubernetes")
FIELDS: Family[RegistryBundle] = Family(title="Fields of shipped objects", origin="rukpak-py")
INTEGERS: Family[RegistryBundle] = Family(title="Integers of shipped objects", origin="rukpak-py")

_TYPES: Final = frozenset({"array", "boolean", "integer", "number", "object", "string"})
_TEXTS: Final = {"ConfigMap": ("data", "binaryData"), "Secret": ("stringData", "data")}  # text, then base64
_ROLES: Final = frozenset({"Role", "ClusterRole"})
_RBAC: Final = "rbac.authorization.k8s.io/v1"
_API_VERSIONS: Final = {
    **dict.fromkeys(("ConfigMap", "Secret", "Service", "ServiceAccount"), "v1"),
    **dict.fromkeys(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), _RBAC),
    **dict.fromkeys(("PodMonitor", "PrometheusRule", "ServiceMonitor"), "monitoring.coreos.com/v1"),
    DEFINITION: "apiextensions.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}
_SCHEMA: Final = ("schema", "openAPIV3Schema")
_LISTED: Final = ("allOf", "anyOf", "oneOf")
_NAMED: Final = ("properties", "patternProperties", "definitions")
_SINGLE: Final = ("items", "additionalProperties", "not")


@FAMILY.rule(
    "RV1-940",
    title="Every version of a CRD has a schema",
    hint="Give schema.openAPIV3Schema; the least is `type: object` with `x-kubernetes-preserve-unknown-fields: true`.",
    error_only_in=Profile.DEFAULT,
)
def versions_have_a_schema(bundle: RegistryBundle) -> Iterator[Problem]:
    for definition in bundle.definitions:
        document = definition.document
        if document.api_version == OLD_DEFINITIONS:
            continue
        for path, version in entries(document.manifest, "spec", "versions"):
            if not at(version, *_SCHEMA):
                message = f"version '{version.get('name')}' of CRD '{definition.name}' has no schema"
                yield Problem(message=message, place=document.place(*path))


@FAMILY.rule(
    "RV1-941",
    title="The types in a schema exist",
    hint=f"Write one of {', '.join(sorted(_TYPES))}.",
    error_only_in=Profile.DEFAULT,
)
def schema_types_are_known(bundle: RegistryBundle) -> Iterator[Problem]:
    for definition in bundle.definitions:
        document = definition.document
        for path, version in entries(document.manifest, "spec", "versions"):
            for inner, name in _unknown_types(at(version, *_SCHEMA)):
                message = f"the type '{name}' of a schema does not exist"
                same = of_other_case(name, _TYPES)
                yield Problem(
                    message=message,
                    place=document.place(*path, *_SCHEMA, *inner, "type"),
                    hint=f"Write `type: {same}`." if same else None,
                    fix=Fix(text=same) if same else None,
                )


def _unknown_types(schema: Any) -> Iterator[tuple[Path, str]]:
    """Find unknown types without recursion: schemas nest as deeply as their authors like."""
    pending: list[tuple[Path, Any]] = [((), schema)]
    while pending:
        path, found = pending.pop()
        if not isinstance(found, dict):
            continue
        name = found.get("type")
        if isinstance(name, str) and name and name not in _TYPES:
            yield path, name
        pending += [((*path, field), found[field]) for field in _SINGLE if field in found]
        for field in _NAMED:
            pending += [((*path, field, key), item) for key, item in mapping(found, field).items()]
        for field in _LISTED:
            listed = found.get(field)
            pending += [((*path, field, n), item) for n, item in enumerate(listed if isinstance(listed, list) else [])]


@FAMILY.rule(
    "RV1-942",
    title="Values of ConfigMaps and Secrets are strings",
    hint="Put the value in quotes; a list or an object is written as a string, with `|` behind the key.",
    error_only_in=Profile.DEFAULT,
)
def values_are_texts(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        for field in _TEXTS.get(document.kind, ()) if document.api_version == "v1" else ():
            for key, value in mapping(document.manifest, field).items():
                if value is not None and not isinstance(value, str):
                    message = f"{field}.{key} of {document.kind} '{document.name}' is not a string"
                    is_text = field == _TEXTS[document.kind][0] and isinstance(value, bool | int | float)
                    yield Problem(message=message, place=document.place(field, key), fix=QUOTED if is_text else None)


@FAMILY.rule(
    "RV1-943",
    title="Every object has an apiVersion",
    hint="Add the `apiVersion` of its kind.",
    error_only_in=Profile.DEFAULT,
)
def objects_have_a_version(bundle: RegistryBundle) -> Iterator[Problem]:
    """RV1-301 tells of CRDs that begin a file, RV1-013 of kinds that are not supported."""
    later = [one.document for one in bundle.definitions if one.document.index or one.document.inside]
    for document in (*later, *bundle.others):
        if not document.api_version and document.kind in SUPPORTED:
            message = f"{document.kind} '{document.name}' has no apiVersion"
            known = _API_VERSIONS.get(document.kind)
            hint = f"Add `apiVersion: {known}`." if known else None
            yield Problem(message=message, place=document.place(), hint=hint)


@FAMILY.rule(
    "RV1-944",
    title="The names of shipped Services are DNS-1035 labels",
    hint="Begin with a lower case letter; lower case letters, digits and `-` may follow, at most 63 characters in all.",
    severity=Severity.WARNING,
)
def service_names_are_valid(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        is_service = (document.kind, document.api_version) == ("Service", "v1")
        if is_service and document.name and (reasons := dns.dns_1035_label(document.name)):
            message = f"Service '{document.name}' has an invalid name: {', '.join(reasons)}"
            yield Problem(message=message, place=document.place("metadata", "name"))


@FAMILY.rule(
    "RV1-945",
    title="Rules of shipped roles have no unknown fields",
    hint="Correct the spelling (case counts), or remove the field: a cluster drops it, and with it the permission.",
    severity=Severity.WARNING,
)
def rules_of_roles_are_known(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        if document.kind in _ROLES:
            for path in _unknown_fields(document):
                yield UnknownField(document, path, f"{_RBAC}/{document.kind}").problem()


def _unknown_fields(document: Document) -> list[Path]:
    unknown: list[Path] = []
    defects: list[TypeDefect] = []
    rules = document.manifest.get("rules")
    if isinstance(rules, list):
        try:
            restore(rules, "[]PolicyRule", keep_unknown=False, defects=defects, unknown=unknown)
        except ContentError:  # nested too deeply for any rule
            return []
    return [("rules", *path) for path in unknown]


@FIELDS.rule(
    "RV1-960",
    title="Fields of shipped objects are known",
    hint="Correct the spelling (case counts), move it to where it belongs, or remove it: it is left out.",
    severity=Severity.WARNING,
)
def fields_of_objects_are_known(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        has_rules = document.kind in _ROLES
        for path in checked(document.manifest).undeclared:
            if has_rules and path[0] == "rules" and len(path) > 1:
                continue  # RV1-945 tells
            yield UnknownField(document, path, f"{document.api_version}/{document.kind}").problem()


@INTEGERS.rule(
    "RV1-961",
    title="Integers of shipped objects fit their types",
    hint="Write a number that fits: the API server takes it for another one.",
    error_only_in=Profile.DEFAULT,
)
def integers_of_objects_fit(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        for overflow in checked(document.manifest).overflows:
            hint = RANGES[overflow.wanted]
            yield Problem(message=overflow.message, place=document.place(*overflow.path), hint=hint)

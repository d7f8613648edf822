"""Rules of `opm` for the objects beside the ClusterServiceVersion and the CRDs."""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats import object_metadata
from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import Json, at, entries, text, texts
from rukpak_py.formats.registry_v1.kinds import AUTOSCALER, CSV, SUPPORTED, near_kind
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import first_documents, is_blank, of_kind
from rukpak_py.formats.registry_v1.rules.layout import media_type
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Reading] = Family(title="Other objects", origin="opm alpha bundle validate")
STABILITY_FAMILY: Family[Reading] = Family(
    title="Objects that endanger a cluster", origin="opm alpha bundle validate, option bundle-objects"
)

_DEFAULT_CONSTRAINTS: Final = frozenset(
    {
        "anyuid",
        "hostaccess",
        "hostmount-anyuid",
        "hostnetwork",
        "node-exporter",
        "nonroot",
        "privileged",
        "restricted",
    }
)
_CHANGING: Final = frozenset({"*", "delete", "patch", "update"})
_CREATING: Final = frozenset({"*", "create", "patch", "update"})


@FAMILY.rule(
    "RV1-501",
    title="Each file begins with an object, not with a comment above `---` or a list",
    hint="Remove comments above `---`, and give each item of a list a file of its own: `opm` reads only the first "
    "document of each file, and opens no lists.",
    error_only_in=Profile.OPM,
)
def files_begin_with_an_object(reading: Reading) -> Iterator[Problem]:
    """A first object of an unsupported kind is told of the bundle, where there is one."""
    if media_type(reading) == "helm":
        return
    for document in first_documents(reading):
        kind = text(document.manifest, "kind")
        if kind in SUPPORTED:
            continue
        if not document.manifest:
            blank = is_blank(reading, document.file)
            message = "there is no object in the file" if blank else "`opm` sees only the comment above the first `---`"
            hint = "Remove the file." if blank else "Remove the `---` below the comment."
            yield Problem(message=message, place=document.place("kind"), hint=hint, at=(1, 1))  # found behind them else
        elif "items" in document.manifest:
            yield Problem(message="the file begins with a list", place=document.place("kind"))
        elif kind and reading.bundle is None:
            near = near_kind(kind)
            hint = f"Did you mean `kind: {near}`?" if near else "Remove the object."
            if near != CSV:  # RV1-905 tells
                yield Problem(message=f"a bundle may not hold a {kind}", place=document.place("kind"), hint=hint)


@FAMILY.rule(
    "RV1-502",
    title="An object's metadata are valid",
    hint="Every object has `metadata.name`. Keys of labels and annotations are `<prefix>/<name>`; names in "
    "them and values of labels are letters, digits, `-`, `_` and `.`, at most 63 of them.",
)
def metadata_are_valid(reading: Reading) -> Iterator[Problem]:
    for document in _others(reading):
        yield from object_metadata.problems(document)


@FAMILY.rule(
    "RV1-503",
    title="An object has no metadata.namespace",
    hint="Remove `metadata.namespace`: `opm` refuses objects that have it.",
    error_only_in=Profile.OPM,
)
def objects_name_no_namespace(reading: Reading) -> Iterator[Problem]:
    for document in _others(reading):
        if namespace := text(document.manifest, "metadata", "namespace"):
            consequence = "the install namespace is used instead"
            if document.kind == AUTOSCALER:
                consequence = "it goes there, wherever the operator is installed"
            elif not SUPPORTED[document.kind]:
                consequence = "objects of its kind have none"
            message = f"{document.kind} '{document.name}' names the namespace '{namespace}', but {consequence}"
            yield Problem(message=message, place=document.place("metadata", "namespace"))


def _others(reading: Reading) -> list[Document]:
    if media_type(reading) == "helm":
        return []
    supported = SUPPORTED.keys() - {CSV, DEFINITION}
    return [document for document in first_documents(reading) if text(document.manifest, "kind") in supported]


@STABILITY_FAMILY.rule(
    "RV1-510",
    title="A PodDisruptionBudget allows some pod to be away",
    hint="Allow at least one pod to be away: otherwise no node that runs the pods can ever be drained.",
)
def budgets_allow_disruptions(reading: Reading) -> Iterator[Problem]:
    for document in of_kind(reading, "PodDisruptionBudget"):
        away = at(document.manifest, "spec", "maxUnavailable")
        if isinstance(away, int | str) and str(away) in {"0", "0%"}:
            message = f"PodDisruptionBudget '{document.name}' allows no pod to be away: maxUnavailable is {away}"
            yield Problem(message=message, place=document.place("spec", "maxUnavailable"))
        if text(document.manifest, "spec", "minAvailable") == "100%":
            message = f"PodDisruptionBudget '{document.name}' allows no pod to be away: minAvailable is 100%"
            yield Problem(message=message, place=document.place("spec", "minAvailable"))


@STABILITY_FAMILY.rule(
    "RV1-511",
    title="A PriorityClass is not the cluster's default",
    hint="Remove `globalDefault`: it would change the priority of pods that have nothing to do with the operator.",
)
def priority_classes_are_no_default(reading: Reading) -> Iterator[Problem]:
    for document in of_kind(reading, "PriorityClass"):
        if document.manifest.get("globalDefault") is True:
            message = f"PriorityClass '{document.name}' is the default of the whole cluster"
            yield Problem(message=message, place=document.place("globalDefault"))


@STABILITY_FAMILY.rule(
    "RV1-512",
    severity=Severity.WARNING,
    title="A shipped role cannot change PodDisruptionBudgets",
    hint="Grant only reading of poddisruptionbudgets, if the operator can do without the rest.",
)
def roles_leave_budgets_alone(reading: Reading) -> Iterator[Problem]:
    for document, path, rule in _rules(reading):
        if _grants(rule, "policy", "poddisruptionbudgets", _CREATING):
            message = f"{document.kind} '{document.name}' may create or change PodDisruptionBudgets"
            yield Problem(message=message, place=document.place(*path))


@STABILITY_FAMILY.rule(
    "RV1-513",
    title="A shipped role cannot change the default SecurityContextConstraints",
    hint="Grant only the verb `use`, or name constraints of the operator's own in resourceNames.",
)
def roles_leave_constraints_alone(reading: Reading) -> Iterator[Problem]:
    for document, path, rule in _rules(reading):
        named = _DEFAULT_CONSTRAINTS.intersection(texts(rule, "resourceNames"))
        if named and _grants(rule, "security.openshift.io", "securitycontextconstraints", _CHANGING):
            message = f"{document.kind} '{document.name}' may change {', '.join(sorted(named))} of OpenShift"
            yield Problem(message=message, place=document.place(*path))


def _rules(reading: Reading) -> Iterator[tuple[Document, tuple[str | int, ...], Json]]:
    for kind in ("Role", "ClusterRole"):
        for document in of_kind(reading, kind):
            for path, rule in entries(document.manifest, "rules"):
                yield document, path, rule


def _grants(rule: Json, group: str, resource: str, verbs: frozenset[str]) -> bool:
    return (
        group in texts(rule, "apiGroups")
        and resource in texts(rule, "resources")
        and not verbs.isdisjoint(texts(rule, "verbs"))
    )

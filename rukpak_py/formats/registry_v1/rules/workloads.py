"""Rules for the deployments and permissions of a CSV that an API server refuses: an installation would fail halfway.

And for service accounts: what deployments run as, what permissions name, what the bundle ships.
"""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats import dns
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import Json, entries, mapping
from rukpak_py.formats.registry_v1.bundle import DeploymentEntry, RegistryBundle
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[RegistryBundle] = Family(
    title="What a cluster refuses: deployments and permissions", origin="Kubernetes"
)
ACCOUNTS: Family[RegistryBundle] = Family(title="Service accounts", origin="rukpak-py")

_ROLES: Final = frozenset({"Role", "ClusterRole"})
_TEMPLATE: Final = ("spec", "template")


@FAMILY.rule(
    "RV1-932",
    title="A deployment selects its own pods",
    hint="Give spec.selector.matchLabels, and the same labels in spec.template.metadata.labels.",
    error_only_in=Profile.DEFAULT,
)
def deployments_select_their_pods(bundle: RegistryBundle) -> Iterator[Problem]:
    for entry in bundle.csv.deployments:
        selector = mapping(entry.spec, "selector")
        wanted = mapping(selector, "matchLabels")
        if not wanted and not selector.get("matchExpressions"):
            yield _problem(bundle, entry, f"deployment '{entry.name}' has no selector", "spec", "selector")
            continue
        labels = mapping(entry.spec, "template", "metadata", "labels")
        for key, value in wanted.items():
            if labels.get(key) != value:
                message = f"deployment '{entry.name}' selects pods with {key}={value}, which its own pods do not have"
                yield _problem(bundle, entry, message, "spec", "selector", "matchLabels", key)


@FAMILY.rule(
    "RV1-933",
    title="A deployment has containers, each with a name and an image",
    hint="List the containers in spec.template.spec.containers, each with `image` and a `name` of its own that is a "
    "DNS label: lower case letters, digits and `-`.",
    error_only_in=Profile.DEFAULT,
)
def deployments_have_containers(bundle: RegistryBundle) -> Iterator[Problem]:
    for entry in bundle.csv.deployments:
        pod = mapping(entry.spec, "template", "spec")
        if not pod.get("containers"):
            yield _problem(bundle, entry, f"deployment '{entry.name}' has no containers", *_TEMPLATE, "spec")
        names: set[str] = set()
        for path, container in (*entries(pod, "initContainers"), *entries(pod, "containers")):
            name = container.get("name") or ""
            for problem in _of_container(name, container.get("image") or "", is_again=name in names):
                message = f"deployment '{entry.name}': {problem}"
                yield _problem(bundle, entry, message, *_TEMPLATE, "spec", *path)
            names.add(name)


def _of_container(name: str, image: str, *, is_again: bool) -> Iterator[str]:
    if not name:
        yield "a container has no name"
    elif dns.label(name):
        yield f"the container name '{name}' is invalid: {', '.join(dns.label(name))}"
    elif is_again:
        yield f"two containers have the name '{name}'"
    if not image:
        yield f"container '{name}' has no image"


@FAMILY.rule(
    "RV1-934",
    title="Labels of pods are valid",
    hint="Keys are `<prefix>/<name>`; names and values are letters, digits, `-`, `_` and `.`, at most 63 of them.",
    error_only_in=Profile.DEFAULT,
)
def labels_are_valid(bundle: RegistryBundle) -> Iterator[Problem]:
    for entry in bundle.csv.deployments:
        for key, value in mapping(entry.spec, "template", "metadata", "labels").items():
            for reason in (*dns.qualified_name(key), *dns.label_value(value)):
                message = f"deployment '{entry.name}' has the invalid label {key}={value}: {reason}"
                yield _problem(bundle, entry, message, *_TEMPLATE, "metadata", "labels", key)


@FAMILY.rule(
    "RV1-935",
    title="A rule of permissions has verbs, and resources or URLs",
    hint="Give `verbs`, and `apiGroups` with `resources`, or in cluster permissions `nonResourceURLs` alone.",
    error_only_in=Profile.DEFAULT,
)
def rules_grant_something(bundle: RegistryBundle) -> Iterator[Problem]:
    for rule, place in policy_rules(bundle):
        if problem := _useless(rule):
            yield Problem(message=problem, place=place)


def _useless(rule: Json) -> str:
    if not rule.get("verbs"):
        return "a rule has no verbs"
    if rule.get("nonResourceURLs"):
        return "a rule has resources and nonResourceURLs, which exclude each other" if rule.get("resources") else ""
    if not rule.get("resources"):
        return "a rule has neither resources nor nonResourceURLs"
    return "" if rule.get("apiGroups") else "a rule has resources but no apiGroups"


def policy_rules(bundle: RegistryBundle) -> Iterator[tuple[Json, Place]]:
    """Those of the CSV's permissions and of shipped roles."""
    for permission in (*bundle.csv.permissions, *bundle.csv.cluster_permissions):
        for index, rule in enumerate(permission.rules or []):
            yield rule or {}, bundle.csv.document.place(*permission.path, "rules", index)
    for document in bundle.others:
        if document.kind in _ROLES:
            for path, rule in entries(document.manifest, "rules"):
                yield rule, document.place(*path)


def _problem(bundle: RegistryBundle, entry: DeploymentEntry, message: str, *path: str | int) -> Problem:
    return Problem(message=message, place=bundle.csv.document.place(*entry.path, *path))


@ACCOUNTS.rule(
    "RV1-920",
    title="A deployment's service account is in the permissions, or shipped",
    hint=(
        "Name the account in spec.install.spec.permissions or clusterPermissions. rukpak creates it, without any "
        "rights; other installers do not, and there no pod starts."
    ),
    severity=Severity.WARNING,
)
def accounts_are_created(bundle: RegistryBundle) -> Iterator[Problem]:
    created = {"default", *_named_by_permissions(bundle), *_shipped(bundle)}
    for entry in bundle.csv.deployments:
        account, field = _runs_as(entry)
        if account not in created:
            yield Problem(
                message=(
                    f"deployment '{entry.name}' runs as service account '{account}', "
                    "which no permission names and the bundle does not ship"
                ),
                place=bundle.csv.document.place(*entry.path, "spec", "template", "spec", field),
            )


@ACCOUNTS.rule(
    "RV1-921",
    title="A service account of the CSV is not shipped as well",
    hint="Remove the manifest, unless it is there for its labels, annotations or pull secrets: those are kept.",
    severity=Severity.WARNING,
    origin="the operator-framework/api library, as an error",
)
def accounts_are_not_shipped_as_well(bundle: RegistryBundle) -> Iterator[Problem]:
    generated = {*_named_by_permissions(bundle), *(_runs_as(entry)[0] for entry in bundle.csv.deployments)} - {
        "default"
    }
    for name, document in _shipped(bundle).items():
        if name in generated:
            yield Problem(
                message=f"service account '{name}' is shipped and also made from the CSV: the shipped one is emitted",
                place=document.place("metadata", "name"),
            )


@ACCOUNTS.rule(
    "RV1-924",
    title="Permissions of the CSV name a service account",
    hint="Give `serviceAccountName`: the account that the deployment runs as.",
    severity=Severity.WARNING,
)
def permissions_name_an_account(bundle: RegistryBundle) -> Iterator[Problem]:
    for permission in (*bundle.csv.permissions, *bundle.csv.cluster_permissions):
        if not permission.service_account:
            yield Problem(
                message="a permission names no service account: it is granted to `default`, and to all pods that run "
                "without an account",
                place=bundle.csv.document.place(*permission.path),
            )


def _runs_as(entry: DeploymentEntry) -> tuple[str, str]:
    """The account, and the field that names it; `serviceAccount` is the old name of the same."""
    pod = (entry.spec.get("template") or {}).get("spec") or {}
    for field in ("serviceAccountName", "serviceAccount"):
        if pod.get(field):
            return str(pod[field]), field
    return "default", "serviceAccountName"


def _named_by_permissions(bundle: RegistryBundle) -> set[str]:
    entries = (*bundle.csv.permissions, *bundle.csv.cluster_permissions)
    return {entry.service_account for entry in entries if entry.service_account}


def _shipped(bundle: RegistryBundle) -> dict[str, Document]:
    return {
        document.name: document
        for document in bundle.others
        if document.kind == "ServiceAccount" and document.api_version == "v1"
    }

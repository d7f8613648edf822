"""Rules for a bundle to be rendered: the reference renderer's own checks, in its order and its words.

All rules run and every error is told. The order of errors within a rule is upstream's (mostly sorted by name), because
the joined texts are compared; findings for people are sorted by place elsewhere.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Profile
from rukpak_py.formats import dns
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import Csv, InstallMode, RegistryBundle, Webhook, WebhookType
from rukpak_py.formats.registry_v1.kinds import SUPPORTED, near_kind
from rukpak_py.formats.registry_v1.metadata.annotations import ANNOTATIONS_FILE, PACKAGE
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[RegistryBundle] = Family(title="What can be rendered", origin="operator-controller, its renderer")

_FORBIDDEN_GROUPS: Final = frozenset({"*", "olm.operatorframework.io"})
_ADMISSION: Final = "admissionregistration.k8s.io"
_FORBIDDEN_ADMISSION_RESOURCES: Final = frozenset(
    {
        "*",
        "mutatingwebhookconfiguration",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfiguration",
        "validatingwebhookconfigurations",
    }
)


@FAMILY.rule(
    "RV1-001",
    title="No two deployments of the CSV have the same name",
    hint="Give each deployment of spec.install.spec.deployments a name of its own, or remove the repetition.",
    error_only_in=Profile.DEFAULT,
)
def deployments_are_unique(bundle: RegistryBundle) -> Iterator[Problem]:
    places = {entry.name: _at(bundle.csv, *entry.path, "name") for entry in bundle.csv.deployments}
    counted = Counter(entry.name for entry in bundle.csv.deployments)
    for name in sorted(name for name, count in counted.items() if count > 1):
        yield Problem(
            message=f"cluster service version contains duplicate strategy deployment spec '{name}'",
            place=places[name],
        )


@FAMILY.rule(
    "RV1-002",
    title="A deployment's name is a DNS-1123 subdomain",
    hint="Use lower case letters, digits, `-` and `.` only, at most 253 of them, with a letter or digit at both ends.",
    error_only_in=Profile.DEFAULT,
)
def deployment_names_are_valid(bundle: RegistryBundle) -> Iterator[Problem]:
    entries = {entry.name: entry for entry in bundle.csv.deployments}
    for name, entry in sorted(entries.items()):
        reasons = sorted(dns.subdomain(name))
        if reasons:
            yield Problem(
                message=f"invalid cluster service version strategy deployment name '{name}': {', '.join(reasons)}",
                place=_at(bundle.csv, *entry.path, "name"),
            )


@FAMILY.rule(
    "RV1-003",
    title="No two CRDs have the same name, or define the same kind",
    hint="Remove one of the CRDs, or merge their versions into one.",
    origin="operator-controller, its renderer; operator-framework/api",
    error_only_in=Profile.DEFAULT,
)
def definitions_are_unique(bundle: RegistryBundle) -> Iterator[Problem]:
    documents = {definition.name: definition.document for definition in bundle.definitions}
    counted = Counter(definition.name for definition in bundle.definitions)
    for name in sorted(name for name, count in counted.items() if count > 1):
        yield Problem(
            message=f"bundle contains duplicate custom resource definition '{name}'",
            place=documents[name].place("metadata", "name"),
        )


@FAMILY.rule(
    "RV1-004",
    title="Every owned CRD is in the bundle, with the version and the kind that the CSV names",
    hint="Add the CRD to manifests/, or remove the entry from customresourcedefinitions.owned.",
    origin="operator-controller, its renderer; operator-framework/api",
)
def owned_definitions_exist(bundle: RegistryBundle) -> Iterator[Problem]:
    present = {definition.name for definition in bundle.definitions}
    # The first entry of each name: a definition is listed once per version.
    missing = {owned.name: owned for owned in reversed(bundle.csv.owned) if owned.name not in present}
    for name, owned in sorted(missing.items()):
        yield Problem(
            message=(
                f"cluster service definition references owned custom resource definition '{name}' not found in bundle"
            ),
            place=_at(bundle.csv, *owned.path, "name"),
        )


@FAMILY.rule(
    "RV1-005",
    title="The package has a name",
    hint=f"Set the annotation {PACKAGE} in metadata/annotations.yaml.",
)
def package_has_a_name(bundle: RegistryBundle) -> Iterator[Problem]:
    if not bundle.metadata.package:
        yield Problem(
            message="package name is empty",
            place=Place(file=ANNOTATIONS_FILE, path=("annotations", PACKAGE), on_key=True),
        )


@FAMILY.rule(
    "RV1-006",
    title="With conversion webhooks, AllNamespaces is the only install mode",
    hint="CRDs are converted for the whole cluster: support AllNamespaces only, or remove the conversion webhook.",
    origin="operator-controller, its renderer; operator-framework/api",
)
def conversion_is_for_all_namespaces(bundle: RegistryBundle) -> Iterator[Problem]:
    modes = bundle.csv.supported_modes
    if modes == [InstallMode.ALL]:
        return
    for webhook in bundle.csv.webhooks_of(WebhookType.CONVERSION):
        yield Problem(
            message=(
                f'bundle contains conversion webhook "{webhook.generate_name}" and supports install modes '
                f"[{' '.join(modes)}] - conversion webhooks are only supported for bundles that only support "
                "AllNamespaces install mode"
            ),
            place=_at(bundle.csv, *webhook.path),
        )


@FAMILY.rule(
    "RV1-007",
    title="A webhook's deployment is in the CSV",
    hint="Set deploymentName to the name of a deployment in spec.install.spec.deployments.",
    error_only_in=Profile.DEFAULT,
)
def webhooks_have_a_deployment(bundle: RegistryBundle) -> Iterator[Problem]:
    present = {entry.name for entry in bundle.csv.deployments}
    orphans = [webhook for webhook in bundle.csv.webhooks if webhook.deployment_name not in present]
    for webhook in sorted(orphans, key=lambda orphan: (orphan.deployment_name, *_by_type_and_name(orphan))):
        yield Problem(
            message=(
                f"webhook of type '{webhook.type}' with name '{webhook.generate_name}' references "
                f"non-existent deployment '{webhook.deployment_name}'"
            ),
            place=_at(bundle.csv, *webhook.path, "deploymentName"),
        )


@FAMILY.rule(
    "RV1-008",
    title="No two webhooks of a type have the same name",
    hint="Give each webhook of a type its own generateName: it becomes the name of a cluster-wide object.",
    error_only_in=Profile.DEFAULT,
)
def webhook_names_are_unique(bundle: RegistryBundle) -> Iterator[Problem]:
    """Outside of parity the names of the objects are compared, which have lost one `-` at the end."""
    keys = [(webhook.type, _object_name(bundle, webhook)) for webhook in bundle.csv.webhooks]
    last = dict(zip(keys, bundle.csv.webhooks, strict=True))
    for kind, name in sorted(key for key, count in Counter(keys).items() if count > 1):
        yield Problem(
            message=f"duplicate webhook '{name}' of type '{kind}'",
            place=_at(bundle.csv, *last[kind, name].path, "generateName"),
        )


@FAMILY.rule(
    "RV1-009",
    title="A webhook's name is a DNS-1123 subdomain",
    hint="Use lower case letters, digits, `-` and `.` only, at most 253 of them, with a letter or digit at both ends.",
    error_only_in=Profile.DEFAULT,
)
def webhook_names_are_valid(bundle: RegistryBundle) -> Iterator[Problem]:
    """Outside of parity the name of the object is judged, which has lost one `-` at the end."""
    webhooks = {_by_type_and_name(webhook): webhook for webhook in bundle.csv.webhooks}
    for (kind, name), webhook in sorted(webhooks.items()):
        reasons = sorted(dns.subdomain(_object_name(bundle, webhook)))
        if reasons:
            yield Problem(
                message=f"webhook of type '{kind}' has invalid name '{name}': {','.join(reasons)}",
                place=_at(bundle.csv, *webhook.path, "generateName"),
            )


@FAMILY.rule(
    "RV1-010",
    title="A CRD is converted by one webhook",
    hint="Name the CRD in the conversionCRDs of one conversion webhook, once.",
    error_only_in=Profile.DEFAULT,
)
def definitions_have_one_conversion(bundle: RegistryBundle) -> Iterator[Problem]:
    references: dict[str, list[tuple[Webhook, int]]] = {}
    for webhook in bundle.csv.webhooks_of(WebhookType.CONVERSION):
        for index, definition in enumerate(webhook.conversion_crds):
            references.setdefault(definition, []).append((webhook, index))
    for definition, found in sorted(references.items()):
        if len(found) > 1:
            names = sorted(webhook.generate_name for webhook, _ in found)
            last, index = found[-1]
            yield Problem(
                message=(
                    f"conversion webhooks [{','.join(names)}] reference same custom resource definition '{definition}'"
                ),
                place=_at(bundle.csv, *last.path, "conversionCRDs", index),
            )


@FAMILY.rule(
    "RV1-011",
    title="A conversion webhook converts owned CRDs",
    hint="List the CRD in customresourcedefinitions.owned, or remove it from conversionCRDs.",
    error_only_in=Profile.DEFAULT,
)
def converted_definitions_are_owned(bundle: RegistryBundle) -> Iterator[Problem]:
    owned = {entry.name for entry in bundle.csv.owned}
    webhooks = bundle.csv.webhooks_of(WebhookType.CONVERSION)
    for webhook in sorted(webhooks, key=lambda webhook: webhook.generate_name):
        last = {name: index for index, name in enumerate(webhook.conversion_crds)}
        for definition in sorted(name for name in webhook.conversion_crds if name not in owned):
            yield Problem(
                message=(
                    f"conversion webhook '{webhook.generate_name}' references custom resource definition "
                    f"'{definition}' not owned bundle"
                ),
                place=_at(bundle.csv, *webhook.path, "conversionCRDs", last[definition]),
            )


@FAMILY.rule(
    "RV1-012",
    title="Admission webhooks are not called for all groups, OLM, or webhook configurations",
    hint="Name the groups and resources that the webhook is for. A webhook that fails must not block its own repair.",
    error_only_in=Profile.DEFAULT,
)
def webhook_rules_are_allowed(bundle: RegistryBundle) -> Iterator[Problem]:
    for webhook in bundle.csv.webhooks:
        if webhook.type == WebhookType.CONVERSION:
            continue  # an unknown type is judged like admission, as upstream does
        for index, rule in enumerate(webhook.typed.get("rules") or []):
            for field, position, reference in _forbidden(rule, repeats=bundle.parity):
                yield Problem(
                    message=(
                        f'webhook "{webhook.generate_name}" contains forbidden rule: '
                        f"admission webhook rules cannot reference {reference}"
                    ),
                    place=_at(bundle.csv, *webhook.path, "rules", index, field, position),
                )


@FAMILY.rule(
    "RV1-013",
    title="Every object is of a supported kind",
    hint=(
        "Remove the object, or let the operator create it when it starts: only the CSV of a bundle may define "
        "workloads and webhooks, and a bundle holds no namespaces."
    ),
)
def objects_are_supported(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        if document.kind not in SUPPORTED:
            yield Problem(
                message=f'unsupported resource "{document.name}" with kind "{document.kind}"',
                place=document.place("kind"),
                hint=f"Did you mean `kind: {near}`?" if (near := near_kind(document.kind)) else None,
            )


def _forbidden(rule: Json, *, repeats: bool) -> Iterator[tuple[str, int, str]]:
    """The field, the position in it, and what it refers to; upstream tells resources again for a repeated group."""
    resources_are_told = False
    for position, group in enumerate(rule.get("apiGroups") or []):
        if group in _FORBIDDEN_GROUPS:
            yield "apiGroups", position, f'API group "{group}"'
        elif group == _ADMISSION and (repeats or not resources_are_told):
            resources_are_told = True
            for index, resource in enumerate(rule.get("resources") or []):
                if resource.lower() in _FORBIDDEN_ADMISSION_RESOURCES:
                    yield "resources", index, f'resource "{resource}" for API group "{_ADMISSION}"'


def _at(csv: Csv, *path: str | int) -> Place:
    return csv.document.place(*path)


def _object_name(bundle: RegistryBundle, webhook: Webhook) -> str:
    return webhook.generate_name if bundle.parity else webhook.generate_name.removesuffix("-")


def _by_type_and_name(webhook: Webhook) -> tuple[str, str]:
    return webhook.type, webhook.generate_name

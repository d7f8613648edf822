"""Rules that upstream does not have: what the author of a bundle wants to know before the API server says it."""

from collections.abc import Iterator
from difflib import get_close_matches

from rukpak_py.core.findings import Fix, Profile, Severity
from rukpak_py.formats import dns
from rukpak_py.formats.json_fields import at, mapping, text
from rukpak_py.formats.registry_v1.bundle import DEFAULT_PORT, SUGGESTED_NAMESPACE, InstallMode, RegistryBundle, Webhook
from rukpak_py.formats.registry_v1.kinds import AUTOSCALER
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[RegistryBundle] = Family(title="Further checks", origin="rukpak-py")
READING_FAMILY: Family[Reading] = Family(title="Unknown fields", origin="rukpak-py")


@FAMILY.rule(
    "RV1-962",
    title="A bundle has objects",
    hint="Add the operator's deployment, permissions and CRDs; nothing changes in a cluster that installs this bundle.",
    severity=Severity.WARNING,
)
def something_is_rendered(bundle: RegistryBundle) -> Iterator[Problem]:
    csv = bundle.csv
    if not (bundle.definitions or bundle.others or csv.deployments or csv.permissions or csv.cluster_permissions):
        yield Problem(message="the bundle has no objects", place=csv.document.place())


@READING_FAMILY.rule(
    "RV1-911",
    title="The CSV and the CRDs have no unknown fields",
    hint="Correct the spelling (case counts), move the field to where it belongs, or remove it: clusters and most "
    "installers drop it.",
    severity=Severity.WARNING,
)
def fields_are_known(reading: Reading) -> Iterator[Problem]:
    for field in reading.unknown:
        path = field.path
        is_group = path[:3] == ("spec", "customresourcedefinitions", "owned") and path[4:] == ("group",)
        if is_group or (len(path) == 1 and str(path[0]).lower() == "apiversion"):
            continue  # RV1-402 or RV1-203 tells
        yield field.problem()


@FAMILY.rule(
    "RV1-912",
    title="The containerPort of a webhook is a port",
    hint=f"Write the port at which the Service answers, or remove the field: {DEFAULT_PORT} is the default.",
    severity=Severity.WARNING,
)
def container_ports_are_ports(bundle: RegistryBundle) -> Iterator[Problem]:
    """Numbers that are too high are no port of a cluster either: RV1-938 tells."""
    for webhook in bundle.csv.webhooks:
        port = at(bundle.csv.document.manifest, *webhook.path, "containerPort")
        if isinstance(port, int) and port <= 0:
            message = (
                f"the containerPort of webhook '{webhook.generate_name}' is {port}: {DEFAULT_PORT} is used instead"
            )
            yield Problem(message=message, place=bundle.csv.document.place(*webhook.path, "containerPort"))


@FAMILY.rule(
    "RV1-916",
    title="A VerticalPodAutoscaler has a namespace",
    hint="Nothing to do for rukpak. Other installers do not set the namespace, and cannot create the object.",
    severity=Severity.WARNING,
)
def autoscalers_have_a_namespace(bundle: RegistryBundle) -> Iterator[Problem]:
    for document in bundle.others:
        if document.kind == AUTOSCALER and not (document.manifest.get("metadata") or {}).get("namespace"):
            yield Problem(
                message=f"{AUTOSCALER} '{document.name}' has no namespace: the install namespace is used",
                place=document.place("metadata", on_key=True),
            )


@FAMILY.rule(
    "RV1-918",
    title="Webhooks of one deployment and containerPort have one targetPort",
    hint="Give the webhooks different containerPorts, or the same targetPort.",
    error_only_in=Profile.DEFAULT,
)
def webhook_ports_are_distinct(bundle: RegistryBundle) -> Iterator[Problem]:
    """Webhooks share a Service, whose ports are named by their numbers."""
    served = {entry.name for entry in bundle.csv.deployments}
    first: dict[tuple[str, int], Webhook] = {}
    for webhook in bundle.csv.webhooks:
        if webhook.deployment_name not in served:
            continue
        port, target = webhook.ports
        earlier = first.setdefault((webhook.deployment_name, port), webhook)
        if earlier.ports[1] != target:
            yield Problem(
                message=(
                    f"webhooks '{earlier.generate_name}' and '{webhook.generate_name}' of deployment "
                    f"'{webhook.deployment_name}' share the port {port}, but have the target ports "
                    f"{earlier.ports[1]} and {target}: their Service would be invalid"
                ),
                place=bundle.csv.document.place(*webhook.path, "targetPort"),
            )


@FAMILY.rule(
    "RV1-919",
    title="The default install namespace has a valid name",
    hint=f"Set the CSV's annotation {SUGGESTED_NAMESPACE} to a DNS label of at most 63 characters.",
    severity=Severity.WARNING,
)
def install_namespace_is_valid(bundle: RegistryBundle) -> Iterator[Problem]:
    suggested = bundle.csv.annotations.get(SUGGESTED_NAMESPACE)
    namespace = suggested or f"{bundle.metadata.package}-system"
    is_told = not suggested and dns.subdomain(bundle.metadata.package)  # RV1-005 and RV1-931 do
    reasons = [] if is_told else dns.label(namespace)
    if reasons:
        path = ("metadata", "annotations", SUGGESTED_NAMESPACE) if suggested else ("metadata", "annotations")
        yield Problem(
            message=f"the default install namespace '{namespace}' is invalid: {', '.join(reasons)}",
            place=bundle.csv.document.place(*path, on_key=True),
        )


@FAMILY.rule(
    "RV1-923",
    title="The install modes are known",
    hint=f"Write one of {', '.join(InstallMode)}: other modes have no effect.",
    severity=Severity.WARNING,
    may_be_error=True,
    error_only_in=Profile.DEFAULT,
)
def install_modes_are_known(bundle: RegistryBundle) -> Iterator[Problem]:
    """An unknown mode is an error when there is no other way to install the bundle."""
    supported = set(bundle.csv.supported_modes)
    fatal = supported and not supported & set(InstallMode)
    for index, (mode, is_supported) in enumerate(bundle.csv.install_modes):
        if mode not in set(InstallMode):
            (near,) = get_close_matches(mode, list(InstallMode), n=1, cutoff=0.8) or [""]
            yield Problem(
                message=f"there is no install mode '{mode}'",
                place=bundle.csv.document.place("spec", "installModes", index, "type"),
                hint=f"Did you mean `type: {near}`?" if near else None,
                fix=Fix(text=near) if near else None,
                severity=Severity.ERROR if fatal and is_supported else None,
            )


@FAMILY.further_check(
    "RV1-003",
    severity=Severity.WARNING,
    hint="Give the CRDs different kinds or groups, or merge them into one: a cluster serves only the first of them.",
)
def kinds_are_defined_once(bundle: RegistryBundle) -> Iterator[Problem]:
    first: dict[tuple[str, str], str] = {}
    for definition in bundle.definitions:
        spec = mapping(definition.document.manifest, "spec")
        kind = text(spec, "names", "kind")
        earlier = first.setdefault((text(spec, "group"), kind), definition.name)
        if kind and earlier != definition.name:
            message = f"CRD '{earlier}' and CRD '{definition.name}' define the same kind {kind}"
            yield Problem(message=message, place=definition.document.place("spec", "names", "kind"))

"""What upstream does not look at, and what a bundle's author wants to know before the API server says it."""

from collections.abc import Iterator

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1 import dns
from rukpak_py.formats.registry_v1.bundle import DEFAULT_PORT, SUGGESTED_NAMESPACE, Bundle, InstallMode, Webhook
from rukpak_py.formats.registry_v1.kinds import AUTOSCALER, OLD_DEFINITIONS
from rukpak_py.formats.registry_v1.metadata.annotations import ANNOTATIONS_FILE, DEFAULT_CHANNEL
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.names import channel_names
from rukpak_py.formats.rules import Family, Place, Problem, path_text

FAMILY: Family[Bundle] = Family(title="Further checks", origin="rukpak-py")
READING_FAMILY: Family[Reading] = Family(title="Unknown fields", origin="rukpak-py")


@FAMILY.rule(
    "RV1-910",
    title="Definitions are of apiextensions.k8s.io/v1",
    hint="Rewrite the definition for apiextensions.k8s.io/v1: schema and subresources move into each version.",
    severity=Severity.WARNING,
)
def definitions_are_of_v1(bundle: Bundle) -> Iterator[Problem]:
    for definition in bundle.definitions:
        if definition.document.api_version == OLD_DEFINITIONS:
            yield Problem(
                message=f"definition '{definition.name}' is of {OLD_DEFINITIONS}, which Kubernetes 1.22 removed",
                place=definition.document.place("apiVersion"),
            )


@FAMILY.rule(
    "RV1-962",
    title="A bundle has objects",
    hint="Add the operator's deployment, permissions and CRDs; nothing changes in a cluster that installs this bundle.",
    severity=Severity.WARNING,
)
def something_is_rendered(bundle: Bundle) -> Iterator[Problem]:
    csv = bundle.csv
    if not (bundle.definitions or bundle.others or csv.deployments or csv.permissions or csv.cluster_permissions):
        yield Problem(message="the bundle has no objects", place=csv.document.place())


@READING_FAMILY.rule(
    "RV1-911",
    title="Every field is known",
    hint="Correct the spelling (case counts), move it to where it belongs, or remove it: most installers drop it.",
    severity=Severity.WARNING,
)
def fields_are_known(reading: Reading) -> Iterator[Problem]:
    for place in reading.unknown:
        yield Problem(message=f"unknown field {path_text(place.path)}", place=place)


@FAMILY.rule(
    "RV1-912",
    title="A webhook has a containerPort",
    hint=f"Set containerPort to {DEFAULT_PORT}, or to what is meant; other installers take 0, which is refused.",
    severity=Severity.WARNING,
)
def webhooks_have_a_port(bundle: Bundle) -> Iterator[Problem]:
    for webhook in bundle.csv.webhooks:
        if webhook.container_port <= 0:
            yield Problem(
                message=f"webhook '{webhook.generate_name}' has no containerPort: {DEFAULT_PORT} is used",
                place=bundle.csv.document.place(*webhook.path, "containerPort", on_key=True),
            )


@FAMILY.rule(
    "RV1-916",
    title="A VerticalPodAutoscaler has a namespace",
    hint="Nothing to do for rukpak; other installers leave it without a namespace, and fail to create it.",
    severity=Severity.WARNING,
)
def autoscalers_have_a_namespace(bundle: Bundle) -> Iterator[Problem]:
    for document in bundle.others:
        if document.kind == AUTOSCALER and not (document.manifest.get("metadata") or {}).get("namespace"):
            yield Problem(
                message=f"{AUTOSCALER} '{document.name}' has no namespace: the install namespace is used",
                place=document.place("metadata", on_key=True),
            )


@FAMILY.rule(
    "RV1-918",
    title="Webhooks of a deployment with the same port have the same target port",
    hint="Give the webhooks different values of containerPort, or the same targetPort.",
)
def webhook_ports_are_distinct(bundle: Bundle) -> Iterator[Problem]:
    """They share a Service, whose ports are named by their numbers."""
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
                    f"'{webhook.deployment_name}' want port {port} for different target ports, "
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
def install_namespace_is_valid(bundle: Bundle) -> Iterator[Problem]:
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
    "RV1-922",
    title="The default channel is one of the channels",
    hint="Add it to the channels, or name another one; names are compared exactly.",
    severity=Severity.WARNING,
)
def default_channel_is_listed(bundle: Bundle) -> Iterator[Problem]:
    metadata = bundle.metadata
    written = metadata.channels.split(",")
    # What is spelled badly is told by RV1-930.
    listed = {*written, *channel_names(written)}
    if metadata.default_channel and metadata.channels and metadata.default_channel not in listed:
        yield Problem(
            message=f"default channel '{metadata.default_channel}' is not one of the channels '{metadata.channels}'",
            place=Place(file=ANNOTATIONS_FILE, path=("annotations", DEFAULT_CHANNEL)),
        )


@FAMILY.rule(
    "RV1-923",
    title="Install modes have names that are known",
    hint=f"Write {', '.join(InstallMode)}: what has another name has no effect.",
    severity=Severity.WARNING,
    may_be_error=True,
)
def install_modes_are_known(bundle: Bundle) -> Iterator[Problem]:
    """It is an error when there is no other way to install the bundle."""
    supported = set(bundle.csv.supported_modes)
    fatal = supported and not supported & set(InstallMode)
    for index, (mode, is_supported) in enumerate(bundle.csv.install_modes):
        if mode not in set(InstallMode):
            yield Problem(
                message=f"there is no install mode '{mode}'",
                place=bundle.csv.document.place("spec", "installModes", index, "type"),
                severity=Severity.ERROR if fatal and is_supported else None,
            )

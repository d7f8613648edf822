"""Refusals of bundles that could be read: some by every installer, some by OLM's successor only.

The subject is a bundle and how it would be installed, because a certificate provider decides about webhooks. Texts and
order are operator-controller's; it refuses before it looks at the bundle any closer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.core.findings import Profile, Severity
from rukpak_py.formats.json_fields import at
from rukpak_py.formats.registry_v1.bundle import DEFAULT_PORT, InstallMode, RegistryBundle
from rukpak_py.formats.rules import Family, Place, Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class InstallRequest:
    bundle: RegistryBundle
    makes_certificates: bool = True  # False: there is no certificate provider


FAMILY: Family[InstallRequest] = Family(title="What is refused", origin="operator-controller, before it renders")
OLM_V1_FAMILY: Family[InstallRequest] = Family(
    title="What operator-controller refuses", origin="operator-controller, default feature gates"
)

_REACHABLE_MODES: Final = (InstallMode.ALL, InstallMode.SINGLE, InstallMode.OWN)
_DEPENDENCY_PROPERTIES: Final = {
    "olm.package": "olm.package.required",
    "olm.gvk": "olm.gvk.required",
    "olm.constraint": "olm.constraint",
}


@FAMILY.rule(
    "RV1-021",
    title="The CSV owns no API services",
    hint="Serve the API by a CRD, or remove spec.apiservicedefinitions.owned.",
    error_only_in=Profile.DEFAULT,
)
def owns_no_api_services(request: InstallRequest) -> Iterator[Problem]:
    csv = request.bundle.csv
    if csv.owned_api_services:
        yield Problem(
            message="unsupported bundle: apiServiceDefintions are not supported",
            place=csv.document.place("spec", "apiservicedefinitions", "owned"),
        )


@FAMILY.rule(
    "RV1-022",
    title="Webhooks have a certificate provider",
    hint="Choose a certificate provider: operator, cert-manager or openshift.",
    error_only_in=Profile.DEFAULT,
)
def webhooks_have_certificates(request: InstallRequest) -> Iterator[Problem]:
    csv = request.bundle.csv
    if csv.webhooks and not request.makes_certificates:
        yield Problem(
            message="unsupported bundle: webhookDefinitions are not supported: certificate provider is nil",
            place=csv.document.place("spec", "webhookdefinitions"),
        )


@OLM_V1_FAMILY.rule(
    "RV1-023",
    title="AllNamespaces is supported",
    hint="Support AllNamespaces, or have the feature gate SingleOwnNamespaceInstallSupport of operator-controller set.",
)
def supports_all_namespaces(request: InstallRequest) -> Iterator[Problem]:
    if InstallMode.ALL not in request.bundle.csv.supported_modes:
        yield Problem(
            message="unsupported bundle: bundle does not support AllNamespaces install mode",
            place=_install_modes(request.bundle),
        )


@OLM_V1_FAMILY.rule(
    "RV1-024",
    title="A mode other than MultiNamespace is supported",
    hint="Support AllNamespaces, OwnNamespace or SingleNamespace in spec.installModes.",
)
def supports_a_reachable_mode(request: InstallRequest) -> Iterator[Problem]:
    if not set(_REACHABLE_MODES).intersection(request.bundle.csv.supported_modes):
        yield Problem(
            message=(
                f"unsupported bundle: bundle must support at least one of [{' '.join(_REACHABLE_MODES)}] install modes"
            ),
            place=_install_modes(request.bundle),
        )


@OLM_V1_FAMILY.further_check(
    "RV1-912",
    hint=f"Write `containerPort: {DEFAULT_PORT}`, the default of CSVs in a cluster.",
    severity=Severity.WARNING,
)
def webhooks_have_a_port(request: InstallRequest) -> Iterator[Problem]:
    csv = request.bundle.csv
    for webhook in csv.webhooks:
        if at(csv.document.manifest, *webhook.path, "containerPort") is None:
            message = (
                f"webhook '{webhook.generate_name}' has no containerPort: operator-controller takes 0 for it, "
                "which a cluster refuses"
            )
            yield Problem(message=message, place=csv.document.place(*webhook.path, "containerPort", on_key=True))


@OLM_V1_FAMILY.rule(
    "RV1-025",
    title="The bundle has no dependencies",
    hint="Remove the dependency, and say in the description what must be installed first.",
    origin="operator-controller, when it resolves a catalog",
)
def has_no_dependencies(request: InstallRequest) -> Iterator[Problem]:
    for property_type, place in _dependencies(request.bundle):
        yield Problem(
            message=(
                f'bundle "{request.bundle.csv.name}" has a dependency declared via property "{property_type}" '
                "which is currently not supported"
            ),
            place=place,
        )


def _dependencies(bundle: RegistryBundle) -> Iterator[tuple[str, Place]]:
    """The dependencies as the properties that a catalog makes of them."""
    for dependency in bundle.metadata.dependencies:
        if dependency.type in _DEPENDENCY_PROPERTIES:
            yield _DEPENDENCY_PROPERTIES[dependency.type], dependency.place
    spec: dict[str, Any] = bundle.csv.typed.get("spec") or {}
    for field in ("customresourcedefinitions", "apiservicedefinitions"):
        for index, _ in enumerate((spec.get(field) or {}).get("required") or []):
            yield "olm.gvk.required", bundle.csv.document.place("spec", field, "required", index)


def _install_modes(bundle: RegistryBundle) -> Place:
    return bundle.csv.document.place("spec", "installModes", on_key=True)

"""Service accounts: what deployments run as, what permissions name, what the bundle ships."""

from collections.abc import Iterator

from rukpak_py.core.findings import Severity
from rukpak_py.formats.manifests import Document
from rukpak_py.formats.registry_v1.bundle import DeploymentEntry, RegistryBundle
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[RegistryBundle] = Family(title="Service accounts", origin="rukpak-py")


@FAMILY.rule(
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


@FAMILY.rule(
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

"""`rukpakctl catalog install --apply`: creates a BundleDeployment, or sets one to the next bundle of its package.

An upgrade changes the image of the template and the annotations of the catalog, and leaves all other fields to the
user. It is made to what was read: where its spec or the annotations were changed meanwhile, nothing is written.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    CATALOG_PACKAGE_ANNOTATION,
    CONTENT_DIGEST_ANNOTATION,
    REGISTRY_CLASS,
    SourceType,
    canonical_class,
)
from rukpak_py.cli.catalogs.installing import InstallFields
from rukpak_py.cli.cluster.deployments import (
    FIELD_MANAGER,
    TRIES,
    DeploymentCommandError,
    EditedDeployment,
    find_deployment,
)
from rukpak_py.cli.cluster.field_owners import other_owners
from rukpak_py.cli.cluster.installed_packages import PackageOfDeployment, package_of
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, StaleError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

_IMAGE_PATH = ("spec", "template", "spec", "source", "image", "ref")
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class CatalogUpgrade:
    """`change` as a merge patch. `owners`: who would set the fields again."""

    read: EditedDeployment
    change: Json
    owners: tuple[str, ...] = ()

    @property
    def manifest(self) -> Json:
        """The change as it belongs into Git."""
        head = {"apiVersion": self.read.resource.gvk.api_version, "kind": self.read.resource.gvk.kind}
        return {**head, **self.change, "metadata": {"name": self.read.name, **self.change.get("metadata", {})}}


def installed_package(read: EditedDeployment, package: str) -> PackageOfDeployment:
    """DeploymentCommandError: it has another package, or none, or an image cannot be set in its template."""
    name, source = read.deployment.metadata.name, read.edited.spec.template.spec.source
    found = package_of(read.deployment, read.edited.metadata.annotations)
    if read.deployment.metadata.is_deleted or read.edited.metadata.is_deleted:
        raise DeploymentCommandError(f"{read.title} is being deleted")
    if found is None:
        raise DeploymentCommandError(_unknown_package(read, package))
    if found.package != package:
        raise DeploymentCommandError(
            f'BundleDeployment {name} exists and has package "{found.package}", not "{package}": '
            "choose another name with --name"
        )
    template_class = canonical_class(read.edited.spec.template.spec.provisioner_class_name)
    if source.type != SourceType.IMAGE or template_class != REGISTRY_CLASS:
        raise DeploymentCommandError(
            f"the template of BundleDeployment {name} has a source of type {source.type} and class {template_class}: "
            f"bundles of a catalog are images of class {REGISTRY_CLASS}"
        )
    return found


def _unknown_package(read: EditedDeployment, package: str) -> str:
    title = f"BundleDeployment {read.deployment.metadata.name} exists"
    if read.deployment.status.content is not None:
        return f"{title} and has installed something that is not a bundle of OLM: choose another name with --name"
    return (
        f"{title}, has installed nothing, and does not say which package it has: choose another name with --name, "
        f"or, if it is to have this package, annotate {read.title} with {CATALOG_PACKAGE_ANNOTATION}={package}"
    )


def upgrade_of(read: EditedDeployment, image: str, annotations: Mapping[str, str]) -> CatalogUpgrade | None:
    """None: it asks for that already."""
    metadata, template = read.edited.metadata, read.edited.spec.template
    changed = {key: value for key, value in annotations.items() if metadata.annotations.get(key) != value}
    source = template.spec.source.image
    change: Json = {}
    paths: list[tuple[str, ...]] = [("metadata", "annotations", key) for key in changed]
    if changed:
        change["metadata"] = {"annotations": changed}
    if source is None or source.ref != image:
        paths.append(_IMAGE_PATH)
        of_template: Json = {"spec": {"source": {"image": {"ref": image}}}}
        if CONTENT_DIGEST_ANNOTATION in template.metadata.annotations:  # of the content that a rollback has set
            of_template = {"metadata": {"annotations": {CONTENT_DIGEST_ANNOTATION: None}}, **of_template}
        change["spec"] = {"template": of_template}
    if not change:
        return None
    return CatalogUpgrade(read=read, change=change, owners=tuple(other_owners(read, paths)))


def fields_left_alone(read: EditedDeployment, wanted: InstallFields) -> Iterator[str]:
    """Fields of the spec that were given with another value than the BundleDeployment has, which stays."""
    spec, source = read.edited.spec, read.edited.spec.template.spec.source.image
    if wanted.install_namespace and wanted.install_namespace != spec.install_namespace:
        yield "installNamespace"
    if wanted.create_namespace and not spec.create_namespace:
        yield "createNamespace"
    if wanted.service_account and wanted.service_account != spec.service_account_name:
        yield "serviceAccountName"
    if wanted.watch_namespaces and set(wanted.watch_namespaces) != set(spec.watch_namespaces):
        yield "watchNamespaces"
    if wanted.approval and wanted.approval != spec.upgrades.approval:
        yield "upgrades.approval"
    if wanted.pull_secret and source is not None and wanted.pull_secret != source.pull_secret:
        yield "template.spec.source.image.pullSecret"


async def create(client: Client, manifest: Json) -> None:
    try:
        await client.create(BUNDLE_DEPLOYMENTS, "", canonical_json(manifest), field_manager=FIELD_MANAGER)
    except AlreadyExistsError:
        name = manifest["metadata"]["name"]
        raise DeploymentCommandError(
            f'{BUNDLE_DEPLOYMENT_KIND} "{name}" was created meanwhile; run the command again'
        ) from None


async def upgrade(client: Client, wanted: CatalogUpgrade) -> None:
    """The operator writes to the object, too: what was read may be older."""
    read = wanted.read
    for _ in range(TRIES):
        try:
            await read.patch(client, wanted.change)
        except StaleError:
            newer = await find_deployment(client, wanted.read.deployment.metadata.name)
            if newer is None or _edits(newer) != _edits(wanted.read):
                raise DeploymentCommandError(
                    f"{wanted.read.title} was changed meanwhile, and nothing is upgraded; run the command again"
                ) from None
            read = newer
            continue
        return
    raise DeploymentCommandError(f"{wanted.read.title} keeps changing; run the command again")


def _edits(read: EditedDeployment) -> object:
    """All that users write."""
    metadata = read.edited.metadata
    is_deleted = metadata.is_deleted or read.deployment.metadata.is_deleted
    active = read.deployment.status.active_bundle
    return metadata.uid, is_deleted, read.edited.spec, metadata.labels, metadata.annotations, active

"""The BundleDeployment that installs a bundle of a catalog, and the image in it.

The image is named by digest, so that what was resolved is what is installed: where the catalog has a tag, its registry
is asked. Annotations say which bundle of which channel it is; nothing but comparisons with a catalog reads them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.deployment_spec import DNS_SUBDOMAIN
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_DEPLOYMENT_NAME_LENGTH,
    CATALOG_BUNDLE_ANNOTATION,
    CATALOG_CHANNEL_ANNOTATION,
    CATALOG_PACKAGE_ANNOTATION,
    CATALOG_VERSION_ANNOTATION,
    REGISTRY_CLASS,
    SourceType,
)
from rukpak_py.catalog.model import Bundle
from rukpak_py.catalog.upgrades.resolution import Resolution
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.reference import parse_image

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class InstallFields:
    """Fields of the BundleDeployment that a user chooses; empty ones are left out."""

    install_namespace: str = ""
    create_namespace: bool = False
    watch_namespaces: tuple[str, ...] = ()
    service_account: str = ""
    pull_secret: str = ""
    approval: str = ""

    @property
    def spec(self) -> Json:
        """Without the template."""
        found: Json = {
            "installNamespace": self.install_namespace,
            "createNamespace": self.create_namespace,
            "serviceAccountName": self.service_account,
            "watchNamespaces": list(self.watch_namespaces),
            "upgrades": {"approval": self.approval} if self.approval else None,
        }
        return {field: value for field, value in found.items() if value}


def is_deployment_name(name: str) -> bool:
    return len(name) <= BUNDLE_DEPLOYMENT_NAME_LENGTH and re.fullmatch(DNS_SUBDOMAIN, name) is not None


def pinned_image(bundle: Bundle, *, allow_tag: bool, limits: Limits) -> str:
    """The image of a bundle that has one, by digest; with `allow_tag` as the catalog names it."""
    reference = parse_image(bundle.image)
    if reference.digest or allow_tag:
        return bundle.image
    from rukpak_py.sources.image.opening import resolve_digest  # noqa: PLC0415 - digests of catalogs do not need it

    try:
        return str(resolve_digest(reference, limits=limits))
    except RukPakError as error:
        raise type(error)(
            f"{bundle.image}: the catalog names this image by a tag, whose digest cannot be had: {error}. "
            "With --allow-tag it is installed by its tag"
        ) from error


def annotations_of(resolution: Resolution) -> dict[str, str]:
    """Facts about the bundle, as annotations of its BundleDeployment."""
    return {
        CATALOG_PACKAGE_ANNOTATION: resolution.package,
        CATALOG_CHANNEL_ANNOTATION: resolution.channels[0],
        CATALOG_VERSION_ANNOTATION: resolution.version,
        CATALOG_BUNDLE_ANNOTATION: resolution.bundle.name,
    }


def manifest_of(name: str, image: str, annotations: Mapping[str, str], fields: InstallFields) -> Json:
    source: Json = {"ref": image, **({"pullSecret": fields.pull_secret} if fields.pull_secret else {})}
    template = {
        "provisionerClassName": REGISTRY_CLASS,
        "source": {"type": str(SourceType.IMAGE), "image": source},
    }
    return {
        "apiVersion": API_VERSION,
        "kind": BUNDLE_DEPLOYMENT_KIND,
        "metadata": {"name": name, "annotations": dict(annotations)},
        "spec": {"provisionerClassName": REGISTRY_CLASS, **fields.spec, "template": {"spec": template}},
    }

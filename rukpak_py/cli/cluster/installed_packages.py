"""The OLM package that a BundleDeployment has installed, by its status, and the channel that it was installed from.

Annotations of `rukpakctl catalog install` say what was asked for last. They name the installed bundle only while what
was asked for is what is installed: otherwise the content itself says what it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import (
    CATALOG_BUNDLE_ANNOTATION,
    CATALOG_CHANNEL_ANNOTATION,
    CATALOG_PACKAGE_ANNOTATION,
    CATALOG_VERSION_ANNOTATION,
)
from rukpak_py.api.template_hash import bundle_name, template_hash_of
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.installed import Installed


@dataclass(frozen=True, kw_only=True)
class PackageOfDeployment:
    """`name` and `version` are empty while nothing is installed; `channel` is None where nothing names one.

    `awaited` is the bundle that the spec asks for and that is not installed, where an annotation names it.
    """

    package: str
    name: str = ""
    version: str = ""
    channel: str | None = None
    awaited: str = ""

    @property
    def is_installed(self) -> bool:
        return bool(self.name or self.version)

    def known_as(self, index: PackageIndex | None) -> Installed:
        """The bundle by the name that the package knows, else by its version: the two may differ in their names."""
        if index is None or self.name in index.bundles:
            return Installed(name=self.name, version=self.version)
        is_known = any(bundle.version == self.version for bundle in index.bundles.values())
        return Installed(name="" if is_known else self.name, version=self.version)


def package_of(deployment: BundleDeployment, annotations: Mapping[str, str]) -> PackageOfDeployment | None:
    """None: it is no OLM bundle, or nothing says so yet. `annotations`: of the object that users edit."""
    content, annotated = deployment.status.content, annotations.get(CATALOG_PACKAGE_ANNOTATION, "")
    if content is None:
        channel, awaited = (
            annotations.get(CATALOG_CHANNEL_ANNOTATION) or None,
            annotations.get(CATALOG_BUNDLE_ANNOTATION, ""),
        )
        return PackageOfDeployment(package=annotated, channel=channel, awaited=awaited) if annotated else None
    if not content.package:
        return None
    if content.package != annotated:
        return PackageOfDeployment(package=content.package, name=content.name, version=content.version)
    return PackageOfDeployment(
        package=content.package,
        name=_asked_for(deployment, annotations) or content.name,
        version=content.version,
        channel=annotations.get(CATALOG_CHANNEL_ANNOTATION) or None,
        awaited="" if _is_active(deployment) else annotations.get(CATALOG_BUNDLE_ANNOTATION, ""),
    )


def _asked_for(deployment: BundleDeployment, annotations: Mapping[str, str]) -> str:
    """Name of the bundle that was asked for, where it is installed."""
    content = deployment.status.content
    is_same = content is not None and content.version == annotations.get(CATALOG_VERSION_ANNOTATION)
    return annotations.get(CATALOG_BUNDLE_ANNOTATION, "") if is_same and _is_active(deployment) else ""


def _is_active(deployment: BundleDeployment) -> bool:
    """Whether the content of the template is what is installed."""
    return deployment.status.active_bundle == bundle_name(deployment.metadata.name, template_hash_of(deployment))

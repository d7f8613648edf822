"""`rukpakctl catalog outdated`: the OLM packages of all BundleDeployments, each compared with a catalog.

The cluster is asked for one list; where a BundleInstance owns a BundleDeployment, for the list of those as well,
because the annotations of the catalog are on what users edit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND
from rukpak_py.api.reading import read_bundle_deployment, read_bundle_instance
from rukpak_py.catalog.package_index import PackageIndex
from rukpak_py.catalog.upgrades.outdated import Comparison, InstalledPackage, compare
from rukpak_py.cli.cluster.deployments import kinds_of_operator
from rukpak_py.cli.cluster.installed_packages import PackageOfDeployment, package_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, Resource

_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class OutdatedRow:
    """`comparison` is None while nothing is installed. `head`: the version of the channel's head, where it has one."""

    name: str
    package: PackageOfDeployment
    channel: str = ""
    head: str = ""
    comparison: Comparison | None = None

    @property
    def is_asked_for(self) -> bool:
        """Whether the spec asks for the next bundle already, so that the operator is about to install it."""
        following = self.comparison.next if self.comparison else None
        return following is not None and following == self.package.awaited


@dataclass(frozen=True, kw_only=True)
class FoundDeployment:
    deployment: BundleDeployment
    annotations: Mapping[str, str]


async def list_deployments(client: Client) -> list[FoundDeployment]:
    """All BundleDeployments, by name, with the annotations of what users edit."""
    deployments = [read_bundle_deployment(one) for one in await _listed(client, BUNDLE_DEPLOYMENTS)]
    edited: dict[str, Mapping[str, str]] = {}
    if any(map(_is_owned, deployments)):
        for metadata in [read_bundle_instance(one).metadata for one in await _listed(client, BUNDLE_INSTANCES)]:
            edited[metadata.uid] = metadata.annotations
    found = [FoundDeployment(deployment=one, annotations=_annotations(one, edited)) for one in deployments]
    return sorted(found, key=lambda one: one.deployment.metadata.name)


def outdated(
    deployments: Sequence[FoundDeployment], packages: Mapping[str, PackageIndex], channel: str | None = None
) -> list[OutdatedRow]:
    """A row for each that has an OLM package. `channel`: for packages that have it, where nothing names another."""
    found = [
        (one.deployment.metadata.name, package)
        for one in deployments
        if (package := package_of(one.deployment, one.annotations)) is not None
    ]
    channels = [package.channel or _default_channel(packages.get(package.package), channel) for _, package in found]
    compared = iter(
        compare(
            [
                _asked(package, packages, followed)
                for (_, package), followed in zip(found, channels, strict=True)
                if package.is_installed
            ],
            packages,
        )
    )
    return [
        OutdatedRow(
            name=name,
            package=package,
            channel=followed,
            head=_head(packages.get(package.package), followed),
            comparison=next(compared) if package.is_installed else None,
        )
        for (name, package), followed in zip(found, channels, strict=True)
    ]


def _asked(package: PackageOfDeployment, packages: Mapping[str, PackageIndex], channel: str) -> InstalledPackage:
    known = package.known_as(packages.get(package.package))
    return InstalledPackage(package=package.package, version=known.version, name=known.name, channel=channel or None)


async def _listed(client: Client, resource: Resource) -> list[bytes]:
    pages = client.list_by_page(resource, params={}, page=_PAGE, full=True)
    with kinds_of_operator():
        return [one.json or b"{}" async for page in pages for one in page.items]


def _is_owned(deployment: BundleDeployment) -> bool:
    owner = deployment.metadata.controller
    return owner is not None and owner.kind == BUNDLE_INSTANCE_KIND


def _annotations(deployment: BundleDeployment, edited: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    owner = deployment.metadata.controller
    return edited.get(owner.uid, {}) if owner is not None and _is_owned(deployment) else deployment.metadata.annotations


def _default_channel(index: PackageIndex | None, chosen: str | None) -> str:
    if index is None:
        return ""
    if chosen and chosen in index.graphs:
        return chosen
    return index.default_channel


def _head(index: PackageIndex | None, channel: str) -> str:
    graph = index.graphs.get(channel) if index else None
    bundle = index.bundles.get(graph.head) if index and graph and graph.head else None
    return bundle.version if bundle else ""

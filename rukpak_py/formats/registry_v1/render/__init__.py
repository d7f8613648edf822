"""A bundle to the objects that install it: refusals, checks, options, then generators in upstream's order.

A pure function of the bundle and the options: the same objects in the same order, nothing templated, and none of the
bundle's own values ever changed. With `parity` it is the reference renderer, its errors and duplicates included.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from rukpak_py.content.tree import TreeBuilder
from rukpak_py.core.limits import Limits
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.registry_v1.render.certificates import PROVIDERS
from rukpak_py.formats.registry_v1.render.config import typed_config
from rukpak_py.formats.registry_v1.render.deployments import deployments
from rukpak_py.formats.registry_v1.render.installation import RenderTarget, install_namespace, target_namespaces
from rukpak_py.formats.registry_v1.render.merge import MergedObject, merged
from rukpak_py.formats.registry_v1.render.rbac import aggregated_roles, cluster_roles, roles, service_accounts
from rukpak_py.formats.registry_v1.render.shipped import definitions, other_objects
from rukpak_py.formats.registry_v1.render.webhooks import (
    certificates,
    mutating_configurations,
    validating_configurations,
    webhook_services,
)
from rukpak_py.formats.registry_v1.rules import demand_renderable
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rendered_size import RenderedSize
from rukpak_py.formats.rules import Locator

__all__ = ["install_namespace", "render"]

Generator: TypeAlias = Callable[[RenderTarget], Iterable[Json]]

_BEFORE_SHIPPED: tuple[Generator, ...] = (service_accounts, roles, cluster_roles, definitions)
_AFTER_SHIPPED: tuple[Generator, ...] = (
    deployments,
    validating_configurations,
    mutating_configurations,
    webhook_services,
    certificates,
)
_DEFAULTS = RenderOptions()
_NO_PLACES = Locator(TreeBuilder().build())


def render(bundle: RegistryBundle, options: RenderOptions = _DEFAULTS, locator: Locator | None = None) -> list[Json]:
    """ContentError when it cannot be installed so; a locator adds lines and columns to what is wrong with it."""
    makes_certificates = options.certificates != Certificates.NONE
    demand_renderable(InstallRequest(bundle=bundle, makes_certificates=makes_certificates), locator or _NO_PLACES)
    installation = installed(bundle, options)
    entries = list(_of_allowed_size(_entries(installation), options.limits))
    manifests = [entry.manifest for entry in entries] if bundle.parity else merged(entries)
    return [*manifests, *aggregated_roles(bundle)] if options.aggregated_roles else manifests


def installed(bundle: RegistryBundle, options: RenderOptions = _DEFAULTS) -> RenderTarget:
    namespace = install_namespace(bundle, options.install_namespace)
    return RenderTarget(
        bundle=bundle,
        namespace=namespace,
        targets=target_namespaces(bundle, namespace, options.watch_namespaces),
        certificates=PROVIDERS[Certificates(options.certificates)],
        deployment_config=typed_config(options.deployment_config, parity=bundle.parity),
    )


def _entries(installation: RenderTarget) -> Iterator[MergedObject]:
    yield from map(MergedObject, _generated(installation, _BEFORE_SHIPPED))
    for document, manifest in zip(installation.bundle.others, other_objects(installation), strict=True):
        yield MergedObject(manifest, document.file)
    yield from map(MergedObject, _generated(installation, _AFTER_SHIPPED))


def _of_allowed_size(entries: Iterator[MergedObject], limits: Limits) -> Iterator[MergedObject]:
    """Objects share parts, so they take little memory until they are written; and each namespace adds some."""
    size = RenderedSize(limits)
    for entry in entries:
        size.check(entry.manifest)
        yield entry


def _generated(installation: RenderTarget, generators: tuple[Generator, ...]) -> Iterator[Json]:
    return chain.from_iterable(generator(installation) for generator in generators)

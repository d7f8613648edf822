"""Bundles and deployments as values."""

from typing import Any

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleSpec, BundleStatus
from rukpak_py.api.bundle_deployment import (
    BundleDeployment,
    BundleDeploymentSpec,
    BundleDeploymentStatus,
    BundleTemplate,
)
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    PLAIN_CLASS,
    TEMPLATE_HASH_LABEL,
)
from rukpak_py.api.source import ConfigMapReference, ConfigMapSource, Source
from rukpak_py.api.template_hash import bundle_name, template_hash
from rukpak_py.controllers.bundle import status as bundle_status
from tests.unit.controllers.fakes import NOW

UID = "uid-of-shop"
DIGEST = "sha256:" + "1" * 64
OTHER_DIGEST = "sha256:" + "2" * 64


def source(*names: str) -> Source:
    items = tuple(ConfigMapSource(config_map=ConfigMapReference(name=name)) for name in names or ("maps",))
    return Source(type="configMaps", config_maps=items)


def spec(*names: str, provisioner: str = PLAIN_CLASS) -> BundleSpec:
    return BundleSpec(provisioner_class_name=provisioner, source=source(*names))


def bundle(name: str = "b", *, status: BundleStatus | None = None, **metadata: Any) -> Bundle:
    given = {"uid": f"uid-of-{name}", "generation": 1, "resource_version": "1", **metadata}
    return Bundle(metadata=ObjectMeta(name=name, **given), spec=spec(), status=status or BundleStatus())


def unpacked(name: str = "b", *, digest: str = DIGEST, **metadata: Any) -> Bundle:
    fresh = bundle(name, **metadata)
    return replace(fresh, status=bundle_status.unpacked(fresh, digest, fresh.spec.source, NOW))


def deployment(
    name: str = "shop", *, template: BundleSpec | None = None, status: BundleDeploymentStatus | None = None, **rest: Any
) -> BundleDeployment:
    """`rest` is of the spec, unless it is of the metadata."""
    about = {key: rest.pop(key) for key in list(rest) if key in ObjectMeta.__struct_fields__}
    given = {"uid": UID, "generation": 1, "resource_version": "1", **about}
    provisioner = rest.pop("provisioner", PLAIN_CLASS)
    wanted = BundleTemplate(spec=template or spec())
    return BundleDeployment(
        metadata=ObjectMeta(name=name, **given),
        spec=BundleDeploymentSpec(provisioner_class_name=provisioner, template=wanted, **rest),
        status=status or BundleDeploymentStatus(),
    )


def owner_of(one: BundleDeployment) -> OwnerReference:
    return OwnerReference(
        api_version=API_VERSION,
        kind=BUNDLE_DEPLOYMENT_KIND,
        name=one.metadata.name,
        uid=one.metadata.uid,
        controller=True,
    )


def bundle_of(one: BundleDeployment, *, status: BundleStatus | None = None, **metadata: Any) -> Bundle:
    """The Bundle of the deployment's template."""
    wanted = template_hash(one.spec.template)
    found = bundle(
        bundle_name(one.metadata.name, wanted),
        labels={TEMPLATE_HASH_LABEL: wanted},
        owner_references=(owner_of(one),),
        **metadata,
    )
    return replace(found, spec=one.spec.template.spec, status=status or BundleStatus())


def conditions(status: BundleStatus | BundleDeploymentStatus) -> dict[str, tuple[str, str, str]]:
    return {one.type: (one.status, one.reason, one.message) for one in status.conditions}

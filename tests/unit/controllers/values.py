"""Bundles and deployments as values."""

from typing import Any

from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleSpec, BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, BundleTemplate
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    PLAIN_CLASS,
    TEMPLATE_HASH_LABEL,
)
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ConfigMapReference, ConfigMapSource
from rukpak_py.api.template_hash import bundle_name, spec_digest, template_hash
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Clock, KeyFacts
from rukpak_py.controllers.result.errors import FETCH_ERRORS
from rukpak_py.controllers.result.progress import (
    NO_PROGRESS,
    Detail,
    Fact,
    Progress,
    Reached,
    StatusChange,
    UnpackedContent,
    Words,
)
from rukpak_py.core.errors import RukPakError

STARTED = "2026-01-01T00:00:00Z"
START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
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
    return unpacked_as(bundle(name, **metadata), digest)


def unpacked_as(one: Bundle, digest: str = DIGEST) -> Bundle:
    """The same Bundle, unpacked from its own source."""
    content = UnpackedContent(digest=digest, source=one.spec.source, spec_digest=spec_digest(one.spec))
    return concluded(one, Progress(change=StatusChange(content=content), reached=Reached.FINISHED))


def failing(one: Bundle, message: str, error: RukPakError) -> Bundle:
    return telling(one, FETCH_ERRORS.cause_of(error), Words(words=message))


def telling(one: Bundle, cause: Cause, detail: Detail) -> Bundle:
    """Bundle that has reported this for a minute."""
    return concluded(one, Progress(facts=(Fact(cause=cause, detail=detail, since=-60.0),)))


def hook_record(**fields: Any) -> HookRecord:
    """Record of a hook before the installation, which has succeeded."""
    given = {
        "revision": "r",
        "run": "m",
        "event": "pre-install",
        "version": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "result": "Succeeded",
        "started_at": STARTED,
        "finished_at": STARTED,
    }
    return HookRecord(**{**given, **fields})


def concluded(one: Bundle, progress: Progress) -> Bundle:
    key = KeyFacts(generation=one.metadata.generation)
    clock = Clock(loop=0.0, wall=START)
    return replace(one, status=conclude(one.status, progress, NO_PROGRESS, key, clock).status)


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

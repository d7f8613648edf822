"""BundleDeployments with an OLM bundle, as the API server answers them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledContent
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, BundleTemplate
from rukpak_py.api.metadata import ObjectMeta, TemplateMeta
from rukpak_py.api.names import (
    CATALOG_BUNDLE_ANNOTATION,
    CATALOG_CHANNEL_ANNOTATION,
    CATALOG_PACKAGE_ANNOTATION,
    CATALOG_VERSION_ANNOTATION,
    REGISTRY_CLASS,
)
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource
from rukpak_py.api.template_hash import bundle_name, template_hash
from rukpak_py.cli.cluster.deployments import EditedDeployment
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


def annotations(version: str, package: str = "p", channel: str = "stable") -> dict[str, str]:
    return {
        CATALOG_PACKAGE_ANNOTATION: package,
        CATALOG_CHANNEL_ANNOTATION: channel,
        CATALOG_VERSION_ANNOTATION: version,
        CATALOG_BUNDLE_ANNOTATION: f"{package}.v{version}",
    }


def image(version: str, package: str = "p") -> str:
    return f"example.com/{package}:v{version}"


def deployment(
    wanted: str,
    *,
    installed: str | None = None,
    name: str = "web",
    package: str = "p",
    csv: str = "",
    annotated: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    source: Source | None = None,
    bundle_class: str = REGISTRY_CLASS,
    template_annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> BundleDeployment:
    """Asks for the version `wanted`. `csv`: the name of what is installed, where it is not that of the convention."""
    template = BundleTemplate(
        metadata=TemplateMeta(annotations=dict(template_annotations or {})),
        spec=BundleSpec(
            provisioner_class_name=bundle_class,
            source=source or Source(type="image", image=ImageSource(ref=image(wanted, package), pull_secret="login")),
        ),
    )
    status = BundleDeploymentStatus()
    if installed is not None:
        status = BundleDeploymentStatus(
            content=InstalledContent(name=csv or f"{package}.v{installed}", version=installed, package=package),
            active_bundle=bundle_name(name, template_hash(template)) if installed == wanted else "another",
        )
    return BundleDeployment(
        metadata=ObjectMeta(name=name, annotations=dict(annotated or {}), labels=dict(labels or {})),
        spec=BundleDeploymentSpec(provisioner_class_name=REGISTRY_CLASS, template=template, **spec),
        status=status,
    )


def read(found: BundleDeployment, managers: Sequence[Mapping[str, Any]] = ()) -> EditedDeployment:
    raw = json.dumps({"metadata": {"managedFields": list(managers)}}).encode()
    return EditedDeployment(deployment=found, edited=found, resource=BUNDLE_DEPLOYMENTS, raw=raw)


def owns_image(manager: str) -> dict[str, Any]:
    """The managed fields of a client that applied the image."""
    fields: dict[str, Any] = {"f:ref": {}}
    for name in ("image", "source", "spec", "template", "spec"):
        fields = {f"f:{name}": fields}
    return {"manager": manager, "fieldsV1": fields}

"""The identity of a template: byte for byte the hash that clients of the original compute themselves.

The canonical form follows the original's Go structs, including what they always write (`creationTimestamp`, `auth`).
Our own fields come after the original's and only when they are set, so that old templates keep their hashes.
"""

import hashlib

from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.api.names import BUNDLE_NAME_LENGTH
from rukpak_py.core import gojson
from rukpak_py.core.gojson import Fields


def template_hash(template: BundleTemplate, *, refresh: str = "") -> str:
    """`refresh`: the last refresh that was handled, which makes another Bundle of the same template."""
    return gojson.deep_hash(canonical_template(template) + Fields.non_empty(refreshAt=refresh))


def template_hash_of(deployment: BundleDeployment) -> str:
    return template_hash(deployment.spec.template, refresh=deployment.status.last_handled_refresh_at)


def bundle_name(deployment: str, template_digest: str) -> str:
    """The name of a template's Bundle: the hash is cut so that the whole fits."""
    return f"{deployment}-{template_digest}"[:BUNDLE_NAME_LENGTH]


def spec_digest(spec: BundleSpec) -> str:
    return "sha256:" + hashlib.sha256(gojson.encode(canonical_spec(spec))).hexdigest()


def specs_equal(one: BundleSpec, other: BundleSpec) -> bool:
    """Equal in meaning: absent and empty are the same, and so are an absent and an empty `auth`."""
    return canonical_spec(one) == canonical_spec(other)


def canonical_template(template: BundleTemplate) -> Fields:
    return Fields.of(metadata=_metadata(template.metadata), spec=canonical_spec(template.spec))


def canonical_spec(spec: BundleSpec) -> Fields:
    return Fields.of(provisionerClassName=spec.provisioner_class_name, source=spec.source.canonical())


def _metadata(metadata: TemplateMeta) -> Fields:
    return (
        Fields.non_empty(name=metadata.name, namespace=metadata.namespace)
        + Fields.of(creationTimestamp=None)
        + Fields.non_empty(
            labels=metadata.labels, annotations=metadata.annotations, finalizers=list(metadata.finalizers)
        )
    )

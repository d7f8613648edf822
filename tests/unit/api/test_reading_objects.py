"""Objects of the API server become values, whatever else they hold."""

import pytest

from rukpak_py.api.deployment_spec import Adopt, PruneWhen
from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS, canonical_class
from rukpak_py.api.reading import read_bundle, read_bundle_deployment, to_json
from rukpak_py.core.errors import ContentError

UPLOAD = {"provisionerClassName": "core.rukpak.io/plain", "source": {"type": "upload", "upload": {}}}


def test_unknown_fields_are_ignored() -> None:
    bundle = read_bundle({"metadata": {"name": "a", "managedFields": [{}]}, "spec": UPLOAD | {"new": 1}, "x": None})
    assert bundle.metadata.name == "a"
    assert bundle.spec.source.upload is not None


def test_bytes_and_mappings_read_alike() -> None:
    raw = b'{"spec":{"provisionerClassName":"core.rukpak.io/plain","source":{"type":"upload","upload":{}}}}'
    assert read_bundle(raw) == read_bundle({"spec": UPLOAD})


def test_legacy_class_names_are_aliases() -> None:
    assert read_bundle({"spec": UPLOAD}).spec.provisioner_class == PLAIN_CLASS
    assert canonical_class("core.rukpak.io/registry") == REGISTRY_CLASS
    assert canonical_class("core.rukpak.io/helm") == HELM_CLASS
    assert canonical_class("mine") == "mine"


def test_optional_fields_have_their_documented_defaults() -> None:
    deployment = read_bundle_deployment({"spec": {"provisionerClassName": "p", "template": {"spec": UPLOAD}}})
    spec = deployment.spec
    assert (spec.adopt, spec.suspend, spec.install_namespace, spec.create_namespace) == (Adopt.NEVER, False, "", False)
    assert (spec.prune.enabled, spec.prune.max_objects, spec.prune.when) == (True, None, PruneWhen.AFTER_HEALTHY)
    assert deployment.status.observed_generation == -1


def test_fields_that_equal_their_default_are_not_written() -> None:
    deployment = read_bundle_deployment({"spec": {"provisionerClassName": "p", "template": {"spec": UPLOAD}}})
    assert to_json(deployment) == {"spec": {"provisionerClassName": "p", "template": {"spec": UPLOAD}}}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"spec":{}}', b'{"spec":{"source":1}}', b"\xff" * 9, b"[" * 10**6]
)
def test_unreadable_bundle_is_a_content_error(body: bytes) -> None:
    with pytest.raises(ContentError, match="Bundle cannot be read"):
        read_bundle(body)


def test_the_content_url_is_spelt_as_in_the_original() -> None:
    bundle = read_bundle({"spec": UPLOAD, "status": {"contentURL": "https://x", "phase": "Unpacked"}})
    assert bundle.status.content_url == "https://x"
    assert bundle.status.is_unpacked

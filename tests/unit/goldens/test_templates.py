"""The template hash and names of Bundles, which clients of the original compute too, and `Bundle.status.specDigest`."""

from typing import Any

import msgspec
import pytest

from rukpak_py.api import template_hash as template_hash_module
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.template_hash import bundle_name, spec_digest, template_hash
from tests.unit.api.test_template_hash_vectors import VECTORS
from tests.unit.goldens.pinned import check, use_pinned_names

PEM = "-----BEGIN CERTIFICATE-----"
AUTH = {"secret": {"name": "s"}, "insecureSkipVerify": True}
SOURCES: dict[str, dict[str, Any]] = {
    "image": {"type": "image", "image": {"ref": "example.com/a:v1", "pullSecret": "p", "caBundle": PEM}},
    "git": {
        "type": "git",
        "git": {
            "repository": "https://example.com/a?x=1&y=<2>",
            "directory": "d",
            "ref": {"branch": "main"},
            "auth": AUTH,
            "caBundle": PEM,
        },
    },
    "http": {
        "type": "http",
        "http": {"url": "https://example.com/c.tgz", "auth": AUTH, "sha256": "0", "caBundle": PEM},
    },
    "configMaps": {"type": "configMaps", "configMaps": [{"configMap": {"name": "c"}, "path": "p"}, {"configMap": {}}]},
    "upload": {"type": "upload", "upload": {}},
}
METADATA = {
    "name": "n",
    "namespace": "ns",
    "labels": {"b": "2", "a": "1"},
    "annotations": {"ü": "x<y"},
    "finalizers": ["f"],
}


def read(source: dict[str, Any], metadata: dict[str, Any] | None = None) -> BundleTemplate:
    spec = {"provisionerClassName": "core-rukpak-io-plain", "source": source}
    return msgspec.convert({"metadata": metadata or {}, "spec": spec}, BundleTemplate)


def test_template_hashes_and_spec_digests() -> None:
    """Both contain the canonical form of a spec. The original operator computed those of the original."""
    found = {f"hash with {kind}": template_hash(read(source)) for kind, source in SOURCES.items()}
    found["hash with metadata"] = template_hash(read(SOURCES["image"], METADATA))
    found["hash with a refresh"] = template_hash(read(SOURCES["image"]), refresh="2026-01-01T00:00:00Z")
    found |= {f"specDigest with {kind}": spec_digest(read(source).spec) for kind, source in SOURCES.items()}
    for document, expected in VECTORS:
        found[f"hash of the original {expected}"] = template_hash(msgspec.convert(document, BundleTemplate))
    check("template hash and Bundle.status.specDigest", found)


def test_names_of_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    use_pinned_names(monkeypatch, template_hash_module)
    digest = "2k37wna19uuvfzh9qt6ae1teim7mxpo8rx8r5wh29lh9"
    names = ("a", "a-name-that-needs-all-of-the-forty-five-bytes1")
    check("names of Bundles", {name: bundle_name(name, digest) for name in names})

"""Clients compute the template hash themselves: it must agree byte for byte."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.template_hash import bundle_name, canonical_template, template_hash
from rukpak_py.core import gojson

Document = dict[str, Any]


def template(spec_source: Document, *, of: str = "plain", **metadata: Any) -> Document:
    spec = {"provisionerClassName": f"core-rukpak-io-{of}", "source": spec_source}
    return {"spec": spec} | ({"metadata": metadata} if metadata else {})


COMBO = {"type": "image", "image": {"ref": "quay.io/operator-framework/combo-bundle:v0.0.1"}}
GIT = {"type": "git", "git": {"repository": "https://example.com/a?x=1&y=2", "ref": {"tag": "v0.0.2"}}}
PRIVATE = {"type": "image", "image": {"ref": "registry.example/b@sha256:00", "pullSecret": "mysecret"}}
ARCHIVE = {
    "type": "http",
    "http": {"url": "https://example.com/c.tgz", "auth": {"secret": {"name": "s"}, "insecureSkipVerify": True}},
}
CONFIG_MAPS = {"type": "configMaps", "configMaps": [{"configMap": {"name": "cm1"}, "path": "manifests"}]}

VECTORS = [
    (template(COMBO), "2k37wna19uuvfzh9qt6ae1teim7mxpo8rx8r5wh29lh9"),
    (template(COMBO, labels={"app": "combo"}), "1b8amp50xa1kr4zhelzpdj1lk49eomcb7e5kcs8s97ln"),
    (template(GIT), "25pvon483x9v07olmrfvd8y7phr95k14418flzeweth2"),
    (template({"type": "upload", "upload": {}}), "2in3qgw1ftzr3p2o0gxf60vi5pjqpnkk59bay0wa159e"),
    (
        template(PRIVATE, of="registry", labels={"b": "2", "a": "1"}, annotations={"n": "x<y"}),
        "1zpqg3jbklv83auj1d81llx5hp3k7jjs167skqkyyh3",
    ),
    (template(CONFIG_MAPS), "2yoclm0x4pfxkcf4rshn0617qh08i6sgbtue1npskx4f"),
    (template(ARCHIVE, of="helm"), "3554rut0it2mjkkf6c24le8zhbmug9eye7tt8xn8v6y2"),
]


def read(document: Document) -> BundleTemplate:
    return msgspec.convert(document, BundleTemplate)


def hash_of(document: Document) -> str:
    return template_hash(read(document))


@pytest.mark.parametrize(("document", "expected"), VECTORS)
def test_hash_agrees_with_the_original(document: Document, expected: str) -> None:
    assert hash_of(document) == expected
    assert bundle_name("combo", expected) == f"combo-{expected}"


def test_bytes_agree_with_the_original() -> None:
    assert gojson.encode(canonical_template(read(template(GIT)))) == (
        rb'{"metadata":{"creationTimestamp":null},"spec":{"provisionerClassName":"core-rukpak-io-plain","source":'
        rb'{"type":"git","git":{"repository":"https://example.com/a?x=1\u0026y=2","ref":{"tag":"v0.0.2"},'
        rb'"auth":{"secret":{}}}}}}'
    )


def test_metadata_keeps_the_order_of_the_original() -> None:
    document = template(COMBO, finalizers=["f"], annotations={"a": ""}, labels={"l": ""}, namespace="ns", name="n")
    written = gojson.encode(canonical_template(read(document))).decode()
    keys = ["name", "namespace", "creationTimestamp", "labels", "annotations", "finalizers", "spec"]
    positions = [written.index(f'"{key}":') for key in keys]
    assert positions == sorted(positions)


def test_empty_and_absent_hash_alike() -> None:
    explicit: Document = {
        "type": "git",
        "git": GIT["git"] | {"auth": {"secret": {}, "insecureSkipVerify": False}, "directory": ""},  # type: ignore[operator] # GIT mixes text and mappings
    }
    assert hash_of(template(explicit, labels={}, finalizers=[])) == hash_of(template(GIT))


def test_our_own_fields_change_the_hash_and_come_last() -> None:
    private_ca = PRIVATE["image"] | {"caBundle": "PEM"}  # type: ignore[operator] # as above
    document = template({"type": "image", "image": private_ca})
    written = gojson.encode(canonical_template(read(document)))
    assert b'"pullSecret":"mysecret","caBundle":"PEM"}' in written
    checked = ARCHIVE["http"] | {"sha256": "00"}  # type: ignore[operator] # as above
    document = template({"type": "http", "http": checked})
    assert b'"insecureSkipVerify":true},"sha256":"00"}' in gojson.encode(canonical_template(read(document)))


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,43}[a-z0-9])?", fullmatch=True))
def test_names_of_bundles_fit(deployment: str) -> None:
    name = bundle_name(deployment, VECTORS[0][1])
    assert len(name) <= 52
    assert name.startswith(f"{deployment}-{VECTORS[0][1][:6]}")

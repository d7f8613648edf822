"""Manifests and indexes that mean two things or none, or are too large: all refused."""

from typing import Any

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits
from tests.unit.sources.image.image_pulls import FILES, reference, refused
from tests.unit.sources.image.image_registry import (
    OCI_INDEX,
    OCI_MANIFEST,
    Contents,
    asked_for,
)
from tests.unit.web_servers import Server

pytestmark = pytest.mark.usefixtures("hasty")

DOUBLE = {"manifests": [], "layers": [], "config": {"digest": f"sha256:{0:064}", "size": 1}}


@pytest.mark.parametrize(
    ("document", "kind", "text"),
    [
        ({"schemaVersion": 2, **DOUBLE}, OCI_MANIFEST, "is ambiguous"),
        ({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}, OCI_MANIFEST, "but came as"),
        ({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "manifests": []}, OCI_MANIFEST, "but it is not"),
        ({"schemaVersion": 2, "manifests": []}, OCI_MANIFEST, "but it is not"),
        ({"schemaVersion": 2, "layers": [], "config": DOUBLE["config"]}, OCI_INDEX, "but it is not"),
        ({"schemaVersion": 1, "fsLayers": []}, "application/json", "schema 1, which is not supported"),
        ({}, "application/vnd.docker.distribution.manifest.v1+prettyjws", "schema 1, which is not supported"),
        ({"schemaVersion": 2}, OCI_MANIFEST, "is not an image"),
        (b"<html>", "application/json", "cannot be decoded"),
        (b"[" * 100_000, OCI_MANIFEST, "cannot be decoded"),
        ({"schemaVersion": 2, "manifests": [{"digest": "../../x", "size": 1}]}, OCI_INDEX, "is not a digest"),
        ({"schemaVersion": 2, "manifests": []}, OCI_INDEX, "but for none"),
    ],
)
def test_c14_documents_that_mean_two_things_or_none(
    server: Server, contents: Contents, document: Any, kind: str, text: str
) -> None:
    contents.document(document, kind, tag="v1")
    assert text in refused(reference(server), ContentError)


def test_a_page_of_a_portal_may_go_away(server: Server, contents: Contents) -> None:
    contents.document(b"<html>", "text/html; charset=utf-8", tag="v1")
    assert "answers with a page" in refused(reference(server), UnavailableError)


def test_an_index_of_ten_thousand_is_refused(server: Server, contents: Contents) -> None:
    one = {"digest": f"sha256:{0:064}", "size": 1}
    contents.document({"schemaVersion": 2, "manifests": [one] * 10_000}, OCI_INDEX, tag="v1")
    assert "RUKPAK_LIMIT_IMAGE_ENTRIES" in refused(reference(server), ContentError)


def test_a_manifest_larger_than_four_mebibytes_is_refused(server: Server, contents: Contents) -> None:
    contents.document(b" " * (4 * 1024 * 1024 + 1), OCI_MANIFEST, tag="v1")
    assert "RUKPAK_LIMIT_IMAGE_MANIFEST_BYTES" in refused(reference(server), ContentError)


def test_an_index_that_leads_nowhere(server: Server, contents: Contents) -> None:
    index = contents.index(contents.image(FILES))
    for _ in range(5):
        index = contents.index(index)
    contents.documents["v1"] = contents.documents[index["digest"]]
    assert "never to an image" in refused(reference(server), ContentError)


def test_layers_are_refused_before_they_are_asked_for(server: Server, contents: Contents) -> None:
    contents.image(FILES, FILES, tag="v1")
    assert "RUKPAK_LIMIT_IMAGE_BYTES" in refused(reference(server), ContentError, limits=Limits(image_bytes=200))
    assert asked_for(server) == ["manifests/v1"]

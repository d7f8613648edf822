# ruff: noqa: S101 - pytest asserts
"""The components of the operator's image, as `make sbom` tells them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rukpak_py import __version__
from tools import image, sbom
from tools.image_archive import ImageArchive, opened
from tools.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def content() -> Iterator[ImageArchive]:
    with opened(image.build(Steps())) as content:
        yield content


@pytest.fixture(scope="module")
def document(content: ImageArchive) -> dict[str, Any]:
    return sbom.document(content, image.name())


def test_the_document_is_of_the_schema(document: dict[str, Any]) -> None:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document))
    assert error is None, error


def test_the_schema_refuses_a_document_that_is_none(document: dict[str, Any]) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps({**document, "components": [{}]}))


def test_components_come_from_all_sources(content: ImageArchive, document: dict[str, Any]) -> None:
    found = {one["purl"].partition("@")[0]: one["version"] for one in document["components"]}
    assert found["pkg:pypi/rukpak-py"] == __version__
    assert document["metadata"]["component"]["hashes"][0]["content"] == content.digest
    expected = {
        "pkg:generic/python",
        "pkg:pypi/kopf",
        "pkg:pypi/kubernetes",
        "pkg:deb/debian/git",
        "pkg:deb/debian/libc6",
    }
    assert found.keys() >= expected | {"pkg:golang/stdlib", "pkg:golang/k8s.io/client-go"}
    assert any(one.startswith("pkg:golang/helm.sh/helm") for one in found)


def test_two_runs_agree(content: ImageArchive, document: dict[str, Any]) -> None:
    assert sbom.document(content, image.name()) == document


def test_a_program_of_no_component_is_an_error(content: ImageArchive) -> None:
    without = {path: one for path, one in content.members.items() if path != "var/lib/dpkg/status.d/git.md5sums"}
    with pytest.raises(SystemExit, match="no component has usr/bin/git"):
        sbom.document(replace(content, members=without), image.name())

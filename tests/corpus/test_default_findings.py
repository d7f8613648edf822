"""Findings of `validate` by default for each bundle of the corpus: an error, if and only if it cannot be installed.

Whether a bundle renders is tried here. An API server refuses some objects of those that do; this was tried with a dry
run of `bench/corpus_dry_run.py`, and the rules that tell of it are listed.
"""

from pathlib import Path

import pytest

from rukpak_py.core.errors import RukPakError
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.object_rules import rules as object_rules
from rukpak_py.formats.registry_v1.bundle import InstallMode, RegistryBundle
from rukpak_py.formats.validation import validate
from rukpak_py.library import open_bundle
from tests.corpus.place import BUNDLES, needs_corpus

pytestmark = needs_corpus

# Errors of bundles that render, and why.
ERRORS_OF_RENDERED = {
    "RV1-206": "which of two entries for an install mode counts depends on the reader",
    "RV1-301": "the API server does not have that version of CRDs",
    "RV1-305": "the API server refuses the CRD",
    "RV1-310": "the API server refuses the CRD",
    "RV1-311": "the API server refuses the CRD",
    "RV1-502": "the API server refuses the object, which has an invalid label or annotation, or no name",
    "RV1-910": "the API server does not have that version of CRDs",
    "RV1-918": "the API server refuses the Service, which has a port twice",
    "RV1-932": "the API server refuses the Deployment",
    "RV1-933": "the API server refuses the Deployment",
    "RV1-935": "the API server refuses the role",
    "RV1-938": "the API server refuses the webhook configuration",
    "RV1-943": "the operator cannot tell of which kind the object is",
    "OBJ-013": "the kubelet cannot parse the image, and starts no container",
    "OBJ-020": "the API server refuses the object, which does not fit the CRD of the same bundle",
    **dict.fromkeys((rule.id for rule in object_rules.FAMILY.rules), "the API server refuses the object"),
}


@pytest.mark.parametrize("path", sorted(BUNDLES.glob("*")), ids=lambda path: path.name)
def test_bundle_has_an_error_exactly_when_it_cannot_be_installed(path: Path) -> None:
    opened = open_bundle(path, format="registry+v1")
    errors = {finding.rule for finding in validate(opened.tree, format_name="registry+v1") if finding.is_error}
    try:
        opened.render(RenderOptions(install_namespace="installed", watch_namespaces=watched(opened.bundle)))
    except RukPakError:
        assert errors
    else:
        assert errors <= ERRORS_OF_RENDERED.keys()


def watched(bundle: RegistryBundle) -> tuple[str, ...] | None:
    """The namespace for an operator that watches neither all namespaces nor its own."""
    modes = set(bundle.csv.supported_modes)
    if not modes or modes & {InstallMode.ALL, InstallMode.OWN}:
        return None
    return ("other",) if InstallMode.SINGLE in modes else ("one", "two")

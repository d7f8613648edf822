"""Readings of test bundles, without the reader: the files as they were parsed, no bundle and no defects."""

from collections.abc import Sequence

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding
from rukpak_py.formats.registry_v1.reading import ManifestFile, Reading
from rukpak_py.formats.rules import Family, Locator, judge


def reading_of(tree: Tree) -> Reading:
    paths = [path for path in tree if path.startswith("manifests/")]
    files = [ManifestFile(path=path, documents=_documents(tree[path])) for path in paths]
    return Reading(tree=tree, parity=False, files=files, bundle=None, defects=())


def findings_of(tree: Tree, *families: Family[Reading]) -> list[Finding]:
    return list(judge(families, reading_of(tree), Locator(tree)))


def told(tree: Tree, *families: Family[Reading]) -> list[tuple[str, str]]:
    """Rule and message of each finding."""
    return [(finding.rule, finding.message) for finding in findings_of(tree, *families)]


def _documents(data: bytes) -> Sequence[object] | None:
    try:
        return yaml.load_all(data)
    except ContentError:
        return None

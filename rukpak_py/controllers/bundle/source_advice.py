"""Advice that only those can give who know the source: a format sees the files, and not where they come from."""

from dataclasses import replace

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.class_advice import manifests_at_root
from rukpak_py.formats.manifests import MANIFESTS, advice_on_lone_manifest


def for_source(error: ContentError, source: Source, tree: Tree) -> ContentError:
    """The error, where files of ConfigMaps are to go into a directory with the field that puts them there."""
    files = manifests_at_root(tree)
    if source.type != SourceType.CONFIG_MAPS or not files or not isinstance(error, InvalidBundleError):
        return error
    general = advice_on_lone_manifest(files[0])
    number = next((number for number, one in enumerate(source.config_maps) if not one.path), 0)
    advice = f"set path: {MANIFESTS} in source.configMaps[{number}]"
    findings = [replace(one, hint=advice) if one.hint == general else one for one in error.findings]
    return InvalidBundleError(findings, text=str(error))

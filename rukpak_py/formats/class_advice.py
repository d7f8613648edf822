"""Which provisioner class content is for, when it is not what its class demands.

Files are judged by what they look like, as for advice: nothing is parsed.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content.tree import Tree
from rukpak_py.formats.helm.layout import CHART, has_chart

SUFFIXES: Final = ("yaml", "yml", "json")
_KIND: Final = re.compile(rb"""^(?:\{\s*)?["']?kind["']?\s*:""", re.MULTILINE)
_MANIFESTS: Final = "manifests/"
_CSV: Final = b"ClusterServiceVersion"


def manifests_at_root(files: Mapping[str, bytes]) -> list[str]:
    return [path for path, data in files.items() if "/" not in path and path.endswith(SUFFIXES) and _KIND.search(data)]


def advice_on_chart(tree: Tree) -> str | None:
    if not has_chart(tree):
        return None
    return f"{CHART} makes the content a Helm chart: set both provisioner classes to {HELM_CLASS}"


def advice_on_plain(files: Mapping[str, bytes]) -> str | None:
    """None where there are no manifests, or those of an OLM bundle."""
    found = _manifests_of(files)
    if not found or _has_csv(files, found):
        return None
    return f"for plain manifests set both provisioner classes to {PLAIN_CLASS}"


def advice_on_olm(files: Mapping[str, bytes]) -> str | None:
    if not _has_csv(files, _manifests_of(files)):
        return None
    return f"for an OLM bundle set both provisioner classes to {REGISTRY_CLASS}"


def _manifests_of(files: Mapping[str, bytes]) -> list[str]:
    return [path for path in files if path.startswith(_MANIFESTS)] or manifests_at_root(files)


def _has_csv(files: Mapping[str, bytes], paths: Iterable[str]) -> bool:
    return any(_CSV in files[path] for path in paths)

"""plain+v0: the files directly in `manifests` are Kubernetes manifests, and are applied as they are.

Every file counts, whatever its name. Only the first defect is reported, in upstream's words. Rendering demands more
than checking, as upstream does: what cannot be applied (no apiVersion, no name) fails there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.manifests import read_manifests

_MANIFESTS = "manifests"


class PlainFormat:
    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        try:
            count = sum(1 for _ in _manifests(tree, limits))
        except ContentError as error:
            raise ContentError(f"get objects from bundle manifests: {error}") from error
        if not count:
            raise ContentError(
                "invalid bundle: found zero objects: plain+v0 bundles are required to contain at least one object"
            )

    def render(self, tree: Tree, options: RenderOptions) -> list[Object]:
        try:
            return _distinct(tree, options)
        except ContentError as error:
            raise ContentError(f"read bundle objects from bundle: {error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class _Origin:
    file: str
    object: Object


def _distinct(tree: Tree, options: RenderOptions) -> list[Object]:
    """Identical objects are one; different ones of the same identity are a defect of the bundle."""
    seen: dict[ObjectKey, _Origin] = {}
    for file, manifest in _manifests(tree, options.limits):
        origin = _Origin(file=file, object=_applicable(file, manifest))
        first = seen.setdefault(_identity(origin.object, options), origin)
        if first.object.json != origin.object.json:
            key = origin.object.head.key
            raise ContentError(f"{key} is defined differently in {first.file} and in {file}")
    return [origin.object for origin in seen.values()]


def _manifests(tree: Tree, limits: Limits) -> Iterator[tuple[str, dict[str, Any]]]:
    if _MANIFESTS in tree:
        raise ContentError(f"readdir {_MANIFESTS}: not a directory")
    if _MANIFESTS not in tree.directories:
        raise ContentError(f"readdir {_MANIFESTS}: file does not exist")
    for name in tree.names_in(_MANIFESTS):
        file = f"{_MANIFESTS}/{name}"
        if file in tree.directories:
            raise ContentError(
                f'subdirectories are not allowed within the "{_MANIFESTS}" directory of the bundle image filesystem: '
                f'found "{file}"'
            )
        for manifest in read_manifests(file, tree[file], limits):
            yield file, manifest


def _applicable(file: str, manifest: dict[str, Any]) -> Object:
    try:
        rendered = Object.from_manifest(manifest)
    except ContentError as error:
        raise ContentError(f"{file}: {manifest['kind']}: {error}") from error
    head = rendered.head
    if not head.gvk.version:
        raise ContentError(f"{file}: {head.gvk.kind} {head.name} has no apiVersion")
    if not head.name:
        raise ContentError(f"{file}: an object of kind {head.gvk.kind} has no metadata.name; generateName will not do")
    return rendered


def _identity(rendered: Object, options: RenderOptions) -> ObjectKey:
    """What it will be in the cluster: without a namespace of its own an object goes to the install namespace."""
    key = rendered.head.key
    return key if key.namespace else key._replace(namespace=options.install_namespace)

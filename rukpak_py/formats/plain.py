"""plain+v0: the files directly in `manifests` are Kubernetes manifests, and are applied as they are.

Every file counts, whatever its name. Only the first defect is reported, in upstream's words. Rendering demands more
than checking, as upstream does: what cannot be applied (no apiVersion, no name) fails there.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_aliases import may_have_aliases
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, InvalidBundleError, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import NotJsonError, Object, ObjectKey
from rukpak_py.formats.format import SMALL, RenderOptions
from rukpak_py.formats.plain_reading import Flaw, Manifest, read
from rukpak_py.formats.plain_rules import NO_OBJECTS, RULES, no_name, no_version
from rukpak_py.formats.rendered_size import RenderedSize


class PlainFormat:
    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        prefix = "get objects from bundle manifests: "
        size = RenderedSize(limits)
        is_empty = True
        for manifest in _manifests(tree, limits, prefix=prefix):
            is_empty = False
            try:
                size.check(manifest.value)
            except ContentError as error:
                raise ContentError(f"{prefix}{manifest.file}: {error}") from error
        if is_empty:
            raise ContentError(NO_OBJECTS)

    def render(self, tree: Tree, options: RenderOptions) -> list[Object]:
        """Identical objects are one; different ones of the same identity are a defect of the bundle."""
        prefix = "read bundle objects from bundle: "
        size = RenderedSize(options.limits)
        seen: dict[ObjectKey, _Origin] = {}
        for manifest in _manifests(tree, options.limits, prefix=prefix):
            origin = _Origin(file=manifest.file, object=_applicable(manifest, size, prefix))
            first = seen.setdefault(_identity(origin.object, options), origin)
            if first.object.json != origin.object.json:
                key = origin.object.head.key
                raise ContentError(f"{prefix}{key} is defined differently in {first.file} and in {manifest.file}")
        return [origin.object for origin in seen.values()]

    def stays_small(self, tree: Tree) -> bool:
        """Without aliases the objects are some six times as large as the files, at most (numbers, escapes)."""
        return tree.total_bytes <= SMALL and not any(may_have_aliases(data) for data in tree.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Origin:
    file: str
    object: Object


def _manifests(tree: Tree, limits: Limits, *, prefix: str) -> Iterator[Manifest]:
    for found in read(tree, limits):
        if isinstance(found, Flaw):
            raise _refusal(found, prefix + found.message) from found.error
        yield found


def _refusal(flaw: Flaw, text: str) -> ContentError:
    """With the advice, for those who show findings."""
    if not flaw.hint:
        return ContentError(text)
    line, column = flaw.at or (0, 0)
    finding = Finding(
        rule=RULES[flaw.kind],
        severity=Severity.ERROR,
        message=flaw.message,
        hint=flaw.hint,
        file=flaw.place.file,
        line=line,
        column=column,
    )
    return InvalidBundleError([finding], text=text)


def _applicable(manifest: Manifest, size: RenderedSize, prefix: str) -> Object:
    try:
        rendered = size.render(manifest.value)
    except NotJsonError as error:
        raise ContentError(f"{prefix}{manifest.file}: {manifest.value['kind']}: {error}") from error
    except ContentError as error:
        raise ContentError(f"{prefix}{manifest.file}: {error}") from error
    problem = no_version(rendered.head) or no_name(rendered.head)
    if problem:
        raise ContentError(f"{prefix}{manifest.file}: {problem}")
    return rendered


def _identity(rendered: Object, options: RenderOptions) -> ObjectKey:
    """What it will be in the cluster: without a namespace of its own an object goes to the install namespace."""
    key = rendered.head.key
    return key if key.namespace else key._replace(namespace=options.install_namespace or "")

"""plain+v0: the files directly in `manifests` are Kubernetes manifests, and are applied as they are.

Every file counts, whatever its name. Only the first defect is reported, in upstream's words. Rendering demands more
than checking, as upstream does: what cannot be applied (no apiVersion, no name) fails there.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, InvalidBundleError, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.plain_reading import Flaw, Manifest, read
from rukpak_py.formats.plain_rules import NO_OBJECTS, RULES, no_name, no_version


class PlainFormat:
    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        count = sum(1 for _ in _manifests(tree, limits, prefix="get objects from bundle manifests: "))
        if not count:
            raise ContentError(NO_OBJECTS)

    def render(self, tree: Tree, options: RenderOptions) -> list[Object]:
        """Identical objects are one; different ones of the same identity are a defect of the bundle."""
        prefix = "read bundle objects from bundle: "
        seen: dict[ObjectKey, _Origin] = {}
        for manifest in _manifests(tree, options.limits, prefix=prefix):
            origin = _Origin(file=manifest.file, object=_applicable(manifest, prefix))
            first = seen.setdefault(_identity(origin.object, options), origin)
            if first.object.json != origin.object.json:
                key = origin.object.head.key
                raise ContentError(f"{prefix}{key} is defined differently in {first.file} and in {manifest.file}")
        return [origin.object for origin in seen.values()]


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


def _applicable(manifest: Manifest, prefix: str) -> Object:
    try:
        rendered = Object.from_manifest(manifest.value)
    except ContentError as error:
        raise ContentError(f"{prefix}{manifest.file}: {manifest.value['kind']}: {error}") from error
    problem = no_version(rendered.head) or no_name(rendered.head)
    if problem:
        raise ContentError(f"{prefix}{manifest.file}: {problem}")
    return rendered


def _identity(rendered: Object, options: RenderOptions) -> ObjectKey:
    """What it will be in the cluster: without a namespace of its own an object goes to the install namespace."""
    key = rendered.head.key
    return key if key.namespace else key._replace(namespace=options.install_namespace or "")

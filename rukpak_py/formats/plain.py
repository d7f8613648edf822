"""plain+v0: the files directly in `manifests` are Kubernetes manifests, and are applied as they are.

Every file counts, whatever its name. Only the first defect is reported, in upstream's words, with
the advice of its rule. Rendering demands more
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
from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.documents import Document, two_places
from rukpak_py.formats.format import SMALL, RenderedContent, RenderOptions
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.plain_rules import (
    DIFFERENT,
    EMPTY,
    HINTS,
    NO_NAME,
    NO_OBJECTS,
    NO_VERSION,
    NOT_JSON,
    OVERFLOW,
    TOO_LARGE,
    Flaw,
    no_name,
    no_version,
    read,
)
from rukpak_py.formats.rendered_size import RenderedSize
from rukpak_py.formats.rules import Place, Problem
from rukpak_py.formats.type_defects import RANGES

RENDERING = "read bundle objects from bundle: "


class PlainFormat:
    def check(
        self,
        tree: Tree,
        *,
        is_directory: bool = False,  # noqa: ARG002 - for charts
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        prefix = "get objects from bundle manifests: "
        size = RenderedSize(limits)
        is_empty = True
        for manifest in _manifests(tree, limits, prefix=prefix):
            is_empty = False
            try:
                size.check(manifest.manifest)
            except ContentError as error:
                raise _refused(TOO_LARGE, prefix, manifest, str(error)) from error
        if is_empty:
            raise _refusal(EMPTY, Problem(message=NO_OBJECTS, place=Place(file=MANIFESTS)), NO_OBJECTS)

    def render(self, tree: Tree, options: RenderOptions) -> RenderedContent:
        """Identical objects are one; different ones of the same identity are a defect of the bundle."""
        size = RenderedSize(options.limits)
        seen: dict[ObjectKey, _Origin] = {}
        for manifest in _manifests(tree, options.limits, prefix=RENDERING):
            origin = _Origin(manifest=manifest, object=_applicable(manifest, size))
            key = origin.object.head.key  # without a namespace of its own it goes to the install namespace
            identity = key if key.namespace else key._replace(namespace=options.install_namespace or "")
            first = seen.setdefault(identity, origin)
            if first.object.json != origin.object.json:
                where = two_places(first.manifest, manifest)
                text = f"{key} is defined differently {where}"
                problem = Problem(message=text, place=manifest.place("metadata", "name"))
                raise _refusal(DIFFERENT, problem, RENDERING + text)
        return RenderedContent(objects=[origin.object for origin in seen.values()])

    def stays_small(self, tree: Tree) -> bool:
        """Without aliases the objects are some six times as large as the files, at most (numbers, escapes)."""
        return tree.total_bytes <= SMALL and not any(may_have_aliases(data) for data in tree.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Origin:
    manifest: Document
    object: Object


def _manifests(tree: Tree, limits: Limits, *, prefix: str) -> Iterator[Document]:
    for found in read(tree, limits):
        if isinstance(found, Flaw):
            raise _refusal(found.rule, found.problem, prefix + found.problem.message)
        yield found


def _refusal(rule: str, problem: Problem, text: str) -> ContentError:
    """Upstream's text, with the advice for those who show it; a line only where a parser has told it."""
    line, column = problem.at or (0, 0)
    finding = Finding(
        rule=rule,
        severity=Severity.ERROR,
        message=problem.message,
        hint=problem.hint or HINTS[rule],
        file=problem.place.file if problem.place is not None else "",
        line=line,
        column=column,
    )
    return InvalidBundleError([finding], text=text)


def _refused(rule: str, prefix: str, manifest: Document, problem: str, *, hint: str | None = None) -> ContentError:
    told = Problem(message=problem, place=manifest.place(), hint=hint)
    return _refusal(rule, told, f"{prefix}{manifest.file}: {problem}")


def _applicable(manifest: Document, size: RenderedSize) -> Object:
    try:
        rendered = size.render(manifest.manifest)
    except NotJsonError as error:
        raise _refused(NOT_JSON, RENDERING, manifest, f"{manifest.manifest['kind']}: {error}") from error
    except ContentError as error:
        raise _refused(TOO_LARGE, RENDERING, manifest, str(error)) from error
    for rule, problem in ((NO_VERSION, no_version(rendered.head)), (NO_NAME, no_name(rendered.head))):
        if problem:
            raise _refused(rule, RENDERING, manifest, problem)
    for overflow in checked(manifest.manifest).overflows:
        text = f"{rendered.head.key}: {overflow.message}"
        raise _refused(OVERFLOW, RENDERING, manifest, text, hint=RANGES[overflow.wanted])
    return rendered

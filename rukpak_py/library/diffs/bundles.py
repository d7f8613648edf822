"""Two bundles compared, each with its rendering: what they say of themselves, and what they install and allow."""

from collections.abc import Mapping

from rukpak_py.formats.detection import FormatName
from rukpak_py.formats.registry_v1.metadata.annotations import ANNOTATIONS_FILE, catalog_annotations
from rukpak_py.formats.registry_v1.packaging import first_document
from rukpak_py.library.diffs.bundle_summary import Facts, facts_of, summary_differences
from rukpak_py.library.diffs.comparison import RenderingComparison, compare
from rukpak_py.library.diffs.insignificant import insignificant
from rukpak_py.library.diffs.moved_namespace import NamespaceMove
from rukpak_py.library.opened import OpenedBundle, Rendering


def compared(
    old: tuple[OpenedBundle, Rendering], new: tuple[OpenedBundle, Rendering], *, counts_descriptions: bool
) -> RenderingComparison:
    """`counts_descriptions`: also those in CRDs, and annotations that pods have from the CSV."""
    (before, made), (after, made_after) = old, new
    return compare(
        made.all,
        made_after.all,
        summary=summary_differences(_facts(before), _facts(after)),
        is_insignificant=None if counts_descriptions else insignificant(_annotations(before), _annotations(after)),
        move=_move(made.install_namespace, made_after.install_namespace),
    )


def _move(old: str | None, new: str | None) -> NamespaceMove | None:
    return NamespaceMove(old=old, new=new) if old and new and old != new else None


def _annotations(opened: OpenedBundle) -> Mapping[str, str]:
    return opened.bundle.csv.annotations if opened.format is FormatName.REGISTRY else {}


def _facts(opened: OpenedBundle) -> Facts:
    if opened.format is not FormatName.REGISTRY:
        return {}
    annotations = catalog_annotations(first_document(opened.tree.get(ANNOTATIONS_FILE, b"")))
    return facts_of(opened.bundle, annotations or {})

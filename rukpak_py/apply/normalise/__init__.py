"""A manifest as an author wrote it, made into what server-side apply can hold without surprises.

The result, applied twice, changes nothing the second time; what drifts from it shows in our `managedFields`; nothing in
it belongs to the server, to another controller or to us. Warnings say what was left out or joined; a `ContentError`
says what no server would take, naming the object and the path.

Pure, idempotent, and the input is never changed. Ownership labels and annotations are dropped: stamp them afterwards.
"""

from dataclasses import dataclass
from typing import Any

from rukpak_py.apply.normalise.blanks import without_blanks
from rukpak_py.apply.normalise.kinds import normalise_kind
from rukpak_py.apply.normalise.metadata import is_path_segment, normalise_metadata
from rukpak_py.apply.normalise.notes import Notes, without
from rukpak_py.apply.order import is_builtin
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupVersionKind, ObjectKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Normalised:
    manifest: dict[str, Any]
    warnings: tuple[str, ...]


def normalise(manifest: dict[str, Any], *, namespaced: bool, default_namespace: str) -> Normalised:
    """`namespaced`: the scope of the kind. `default_namespace` is for namespaced objects that name none."""
    api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(kind, str) or not kind:
        raise ContentError("a manifest has no kind")
    if not isinstance(api_version, str) or not api_version:
        raise ContentError(f"a manifest of kind {kind} has no apiVersion")
    gvk = GroupVersionKind.parse(api_version, kind)
    metadata = Notes(subject=f"a manifest of kind {gvk.kind}").mapping(manifest.get("metadata", {}), "metadata")
    key = _key(metadata, gvk, namespaced=namespaced, default_namespace=default_namespace)
    notes = Notes(subject=str(key))
    normal = normalise_metadata(metadata, notes, name=key.name, namespace=key.namespace)
    result = without(manifest, "status")
    if normal is not metadata:
        result = {**result, "metadata": normal}
    if is_builtin(gvk.group):
        result = normalise_kind(without_blanks(result, gvk.group_kind, notes), gvk.group_kind, notes)
    return Normalised(manifest=result, warnings=tuple(notes.warnings))


def _key(metadata: dict[str, Any], gvk: GroupVersionKind, *, namespaced: bool, default_namespace: str) -> ObjectKey:
    notes = Notes(subject=f"a manifest of kind {gvk.kind}")
    if metadata.get("name") in (None, ""):
        hint = " (generateName makes a new object at every apply)" if metadata.get("generateName") else ""
        raise notes.error(f"metadata.name is missing{hint}")
    name = notes.text(metadata["name"], "metadata.name")
    if not is_path_segment(name):
        raise notes.error(f"metadata.name {name!r} cannot be the name of an object")
    if not namespaced:
        return ObjectKey(gvk.group, gvk.kind, "", name)
    given = metadata.get("namespace")
    namespace = default_namespace if given in (None, "") else notes.text(given, "metadata.namespace")
    if not is_path_segment(namespace):
        raise notes.error(f"metadata.namespace {namespace!r} of {name} cannot be the name of a namespace")
    return ObjectKey(gvk.group, gvk.kind, namespace, name)

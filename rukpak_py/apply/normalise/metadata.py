"""The metadata of a manifest: what the author may say stays, what belongs to the server or to us goes.

* Owners are ours to write: an owner reference with an unknown uid gets the object collected at once.
* Ownership labels and annotations are the ground on which objects are pruned: content cannot forge them.
* Finalizers stay (legal on custom resources); they are a set for the server, which refuses duplicates.
* Every other field is the server's, or no field at all.
"""

from collections.abc import Callable
from typing import Any

from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    DELETION_POLICY_ANNOTATION,
    GROUP,
    HOOK_RUN_ANNOTATION,
    OWNER_UID_ANNOTATION,
    RELEASED_ANNOTATION,
)
from rukpak_py.apply.normalise.notes import Notes

_KEPT = ("name", "namespace", "labels", "annotations", "finalizers")
_SERVER_OWNED = {
    "clusterName",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",  # without meaning beside a name; a manifest without a name is refused before
    "generation",
    "initializers",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
}
_OUR_ANNOTATIONS = (
    APPLIED_ANNOTATION,
    OWNER_UID_ANNOTATION,
    DELETION_POLICY_ANNOTATION,
    HOOK_RUN_ANNOTATION,
    RELEASED_ANNOTATION,
)
_REVISION_ANNOTATION = "deployment.kubernetes.io/revision"  # written back by its controller: we would fight for ever


def is_path_segment(name: str) -> bool:
    """Whether it can be a name in a URL of the API server."""
    return name not in {"", ".", ".."} and not any(character in name for character in "/%")


def normalise_metadata(metadata: dict[str, Any], notes: Notes, *, name: str, namespace: str) -> dict[str, Any]:
    present = {key: value for key, value in metadata.items() if value is not None}
    result: dict[str, Any] = {"name": name}
    if namespace:
        result["namespace"] = namespace
    if "labels" in present:
        result["labels"] = _pairs(present["labels"], "label", notes, _is_ours_label)
    if "annotations" in present:
        result["annotations"] = _pairs(present["annotations"], "annotation", notes, _is_not_for_content)
    if "finalizers" in present:
        finalizers = notes.items(present["finalizers"], "metadata.finalizers")
        texts = [notes.text(item, f"metadata.finalizers[{index}]") for index, item in enumerate(finalizers)]
        result["finalizers"] = list(dict.fromkeys(texts))
    _tell_what_is_dropped(present, notes)
    result = {key: value for key, value in result.items() if value}  # see blanks.py
    return metadata if result == metadata else result


def _pairs(value: object, word: str, notes: Notes, is_dropped: Callable[[str], bool]) -> dict[str, str]:
    path = f"metadata.{word}s"
    given = {key: "" if item is None else item for key, item in notes.mapping(value, path).items()}
    pairs = notes.text_map(given, path)
    for key in sorted(filter(is_dropped, pairs)):
        notes.warn(f"{word} {key} is dropped: content cannot set it")
    return {key: item for key, item in pairs.items() if not is_dropped(key)}


def _is_ours_label(key: str) -> bool:
    return key.startswith(f"{GROUP}/")


def _is_not_for_content(key: str) -> bool:
    return key in _OUR_ANNOTATIONS or key == _REVISION_ANNOTATION


def _tell_what_is_dropped(present: dict[str, Any], notes: Notes) -> None:
    if present.get("ownerReferences"):
        notes.warn("metadata.ownerReferences is dropped: content cannot choose the owner of an object")
    unknown = sorted(present.keys() - _SERVER_OWNED - {*_KEPT, "ownerReferences"})
    for key in unknown:
        notes.warn(f"metadata.{key} is dropped: there is no such field")

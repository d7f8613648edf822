"""A comparison as plain data: what `bundle diff -o json` prints, and the library returns."""

from typing import Any

from rukpak_py.apply.crd_safety.schema_changes import SchemaChange
from rukpak_py.apply.field_differences import Difference
from rukpak_py.apply.permissions.documents import reference_document
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.core.objects import ObjectKey
from rukpak_py.library.diffs.comparison import RenderingComparison


def document(found: RenderingComparison) -> dict[str, Any]:
    move = found.move
    return {
        "namespace": None if move is None else {"old": move.old, "new": move.new, "objects": move.objects},
        "leftOut": found.left_out,
        "summary": list(map(_field, found.summary)),
        "removed": list(map(_reference, found.removed)),
        "added": list(map(_reference, found.added)),
        "renamed": [{"old": _reference(old), "new": _reference(new)} for old, new in found.renamed],
        "changed": [
            {"object": _reference(changed.key), "fields": list(map(_field, changed.differences))}
            for changed in found.changed
        ],
        "crds": [
            {
                "object": _reference(definition.key),
                "changes": list(map(_definition_change, definition.changes)),
                "unreadable": definition.unreadable or None,
            }
            for definition in found.definitions
        ],
        "permissions": [
            {
                "holder": change.holder._asdict(),
                "gained": list(map(permission_document, sorted(change.gained))),
                "lost": list(map(permission_document, sorted(change.lost))),
                "gainedReferences": list(map(reference_document, change.gained_references)),
                "lostReferences": list(map(reference_document, change.lost_references)),
            }
            for change in found.permissions
        ],
    }


def _definition_change(change: SchemaChange) -> dict[str, Any]:
    return {
        "version": change.version or None,
        "path": change.path,
        "rule": change.rule.value,
        "verdict": change.verdict.name.capitalize(),
        "needsObjects": change.needs_objects,
        "text": change.text,
    }


def permission_document(permission: Permission) -> dict[str, Any]:
    """Fields without a meaning for this permission are null: a permission on every name has no name."""
    about = {"url": permission.url} if permission.url else {"group": permission.group, "resource": permission.resource}
    return {"namespace": permission.scope or None, "verb": permission.verb, **about, "name": permission.name or None}


def _reference(key: ObjectKey) -> dict[str, Any]:
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace or None, "name": key.name}


def _field(found: Difference) -> dict[str, Any]:
    values = {} if found.is_secret else {"old": found.old, "new": found.new}
    return {"path": found.path, "change": found.change.value, "secret": found.is_secret, **values}

"""Objects in documents for programs."""

from typing import Any

from rukpak_py.core.objects import ObjectKey


def key_document(key: ObjectKey) -> dict[str, Any]:
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace or None, "name": key.name}

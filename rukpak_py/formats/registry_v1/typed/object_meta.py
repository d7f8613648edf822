"""The first decoding of every object: its type and its `metadata` have to fit Kubernetes' own types.

Names are matched exactly, unknown ones pass, null fits everywhere.
"""

from collections.abc import Mapping
from typing import Any, Final

from rukpak_py.formats.registry_v1.typed.codecs import codec
from rukpak_py.formats.registry_v1.typed.shapes import shape
from rukpak_py.formats.registry_v1.typed.traces import Trace
from rukpak_py.formats.type_defects import TypeDefect

_TYPES: Final = {"apiVersion": "string", "kind": "string", "metadata": "ObjectMeta"}


def object_meta_defects(manifest: Mapping[str, Any]) -> list[TypeDefect]:
    """Everything of a wrong type."""
    trace = Trace(keep_unknown=False, wraps=False)
    for field, type_name in _TYPES.items():
        if (value := manifest.get(field)) is not None:
            codec(shape(type_name), in_document=True).decode(value, ((), field, ""), trace)
    return trace.defects()

"""Typed decoding: what Go makes of an unstructured value when it decodes it into a struct and encodes it again.

Members that the type does not know are lost, empty ones are left out or written as Go's tags say, quantities, versions
and times come out in their canonical form. A value of a wrong type is a defect and counts as null, and the rest is
still decoded. The result shares unchanged parts with the value: neither may be changed in place.
"""

from typing import Any

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.go_types.codecs import codec
from rukpak_py.formats.go_types.shapes import shape
from rukpak_py.formats.go_types.traces import ABSENT, Trace
from rukpak_py.formats.type_defects import TypeDefect

__all__ = ["TypeDefect", "restore"]


def restore(
    value: Any,
    type_name: str,
    *,
    keep_unknown: bool,
    defects: list[TypeDefect],
    unknown: list[Path],
    wraps: bool = True,
) -> Any:
    """The typed JSON form of `value`. `type_name` is a type of go_types.json, or an expression of such: `[]EnvVar`.

    Members that the type does not know are added to `unknown`; `keep_unknown` keeps them all the same, of a
    ClusterServiceVersion in its pods only. Without `wraps` an integer that does not fit its type is a defect.
    """
    compiled = codec(shape(type_name))
    trace = Trace(keep_unknown=keep_unknown, wraps=wraps)
    try:
        restored = ABSENT if value is None else compiled.decode(value, (), trace)
    except RecursionError as error:
        raise ContentError(f"nested too deeply for a {type_name}") from error
    defects.extend(trace.defects())
    unknown.extend(trace.unknown())
    return compiled.zero() if restored is ABSENT else restored

"""Facts that comments of Go's types state of fields: required, one of a few values, lists whose entries have a key.

go_markers.json is generated from the sources of the Go packages, see tools/go_types.
"""

from functools import cache
from importlib import resources

import msgspec

from rukpak_py.formats.go_types import shapes


class Markers(msgspec.Struct, frozen=True, kw_only=True):
    """Fields by their JSON names."""

    required: tuple[str, ...] = ()
    keys: dict[str, tuple[str, ...]] = {}  # of lists that are maps: the fields that tell entries apart
    sets: tuple[str, ...] = ()  # lists that hold each value once
    enums: dict[str, tuple[str, ...]] = {}
    defaults: dict[str, str] = {}  # as JSON


@cache
def markers(struct: str) -> Markers:
    """Those of a struct, with the ones of embedded structs."""
    found = [_table()[name] for name in shapes.lineage(struct) if name in _table()]
    return Markers(
        required=tuple(field for one in found for field in one.required),
        keys={field: keys for one in found for field, keys in one.keys.items()},
        sets=tuple(field for one in found for field in one.sets),
        enums={field: values for one in found for field, values in one.enums.items()},
        defaults={field: value for one in found for field, value in one.defaults.items()},
    )


@cache
def _table() -> dict[str, Markers]:
    text = resources.files(__package__).joinpath("go_markers.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Markers])

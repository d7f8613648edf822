"""Every limit on hostile or careless input, in one table. Readers take a `Limits` and stop while reading, never after.

A limit that is hit raises `ContentError` through `exceeded`: every such message names the limit, and the variable of
the environment that sets it for the operator and for rukpakctl.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from rukpak_py.core.errors import ContentError, RukPakError

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
_UNITS = {"GiB": GIB, "MiB": MIB, "KiB": KIB}
_OF_BYTES = "_bytes"  # how the names of sizes end


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The field names are the settings' names (`--limit-<name>`, `RUKPAK_LIMIT_<NAME>`)."""

    archive_bytes: int = 64 * MIB  # compressed archive: http, upload, chart
    content_bytes: int = 256 * MIB  # unpacked content of one Bundle
    content_files: int = 20_000
    file_bytes: int = 32 * MIB
    image_bytes: int = 4096 * MIB  # all layers of an image together, before and after unpacking
    image_manifest_bytes: int = 4 * MIB  # a manifest or an index
    image_entries: int = 1000  # of a manifest or an index
    inflation_ratio: int = 200  # unpacked : compressed ...
    inflation_floor: int = 1 * MIB  # ... once this much was unpacked
    path_bytes: int = 1024
    path_depth: int = 32
    yaml_bytes: int = 10 * MIB  # one YAML file
    yaml_depth: int = 500
    yaml_nodes: int = 2_000_000  # with aliases expanded
    object_bytes: int = 3 * MIB  # one rendered object, as JSON; what the API server takes as a request
    rendered_bytes: int = 64 * MIB  # all objects of one Bundle, as JSON
    rendered_objects: int = 20_000  # of one Bundle
    review_bytes: int = 8 * MIB  # one admission review
    message_characters: int = 32_000  # a condition's message; the CRD schema allows 32768

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Limits":
        """The defaults, but for what `RUKPAK_LIMIT_<NAME>` says; RukPakError for what is no limit."""
        given: dict[str, int] = {}
        for name in LIMIT_NAMES:
            if text := environ.get(variable_of(name)):
                try:
                    given[name] = parse_limit(text)
                except ValueError as error:
                    raise RukPakError(f"{variable_of(name)}: {error}") from error
        return cls(**given)

    def exceeded(self, name: str, what: str) -> ContentError:
        """The error for `what` being over the limit `name`."""
        limit = getattr(self, name)
        shown = readable_size(limit) if name.endswith(_OF_BYTES) else str(limit)
        return ContentError(f"{what} exceeds the limit of {shown} ({variable_of(name)} sets it)")


def variable_of(name: str) -> str:
    """Of the environment, for a limit."""
    return f"RUKPAK_LIMIT_{name.upper()}"


def parse_limit(text: str) -> int:
    """As it is given in a flag or a variable; ValueError, with a text for the user, when it is none."""
    if not re.fullmatch(r"0{0,9}[1-9][0-9]{0,17}", text):
        raise ValueError(f"{text[:100]!r} is no positive number")
    return int(text)


def readable_size(size: int) -> str:
    """Exact: in the largest unit that leaves no rest."""
    for unit, value in _UNITS.items():
        if size >= value and size % value == 0:
            return f"{size // value} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"


DEFAULT_LIMITS = Limits()
LIMIT_NAMES = tuple(field.name for field in fields(Limits))

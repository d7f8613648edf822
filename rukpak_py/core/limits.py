"""Every limit on hostile or careless input, in one table. Readers take a `Limits` and stop while reading, never after.

A limit that is hit raises `ContentError` through `exceeded`: every such message names the limit and its setting.
"""

from dataclasses import dataclass, fields

from rukpak_py.core.errors import ContentError

KIB = 1024
MIB = 1024 * KIB


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
    review_bytes: int = 8 * MIB  # one admission review
    message_characters: int = 32_000  # a condition's message; the CRD schema allows 32768

    def exceeded(self, name: str, what: str) -> ContentError:
        """The error for `what` being over the limit `name`."""
        setting = "--limit-" + name.replace("_", "-")
        return ContentError(f"{what} exceeds the limit of {getattr(self, name)} ({setting})")


DEFAULT_LIMITS = Limits()
LIMIT_NAMES = tuple(field.name for field in fields(Limits))

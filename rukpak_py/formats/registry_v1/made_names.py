"""Names that installers of OLM bundles make from those of the CSV: clusters hold objects with them."""

from typing import Final

from rukpak_py.content.yaml_scalars import without_surrogates

_LENGTH: Final = 63


def join(base: str, suffix: str) -> str:
    """Two lengths that add up to exactly 63 are not cut, and give 64 characters: upstream's off-by-one, kept."""
    room = _LENGTH - len(suffix.encode()) - 1
    encoded = base.encode(errors="surrogateescape")
    if len(encoded) > room + 1:
        base = without_surrogates(encoded[:room].decode(errors="surrogateescape"))
    return f"{base}-{suffix}"


def service_name(deployment: str) -> str:
    return join(deployment.replace(".", "-"), "service")

"""Formats by the provisioner class that selects them."""

from rukpak_py.api import names
from rukpak_py.formats.format import Format, RenderOptions
from rukpak_py.formats.plain import PlainFormat

__all__ = ["Format", "RenderOptions", "format_of_class"]

_FORMATS: dict[str, Format] = {names.PLAIN_CLASS: PlainFormat()}


def format_of_class(class_name: str) -> Format | None:
    return _FORMATS.get(names.canonical_class(class_name))

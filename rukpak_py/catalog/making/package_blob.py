"""A new package as a blob, with its description and its icon; the media type of an icon is told by its content."""

import base64
import re
from typing import Final

from rukpak_py.catalog.model import Icon, Package
from rukpak_py.content.yaml_scalars import without_surrogates
from rukpak_py.core.errors import ContentError

_SIGNATURES: Final = (
    (re.compile(rb"\x89PNG"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"BM"), "image/bmp"),
    (re.compile(rb"\x00\x00\x01\x00"), "image/vnd.microsoft.icon"),
    (re.compile(rb"(?:II\*\x00|MM\x00\*).{7}", re.DOTALL), "image/tiff"),  # a header alone is no image
)
_SVG: Final = "image/svg+xml"
_BEFORE: Final = rb"(?:\s++|<!--(?:(?!-->).)*+-->)*+"
_SVG_START: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?+"
    + _BEFORE
    + rb"(?:<\?xml[^>]*+>)?+"
    + _BEFORE
    + rb"(?:<!doctype\s++svg[^>\[]*+(?:\[[^\]]*+\])?+[^>]*+>)?+"
    + _BEFORE
    + rb"<svg[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_SVG_END: Final = re.compile(rb"</svg\s*+>" + _BEFORE, re.IGNORECASE | re.DOTALL)


def package_blob(
    name: str, *, default_channel: str = "", description: bytes = b"", icon: bytes | None = None
) -> Package:
    """A package as `init` writes it; ContentError where the icon is not an image. The name is not checked."""
    return Package(
        name=name,
        default_channel=default_channel,
        description=without_surrogates(description.decode("utf-8", "surrogateescape")),
        icon=_icon(icon) if icon is not None else None,
    )


def media_type(image: bytes) -> str:
    """The media type of an image by its content; empty for what is not known as one."""
    for signature, found in _SIGNATURES:
        if signature.match(image):
            return found
    return _SVG if _is_svg(image) else ""


def _icon(image: bytes) -> Icon:
    if not image:
        raise ContentError("the icon is an empty file")
    found = media_type(image)
    if not found:
        raise ContentError(
            "the icon is not an image: give a file in SVG, PNG, JPEG, GIF, WebP, BMP, TIFF or ICO format"
        )
    return Icon(data=base64.b64encode(image).decode(), media_type=found)


def _is_svg(image: bytes) -> bool:
    """Whether the text is one element `svg`, behind what XML allows before it."""
    if not _SVG_START.match(image):
        return False
    end = image.lower().rfind(b"</svg")
    return end >= 0 and _SVG_END.fullmatch(image, end) is not None

"""The type of an image, by its first bytes."""

import re
from typing import Final

_SIGNATURES: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"BM"), "image/bmp"),
    (re.compile(rb"\x00\x00\x01\x00"), "image/x-icon"),
)
_SVG: Final = "image/svg+xml"
_PROLOGUE: Final = (b"<?xml", b"<!--", b"<!DOCTYPE svg", b"<svg")
_MOST_PROLOGUE: Final = 8192


def media_type(data: bytes) -> str | None:
    """None for what is no image."""
    for signature, found in _SIGNATURES:
        if signature.match(data):
            return found
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:_MOST_PROLOGUE]
    return _SVG if text.startswith(_PROLOGUE) and b"<svg" in text else None

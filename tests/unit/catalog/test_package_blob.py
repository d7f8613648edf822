"""A new package: its icon's media type, and its description."""

import base64
import time

import pytest

from rukpak_py.catalog.making.package_blob import media_type, package_blob
from rukpak_py.catalog.model import Icon, Package
from rukpak_py.core.errors import ContentError

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x0a\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", ""),
        (b"BM\0\0", "image/bmp"),
        (b"\0\0\1\0\1\0", "image/vnd.microsoft.icon"),
        (b"II*\0\x08\0\0\0\x0c\0\0\1", "image/tiff"),
        (b"MM\0*\0\0\0\x08\0\x0c\0\1", "image/tiff"),
        (b"II*\0\x08\0\0\0", ""),
        (SVG, "image/svg+xml"),
        (b"\xef\xbb\xbf" + SVG + b"\n", "image/svg+xml"),
        (b'<?xml version="1.0"?>\n<!-- a > b -->\n' + SVG + b"<!-- end -->\n", "image/svg+xml"),
        (b'<!DOCTYPE svg PUBLIC "x" "y" [\n<!ENTITY a "b>">\n]>' + SVG.upper(), "image/svg+xml"),
        (b"<svg>", ""),
        (b"<html>" + SVG + b"</html>", ""),
        (b"<!DOCTYPE html>" + SVG, ""),
        (SVG + b"more", ""),
        (b"<svgs></svg>", ""),
        (b"%PDF-1.4", ""),
        (b"text", ""),
    ],
)
def test_media_type_is_told_by_content(data: bytes, found: str) -> None:
    assert media_type(data) == found


def test_hostile_text_is_told_in_time() -> None:
    start = time.monotonic()
    for data in (b"<!--" * 300_000, b"<!---->" * 200_000, b" " * 1_000_000, b"<svg " + b"</svg><!--" * 100_000):
        assert media_type(data) == ""
    assert time.monotonic() - start < 5  # a second at most on a slow machine; quadratic work takes minutes


def test_package_with_all_fields() -> None:
    found = package_blob("p", default_channel="c", description=b"# d \xff\xe2\x82\n", icon=SVG)
    icon = Icon(data=base64.b64encode(SVG).decode(), media_type="image/svg+xml")
    assert found == Package(name="p", default_channel="c", description="# d \ufffd\ufffd\ufffd\n", icon=icon)


def test_package_alone() -> None:
    assert package_blob("Any Name") == Package(name="Any Name")


@pytest.mark.parametrize("icon", [b"", b"text"])
def test_icon_that_is_no_image_is_refused(icon: bytes) -> None:
    with pytest.raises(ContentError, match="the icon is"):
        package_blob("p", icon=icon)

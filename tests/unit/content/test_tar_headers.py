"""Headers of archives: both sums that tars have written, and no work for each byte."""

import pytest

from rukpak_py.content import canonical
from rukpak_py.content.canonical import Header
from rukpak_py.core.errors import ContentError
from tests.steps import steps_of

MOST_STEPS = 100  # lines of Python for one header, of which there may be millions; a header has 512 bytes
NAME = "größe.yaml".encode()
CHECKSUM = slice(148, 156)


def header(*, is_signed: bool, off_by: int = 0) -> bytes:
    """With bytes that are negative where they are signed."""
    block = bytearray(canonical.file_header(b"name.yaml", 3))
    block[: len(NAME)] = NAME
    block[CHECKSUM] = b" " * 8
    total = sum(byte - 256 if is_signed and byte >= 0x80 else byte for byte in block) + off_by
    block[CHECKSUM] = b"%06o\0 " % total
    return bytes(block)


@pytest.mark.parametrize("is_signed", [False, True])
def test_both_kinds_of_checksums(*, is_signed: bool) -> None:
    assert canonical.parse(header(is_signed=is_signed)) == Header(name=NAME, size=3, kind=b"0", link=b"")
    for off_by in (-1, 1):
        with pytest.raises(ContentError, match="wrong checksum"):
            canonical.parse(header(is_signed=is_signed, off_by=off_by))


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_header_costs_a_few_steps(*, is_signed: bool) -> None:
    block = header(is_signed=is_signed)
    assert steps_of(lambda: canonical.parse(block)) < MOST_STEPS

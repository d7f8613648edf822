"""The `Range` header: one range, or the whole."""

import pytest

from rukpak_py.server.archives import Part, UnsatisfiableError, wanted_part

SIZE = 100


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-0", Part(0, 1)),
        ("bytes=10-19", Part(10, 10)),
        ("Bytes = 90-", Part(90, 10)),
        ("bytes=-10", Part(90, 10)),
        ("bytes=-1000", Part(0, 100)),
        ("bytes=99-1000", Part(99, 1)),
    ],
)
def test_a_valid_range_asks_for_a_part(header: str, part: Part) -> None:
    assert wanted_part(header, SIZE) == part


@pytest.mark.parametrize(
    "header",
    [None, "", "bytes=", "bytes=-", "bytes=9-1", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b", "bytes=0-9 9", "0-1"],
)
def test_an_invalid_or_missing_range_asks_for_the_whole(header: str | None) -> None:
    assert wanted_part(header, SIZE) is None


@pytest.mark.parametrize(("header", "size"), [("bytes=100-", SIZE), ("bytes=-0", SIZE), ("bytes=0-0", 0)])
def test_nothing_of_it_is_there(header: str, size: int) -> None:
    with pytest.raises(UnsatisfiableError):
        wanted_part(header, size)

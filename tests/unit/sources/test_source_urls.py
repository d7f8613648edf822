"""URLs as messages show them."""

import pytest

from rukpak_py.sources.urls import masked, masked_entirely


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.com/a@b/c.tgz", "https://example.com/a@b/c.tgz"),
        ("https://user:secret@example.com/a@b", "https://xxxxx@example.com/a@b"),
        ("HTTPS://token@example.com", "HTTPS://xxxxx@example.com"),
        ("ssh://git:secret@[::1]:22/x", "ssh://xxxxx@[::1]:22/x"),
        ("https://a@secret@example.com/", "https://xxxxx@example.com/"),
        ("//user:secret@example.com", "//xxxxx@example.com"),
        ("user:secret@example.com/x", "xxxxx@example.com/x"),
        ("https://example.com/?mail=a@b", "https://example.com/?mail=a@b"),
        ("", ""),
    ],
)
def test_credentials_are_masked(url: str, shown: str) -> None:
    assert masked(url) == shown


@pytest.mark.parametrize("url", ["https://user:se/cret@example.com/x", "https://user:se?cret\n@example.com/x"])
def test_credentials_of_what_is_no_url(url: str) -> None:
    assert masked_entirely(url) == "https://xxxxx@example.com/x"

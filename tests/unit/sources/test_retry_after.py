"""The header Retry-After."""

from datetime import UTC, datetime

import pytest

from rukpak_py.sources.urls import retry_after

NOW = datetime(2026, 11, 22, 6, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("601", 600.0),
        ("9" * 5000, 600.0),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("soon", None),
        ("Sun, 22 Nov 2026 06:01:30 GMT", 90.0),
        ("Sun, 22 Nov 2026 06:01:30", 90.0),
        ("Sun, 22 Nov 2026 05:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 600.0),
        ("Sun, 99 Nov 2026 06:01:30 GMT", None),
        ("Sun, 22 Nov 99999999999999999999 06:01:30 GMT", None),
    ],
)
def test_pause_is_read_in_seconds(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds

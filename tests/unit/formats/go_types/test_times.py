from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.formats.go_types.leaves import canonical_time


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2021-01-02T03:04:05Z", "2021-01-02T03:04:05Z"),
        ("2021-01-02T03:04:05+02:00", "2021-01-02T01:04:05Z"),
        ("2021-01-02T3:04:05,999Z", "2021-01-02T03:04:05Z"),
        ("2021-01-02T03:04:05+24:60", "2021-01-01T02:04:05Z"),
        ("0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"),
        ("9999-12-31T23:59:59-01:00", "10000-01-01T00:59:59Z"),
        ("0004-02-29T00:00:00Z", "0004-02-29T00:00:00Z"),
        ("0001-01-01T00:00:00.5Z", "0001-01-01T00:00:00Z"),
        ("0001-01-01T01:00:00.0+01:00", None),
    ],
)
def test_a_time_is_written_in_utc_to_the_second(text: str, written: str | None) -> None:
    assert canonical_time(text) == written


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "",
        "2021-01-02",
        "2021-01-02 03:04:05Z",
        "2021-1-2T03:04:05Z",
        "2021-01-02T03:04:05",
        "2021-01-02T03:04:05.1+0200",
        "2021-01-02T03:04:05.Z",
        "2021-01-02T03:04:05Z\n",
        "2021-01-02T03:04:0\u0665Z",
        "2021-13-12T00:00:00Z",
        "2021-00-12T00:00:00Z",
        "2021-02-29T00:00:00Z",
        "2021-01-31T24:00:00Z",
        "2021-01-02T00:60:00Z",
        "2021-01-02T00:00:60Z",
        "2021-01-02T00:00:00+25:00",
        "2021-01-02T00:00:00+24:61",
        "2021-02-20T00:00:00Zx",
    ],
)
def test_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        canonical_time(text)


offsets = st.integers(min_value=-1439, max_value=1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=offsets)  # noqa: DTZ001 hypothesis wants them bare


@given(moments)
def test_every_time_stays_the_same_moment(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    written = canonical_time(moment.isoformat())
    assert written is not None
    assert datetime.fromisoformat(written) == moment
    assert datetime.fromisoformat(written).tzinfo == UTC

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.formats.registry_v1.typed.go_time import canonical

LAYOUT = '"2006-01-02T15:04:05Z07:00"'


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
    assert canonical(text) == written


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("yesterday", f'as {LAYOUT}: cannot parse "yesterday" as "2006"'),
        ("", f'as {LAYOUT}: cannot parse "" as "2006"'),
        ("2021-01-02", f'as {LAYOUT}: cannot parse "" as "T"'),
        ("2021-01-02 03:04:05Z", f'as {LAYOUT}: cannot parse " 03:04:05Z" as "T"'),
        ("2021-1-2T03:04:05Z", f'as {LAYOUT}: cannot parse "1-2T03:04:05Z" as "01"'),
        ("2021-01-02T03:04:05", f'as {LAYOUT}: cannot parse "" as "Z07:00"'),
        ("2021-01-02T03:04:05.1+0200", f'as {LAYOUT}: cannot parse "+0200" as "Z07:00"'),
    ],
)
def test_a_time_that_does_not_fit_names_the_first_misfit(text: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        canonical(text)
    assert str(refused.value) == f'parsing time "{text}" {error}'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2021-13-32T99:00:00Z", "month out of range"),
        ("2021-02-29T00:00:00Z", "day out of range"),
        ("2021-01-32T24:00:00Z", "hour out of range"),
        ("2021-01-02T00:60:00Z", "minute out of range"),
        ("2021-01-02T00:00:60Z", "second out of range"),
        ("2021-01-02T00:00:00+25:xx", "time zone offset hour out of range"),
        ("2021-01-02T00:00:00+25:61", "time zone offset minute out of range"),
        ("2021-02-30T00:00:00Zx", 'extra text: "x"'),
    ],
)
def test_a_time_out_of_range_says_what_is(text: str, error: str) -> None:
    with pytest.raises(ValueError) as refused:
        canonical(text)
    assert str(refused.value) == f'parsing time "{text}": {error}'


def test_text_is_quoted_byte_by_byte() -> None:
    with pytest.raises(ValueError) as refused:
        canonical('\u00e9"\n')
    assert str(refused.value) == rf'parsing time "\xc3\xa9\"\x0a" as {LAYOUT}: cannot parse "\xc3\xa9\"\x0a" as "2006"'


offsets = st.integers(min_value=-1439, max_value=1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=offsets)  # noqa: DTZ001 hypothesis wants them bare


@given(moments)
def test_every_time_stays_the_same_moment(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    written = canonical(moment.isoformat())
    assert written is not None
    assert datetime.fromisoformat(written) == moment
    assert datetime.fromisoformat(written).tzinfo == UTC

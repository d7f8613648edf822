"""A cause has one place, one reason and one way out, for every kind; scripts may rely on it."""

import pytest

from rukpak_py.api.names import ConditionType, Reason
from rukpak_py.controllers.result.cause_table import TABLE, Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.diagnosis.ways_out import WAYS_OUT
from tools import causes

LASTING = {Kind.PAUSE, Kind.FAILURE, Kind.WAIT, Kind.HOLD}


def test_every_cause_has_a_row() -> None:
    assert set(TABLE) == set(Cause)


@pytest.mark.parametrize("cause", [cause for cause, row in TABLE.items() if row.kind in LASTING], ids=str)
def test_a_cause_that_keeps_something_from_ready_has_a_way_out_and_a_reason(cause: Cause) -> None:
    row = TABLE[cause]
    assert WAYS_OUT.get(cause)
    assert row.ready or row.reason or row.aspect is ConditionType.INSTALLED


def test_every_cause_stands_on_the_page_once() -> None:
    page = causes.page()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    listed = [line.split("`")[1] for line in rows]
    assert len(set(listed)) == len(listed)
    told = {str(cause) for cause, row in TABLE.items() if row.kind in causes.SECTIONS}
    assert told <= set(listed)


def test_every_reason_is_that_of_a_cause_or_of_a_result() -> None:
    """A reason that no row has is set where the conditions are made: of what is well, and of the operation."""
    told = {reason for row in TABLE.values() for reason in (row.reason, row.ready, row.event)}
    of_results = {Reason.HEALTHY, Reason.INSTALLATION_SUCCEEDED, Reason.NO_UPGRADE, Reason.SUCCEEDED}
    of_results |= {Reason.UNPACK_SUCCESSFUL, Reason.PENDING, Reason.INSTALLATION_STATUS_FALSE}
    of_operations = {Reason.INSTALL_FAILED, Reason.UPGRADE_FAILED}
    assert set(Reason) - told == of_results | of_operations

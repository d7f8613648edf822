"""A cause has one place, one reason and one way out, for every kind; scripts may rely on it."""

from collections import defaultdict
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionType, Reason
from rukpak_py.controllers.deployment.template_bundle import unpack_fact
from rukpak_py.controllers.instance.reconcile import copied
from rukpak_py.controllers.result.cause_table import TABLE, Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import FETCH_ERRORS
from rukpak_py.controllers.result.progress import Progress, Words
from rukpak_py.diagnosis.ways_out import WAYS_OUT
from rukpak_py.formats.by_class import CLASSES
from tests.unit.controllers.deployment.parts import attempt, concluded
from tests.unit.controllers.instance.test_instance_reconcile import instance, ours
from tests.unit.controllers.values import bundle_of, telling
from tools import causes

LASTING = {Kind.PAUSE, Kind.FAILURE, Kind.WAIT, Kind.HOLD}
Place = tuple[ConditionType | None, Reason | None, Reason | None]  # a condition with its reason, the reason of Ready

_U, _V = ConditionType.UNPACKED, ConditionType.HAS_VALID_BUNDLE
_I, _H = ConditionType.INSTALLED, ConditionType.HEALTHY
# Reasons are few, so that alerts and scripts can list them; `status.notes[].reason` tells the causes apart.
SHARED: Mapping[Place, str] = {
    (
        _V,
        Reason.BUNDLE_LOAD_FAILED,
        Reason.CONTENT_ERROR,
    ): "users correct the values, or what is rendered",
    (
        _V,
        Reason.BUNDLE_LOAD_FAILED,
        Reason.UNAVAILABLE,
    ): "it ends when something else is back",
    (_V, Reason.BUNDLE_LOAD_FAILED, Reason.RETRYING): "the operator tries by itself",
    (_I, None, None): "InstallFailed and UpgradeFailed are reasons of the original, for all that stops an installation",
    (
        _I,
        Reason.RECONCILE_FAILED,
        Reason.RECONCILE_FAILED,
    ): "the installed version stands",
    (_H, Reason.UNHEALTHY, Reason.UNHEALTHY): "the object says the same, before and after it counts as failed",
    (
        _U,
        Reason.UNPACK_FAILED,
        Reason.UNAVAILABLE,
    ): "the registry is asked again by itself",
    (_U, Reason.CONTENT_CHANGED, Reason.CONTENT_CHANGED): "the content is another one than the one that was unpacked",
    (
        _U,
        Reason.UNPACK_PENDING,
        Reason.UNPACK_PENDING,
    ): "a reason of the original, for all before",
    (None, None, Reason.DELETING): "the deployment is being deleted, whatever the deletion waits for",
    (None, None, Reason.ACCESS_DENIED): "a right is missing, and the message names it",
    (None, None, Reason.FIELDS_CONTESTED): "another client keeps changing a field, and the message names it",
    (None, None, Reason.CONFLICT): "another object or client is in the way, and the message names it",
    (None, None, Reason.UNAVAILABLE): "the API server, or a part of it, does not answer",
    (None, None, Reason.PROGRESSING): "the operator is at work, and goes on by itself",
}
# The causes that a Bundle has for not being unpacked.
LONG_SECONDS = 600.0  # longer than any cause is quiet
OF_BUNDLES = sorted(FETCH_ERRORS.causes | {Cause.FETCH_NOT_FOUND, Cause.CONTENT_CHANGED, Cause.CONTENT_LOST})


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


def test_causes_with_other_ways_out_share_a_reason_only_where_this_test_says_why() -> None:
    ways = defaultdict[Place, set[str]](set)
    for cause, row in TABLE.items():
        if row.kind in LASTING:
            ways[row.aspect, row.reason, row.ready or row.reason].add(WAYS_OUT[cause])
    assert {place for place, found in ways.items() if len(found) > 1} == set(SHARED)


@pytest.mark.parametrize("cause", OF_BUNDLES)
def test_reason_of_a_bundle_is_that_of_its_deployment_and_of_its_instance(cause: Cause) -> None:
    of = ours()
    bundle = telling(bundle_of(of), cause, Words(words="m"))
    fact = unpack_fact(bundle, CLASSES)
    status = concluded(attempt(of=of, bundle=bundle), wanted=Progress(facts=(fact,)), lasted=LONG_SECONDS).status
    told = copied(instance(), replace(of, status=replace(status, observed_generation=of.metadata.generation)))
    assert told is not None
    reasons = [find_condition(one.conditions, ConditionType.READY) for one in (bundle.status, status, told)]
    assert [one.reason for one in reasons if one is not None] == [TABLE[cause].ready or TABLE[cause].reason] * 3

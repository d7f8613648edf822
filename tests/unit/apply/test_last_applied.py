"""The memory of a process of what it applied; losing it costs calls, never correctness."""

from rukpak_py.apply.target import LastApplied
from tests.unit.apply.lives import key, live, owned


def test_applied_object_is_remembered_and_no_longer_absent() -> None:
    remembered = LastApplied(absent={key()})
    remembered.applied(live(**owned()))
    assert (remembered.uids, remembered.absent) == ({key(): "u"}, set())
    assert remembered.fields[key()] == live(**owned()).fields
    assert not remembered.is_empty


def test_trusted_object_counts_as_applied() -> None:
    remembered = LastApplied()
    assert remembered.is_empty
    remembered.trust([live(**owned("b"))])
    assert set(remembered.fields) == set(remembered.uids) == {key("b")}


def test_after_a_failure_the_server_is_asked_and_drift_is_still_known() -> None:
    remembered = LastApplied()
    remembered.applied(live(**owned()))
    remembered.absent.add(key())
    remembered.look_again(key())
    assert not remembered.uids
    assert not remembered.absent
    assert remembered.fields


def test_forgetting_what_is_not_known_is_fine() -> None:
    remembered = LastApplied()
    remembered.forget(key())
    remembered.look_again(key())
    remembered.applied(live(**owned()))
    remembered.forget(key())
    assert remembered.is_empty
    assert not remembered.uids

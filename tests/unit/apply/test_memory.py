"""What a process remembers of what it applied; losing it costs calls, never correctness."""

from rukpak_py.apply.memory import Memory
from tests.unit.apply.lives import key, live, owned


def test_what_was_applied_is_remembered_and_no_longer_absent() -> None:
    memory = Memory(absent={key()})
    memory.applied(live(**owned()))
    assert (memory.uids, memory.absent) == ({key(): "u"}, set())
    assert memory.fields[key()] == live(**owned()).fields
    assert not memory.is_empty


def test_what_is_trusted_counts_as_applied() -> None:
    memory = Memory()
    assert memory.is_empty
    assert memory.is_empty
    memory.trust([live(**owned("b"))])
    assert set(memory.fields) == set(memory.uids) == {key("b")}


def test_after_a_failure_the_server_is_asked_and_drift_is_still_known() -> None:
    memory = Memory()
    memory.applied(live(**owned()))
    memory.absent.add(key())
    memory.look_again(key())
    assert not memory.uids
    assert not memory.absent
    assert memory.fields


def test_forgetting_what_is_not_known_is_fine() -> None:
    memory = Memory()
    memory.forget(key())
    memory.look_again(key())
    memory.applied(live(**owned()))
    memory.forget(key())
    assert memory.is_empty
    assert not memory.uids

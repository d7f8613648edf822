"""Rules of the lease that need no server."""

import pytest

from rukpak_py.kube.lease import Holder, LeaseSettings
from rukpak_py.kube.pace import Backoff


@pytest.mark.parametrize(("duration", "renew", "retry"), [(10, 10, 2), (15, 10, 9), (15, 10, 0), (5, 10, 2)])
def test_settings_that_could_give_two_leaders_are_refused(duration: float, renew: float, retry: float) -> None:
    with pytest.raises(ValueError, match="renew deadline"):
        LeaseSettings(duration_seconds=duration, renew_seconds=renew, retry_seconds=retry)


def test_the_identity_names_pod_and_address() -> None:
    holder = Holder(pod="core-7d_x", address="[fd00::1]:8443")

    assert Holder.parse(holder.identity) == holder
    assert Holder.parse("somebody-else") is None
    assert Holder.parse("") is None


def test_waits_double_up_to_the_limit_and_keep_their_jitter() -> None:
    longest = Backoff(first=1, limit=8, chance=lambda: 1.0)
    shortest = Backoff(first=1, limit=8, chance=lambda: 0.0)

    assert [longest.next() for _ in range(5)] == [1, 2, 4, 8, 8]
    assert [shortest.next() for _ in range(5)] == [0.5, 1, 2, 4, 4]
    assert longest.next(at_least=3) == 11
    longest.reset()
    assert longest.next() == 1

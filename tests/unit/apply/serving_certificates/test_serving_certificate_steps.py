"""Which step comes next for the certificate of a bundle's webhooks: a table, and histories with crashes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak_py.apply.serving_certificates.steps import (
    MOST_TRUSTED,
    CertificateSettings,
    CertificateStep,
    Injection,
    Stored,
    issue,
    look_again_at,
    next_step,
    trust_of,
)
from rukpak_py.core import x509

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ("hooks.shop.svc",)
SETTINGS = CertificateSettings()
LATER = NOW + timedelta(days=250)  # two thirds of a year have passed

FIRST = issue(None, (), HOSTS, NOW, SETTINGS)
GOOD = Stored(certificate=FIRST.pair.certificate, trust=FIRST.trust)
NEXT = issue(GOOD, (), HOSTS, LATER, SETTINGS)
STAGED = replace(GOOD, next_certificate=NEXT.pair.certificate, trust=NEXT.trust)
RECORDED = replace(STAGED, trusted_since=LATER)
ELSEWHERE = issue(None, (), ("other.shop.svc",), NOW, SETTINGS)


def having(bundle: bytes) -> Injection:
    return Injection(bundle=bundle, trusted=bundle)


LACKING = Injection()
CASES: dict[str, tuple[Stored | None, Injection, datetime, CertificateStep]] = {
    "there is no Secret": (None, LACKING, NOW, CertificateStep.ISSUE),
    "the Secret was deleted": (None, having(GOOD.trust), NOW, CertificateStep.ISSUE),
    "all is well": (GOOD, having(GOOD.trust), NOW, CertificateStep.NOTHING),
    "the caller is new": (GOOD, LACKING, NOW, CertificateStep.INJECT),
    "somebody else's CA stands there": (GOOD, having(ELSEWHERE.trust), NOW, CertificateStep.PUBLISH_TRUST),
    "the certificate or its key is ruined": (
        replace(GOOD, certificate=b""), having(GOOD.trust), NOW, CertificateStep.ISSUE
    ),
    "the Service was renamed": (
        Stored(certificate=ELSEWHERE.pair.certificate, trust=ELSEWHERE.trust), LACKING, NOW, CertificateStep.ISSUE
    ),
    "the certificate expired": (GOOD, having(GOOD.trust), NOW + timedelta(days=366), CertificateStep.ISSUE),
    "nobody knows its CA": (replace(GOOD, trust=b"junk"), LACKING, NOW, CertificateStep.ISSUE),
    "only the callers know its CA": (
        replace(GOOD, trust=b"junk"), having(GOOD.trust), NOW, CertificateStep.PUBLISH_TRUST
    ),
    "the label was taken off": (replace(GOOD, is_labelled=False), having(GOOD.trust), NOW, CertificateStep.LABEL),
    "it is due": (GOOD, having(GOOD.trust), LATER, CertificateStep.STAGE),
    "it is due and a caller is new": (GOOD, LACKING, LATER, CertificateStep.INJECT),
    "the next pair is stored": (STAGED, having(GOOD.trust), LATER, CertificateStep.INJECT),
    "every caller has the next CA": (STAGED, having(STAGED.trust), LATER, CertificateStep.RECORD_TRUST),
    "that was recorded": (RECORDED, having(STAGED.trust), LATER, CertificateStep.WAIT),
    "and was long ago": (RECORDED, having(STAGED.trust), LATER + timedelta(seconds=60), CertificateStep.SWITCH),
    "a caller lost it": (RECORDED, having(GOOD.trust), LATER, CertificateStep.RESTART_PROPAGATION),
    "the clock was wrong": (RECORDED, having(STAGED.trust), LATER - timedelta(seconds=1), CertificateStep.RECORD_TRUST),
    "the next pair is for other names": (
        replace(GOOD, next_certificate=ELSEWHERE.pair.certificate), having(GOOD.trust), LATER, CertificateStep.STAGE
    ),
    "the current one is ruined meanwhile": (replace(STAGED, certificate=b""), LACKING, LATER, CertificateStep.SWITCH),
    "it expired while a caller could not be reached": (
        STAGED, having(GOOD.trust), NOW + timedelta(days=365), CertificateStep.SWITCH
    ),
    "a CA expired": (
        Stored(certificate=NEXT.pair.certificate, trust=NEXT.trust),
        having(NEXT.trust),
        NOW + timedelta(days=366),
        CertificateStep.PUBLISH_TRUST,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_there_decides(name: str) -> None:
    stored, caller, now, expected = CASES[name]
    assert next_step(stored, [caller], HOSTS, now, SETTINGS) is expected


def test_the_next_look_is_when_something_is_due() -> None:
    assert look_again_at(RECORDED, SETTINGS) == LATER + timedelta(seconds=60)
    assert look_again_at(GOOD, SETTINGS) == x509.rotation_due(GOOD.certificate)


def test_a_secret_that_is_deleted_again_and_again_does_not_make_the_trust_grow() -> None:
    caller = LACKING
    for _ in range(MOST_TRUSTED + 3):
        issued = issue(None, [caller], HOSTS, NOW, SETTINGS)
        caller = having(issued.trust)
    stored = Stored(certificate=issued.pair.certificate, trust=issued.trust)
    assert len(x509.split(issued.trust)) == MOST_TRUSTED
    assert next_step(stored, [caller], HOSTS, NOW, SETTINGS) is CertificateStep.NOTHING
    assert trust_of(stored, [caller], NOW) == issued.trust


@dataclass
class World:
    """The Secret, two callers as the API servers know them, and every certificate that a pod may still serve."""

    stored: Stored | None = None
    callers: list[Injection] = field(default_factory=lambda: [LACKING, LACKING])
    seen: list[list[tuple[datetime, bytes]]] = field(default_factory=lambda: [[], []])  # bundles, and since when
    served: list[bytes] = field(default_factory=list)
    fresh: list[bytes] = field(default_factory=list)  # what had to be served at once, before anybody could know its CA
    now: datetime = NOW

    def passes(self, steps: int) -> None:
        """A pass that is killed after so many steps."""
        for _ in range(steps):
            step = next_step(self.stored, self.callers, HOSTS, self.now, SETTINGS)
            if step in {CertificateStep.NOTHING, CertificateStep.WAIT}:
                return
            self._take(step)
            self.fresh = [one for one in self.fresh if not self._is_trusted(one)]

    def _take(self, step: CertificateStep) -> None:
        stored, now = self.stored, self.now
        if step is CertificateStep.ISSUE or stored is None:
            issued = issue(stored, self.callers, HOSTS, now, SETTINGS)
            self.fresh.append(issued.pair.certificate)
            self._serve(Stored(certificate=issued.pair.certificate, trust=issued.trust))
        elif step is CertificateStep.STAGE:
            issued = issue(stored, self.callers, HOSTS, now, SETTINGS)
            self.stored = replace(
                stored, next_certificate=issued.pair.certificate, trust=issued.trust, trusted_since=None
            )
        elif step is CertificateStep.PUBLISH_TRUST:
            self.stored = replace(stored, trust=trust_of(stored, self.callers, now))
        elif step is CertificateStep.INJECT:  # one caller is one write
            lacking = next(index for index, caller in enumerate(self.callers) if caller.bundle != stored.trust)
            self.set_caller(lacking, stored.trust)
        elif step is CertificateStep.SWITCH:
            if x509.has_expired(stored.certificate, now):
                self.fresh.append(stored.next_certificate)
            else:
                self.everybody_has_trusted(stored.next_certificate)
            self._serve(replace(stored, certificate=stored.next_certificate, next_certificate=b"", trusted_since=None))
        else:
            self.stored = replace(stored, trusted_since=now if step is CertificateStep.RECORD_TRUST else None)

    def _serve(self, stored: Stored) -> None:
        self.stored = stored
        self.served.append(stored.certificate)

    def set_caller(self, index: int, bundle: bytes) -> None:
        self.callers[index] = having(bundle)
        self.seen[index].append((self.now, bundle))

    def everybody_has_trusted(self, certificate: bytes) -> None:
        """For as long as it takes an API server to hear of it."""
        for history in self.seen:
            before = [bundle for time, bundle in history if time <= self.now - SETTINGS.propagation][-1:]
            lately = [bundle for time, bundle in history if time > self.now - SETTINGS.propagation]
            assert before
            assert all(x509.issuers(certificate, bundle) for bundle in [*before, *lately])

    def untrusted(self) -> Sequence[bytes]:
        """What a pod may serve and some caller does not take."""
        alive = [one for one in self.served if one not in self.fresh and not x509.has_expired(one, self.now)]
        return [one for one in alive if not self._is_trusted(one)]

    def _is_trusted(self, certificate: bytes) -> bool:
        return all(x509.issuers(certificate, caller.bundle) for caller in self.callers)


DAY = 86400
history = st.lists(
    st.one_of(
        st.tuples(st.just("time"), st.sampled_from([1, 30, 59, 60, 61, 10 * DAY, 60 * DAY, 110 * DAY])),
        st.tuples(st.just("pass"), st.sampled_from([1, 2, 3, 4, 20])),
        st.tuples(st.just("lose"), st.integers(0, 1)),
    ),
    min_size=5,
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(history)
def test_no_history_of_passes_and_crashes_refuses_a_request(events: list[tuple[str, int]]) -> None:
    world = World()
    world.passes(20)
    world.now = LATER  # the first rotation is due
    lost: set[int] = set()
    for what, much in events:
        if what == "time":
            world.now += timedelta(seconds=much)
        elif what == "pass":
            world.passes(much)
        else:
            world.set_caller(much, b"")
            lost.add(much)
        lost = {index for index in lost if not world.callers[index].bundle}
        if not lost:
            assert not world.untrusted()
    world.passes(20)
    assert not world.untrusted()
    assert next_step(world.stored, world.callers, HOSTS, world.now, SETTINGS) in {
        CertificateStep.NOTHING,
        CertificateStep.WAIT,
    }

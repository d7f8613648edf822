"""Which step comes next for a serving certificate: one table for both kinds of wants, and histories with crashes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak_py.certificates.steps import (
    MOST_TRUSTED,
    CertificateSettings,
    CertificateStep,
    Injection,
    Seen,
    is_servable,
    issue,
    look_again_at,
    next_step,
    trust_of,
)
from rukpak_py.certificates.wanted import WantedCertificate, secret_key
from rukpak_py.core import x509
from rukpak_py.core.objects import ObjectKey

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ("hooks.shop.svc",)
SETTINGS = CertificateSettings()
LATER = NOW + timedelta(days=250)  # two thirds of a year have passed
WANT = WantedCertificate(
    secret=secret_key("shop", "cert"), hosts=HOSTS, service=ObjectKey("", "Service", "shop", "hooks")
)
OWN = replace(WANT, keeps_signer=True)


def having(bundle: bytes) -> Injection:
    return Injection(bundle=bundle, trusted=bundle)


def seen_by(seen: Seen, *callers: Injection) -> Seen:
    return replace(seen, callers=callers)


LACKING = Injection()
FIRST = issue(WANT, Seen(), NOW, SETTINGS)
GOOD = Seen(certificate=FIRST.pair.certificate, trust=FIRST.trust)
NEXT = issue(WANT, GOOD, LATER, SETTINGS)
STAGED = replace(GOOD, next_certificate=NEXT.pair.certificate, trust=NEXT.trust)
RECORDED = replace(STAGED, trusted_since=LATER)
ELSEWHERE = issue(replace(WANT, hosts=("other.shop.svc",)), Seen(), NOW, SETTINGS)

CASES: dict[str, tuple[Seen, Injection, datetime, CertificateStep]] = {
    "there is no Secret": (Seen(), LACKING, NOW, CertificateStep.ISSUE),
    "the Secret was deleted": (Seen(), having(GOOD.trust), NOW, CertificateStep.ISSUE),
    "all is well": (GOOD, having(GOOD.trust), NOW, CertificateStep.NOTHING),
    "the caller is new": (GOOD, LACKING, NOW, CertificateStep.INJECT),
    "another CA stands there": (GOOD, having(ELSEWHERE.trust), NOW, CertificateStep.PUBLISH_TRUST),
    "the certificate or its key is ruined": (
        replace(GOOD, certificate=b""), having(GOOD.trust), NOW, CertificateStep.ISSUE
    ),
    "the Service was renamed": (
        Seen(certificate=ELSEWHERE.pair.certificate, trust=ELSEWHERE.trust), LACKING, NOW, CertificateStep.ISSUE
    ),
    "the certificate expired": (GOOD, having(GOOD.trust), NOW + timedelta(days=366), CertificateStep.ISSUE),
    "its CA is known nowhere": (replace(GOOD, trust=b"junk"), LACKING, NOW, CertificateStep.ISSUE),
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
        Seen(certificate=NEXT.pair.certificate, trust=NEXT.trust),
        having(NEXT.trust),
        NOW + timedelta(days=366),
        CertificateStep.PUBLISH_TRUST,
    ),
}  # fmt: skip

AUTHORITY = x509.issue_ca(NOW)
FORMER = x509.issue_ca(NOW - timedelta(days=1))
DUE = x509.issue_ca(NOW - timedelta(days=250))  # not expired
BOTH = x509.trust_bundle(AUTHORITY.certificate, FORMER.certificate, NOW)
SERVING = x509.issue_serving(AUTHORITY, HOSTS, NOW).certificate
SERVING_OF_FORMER = x509.issue_serving(FORMER, HOSTS, NOW).certificate
SERVING_DUE = x509.issue_serving(AUTHORITY, HOSTS, NOW - timedelta(days=70)).certificate
SERVING_OF_FORMER_EXPIRED = x509.issue_serving(FORMER, HOSTS, NOW - timedelta(days=100)).certificate
SERVING_ELSEWHERE = x509.issue_serving(AUTHORITY, ("other.namespace.svc",), NOW).certificate
SERVING_OF_STRANGER = x509.issue_serving(x509.issue_ca(NOW), HOSTS, NOW).certificate

SERVED = Seen(
    signer=AUTHORITY.certificate,
    trust=AUTHORITY.certificate,
    trusted_since=NOW - SETTINGS.propagation,
    callers=(Injection(bundle=AUTHORITY.certificate),),
    certificate=SERVING,
    in_use=SERVING,
    in_use_trust=AUTHORITY.certificate,
)
ROTATING = Seen(
    signer=AUTHORITY.certificate,
    trust=BOTH,
    trusted_since=NOW,
    callers=(Injection(bundle=BOTH),),
    certificate=SERVING_OF_FORMER,
    in_use=SERVING_OF_FORMER,
    in_use_trust=FORMER.certificate,
)
RELIED_ON = replace(ROTATING, trusted_since=NOW - SETTINGS.propagation)
NOT_INJECTED = replace(SERVED, trusted_since=None, callers=(LACKING,))
YOUNG = replace(SERVED, trusted_since=NOW)

OWN_CASES = {
    "all is well": (SERVED, CertificateStep.NOTHING),
    "there is nothing yet": (Seen(callers=(LACKING,)), CertificateStep.ISSUE_AUTHORITY),
    "the signer is lost, or its key": (replace(SERVED, signer=b""), CertificateStep.ISSUE_AUTHORITY),
    "the signer is due": (replace(SERVED, signer=DUE.certificate), CertificateStep.ISSUE_AUTHORITY),
    "the trust is lost": (replace(SERVED, trust=b""), CertificateStep.PUBLISH_TRUST),
    "the trust is junk": (replace(SERVED, trust=b"junk"), CertificateStep.PUBLISH_TRUST),
    "the trust lacks a new signer": (replace(SERVED, signer=FORMER.certificate), CertificateStep.PUBLISH_TRUST),
    "the trust lacks the signer of what is served": (
        replace(ROTATING, trust=AUTHORITY.certificate),
        CertificateStep.PUBLISH_TRUST,
    ),
    "callers do not have the trust": (NOT_INJECTED, CertificateStep.INJECT),
    "trust comes before serving": (replace(NOT_INJECTED, certificate=b""), CertificateStep.INJECT),
    "the serving pair is due": (replace(SERVED, certificate=SERVING_DUE), CertificateStep.ISSUE),
    "the serving pair is lost, or its key": (replace(SERVED, certificate=b""), CertificateStep.ISSUE),
    "... and the process is young": (replace(YOUNG, certificate=b""), CertificateStep.ISSUE),
    "... and never served": (replace(YOUNG, certificate=b"", in_use=b""), CertificateStep.ISSUE),
    "the serving pair is junk": (replace(SERVED, certificate=b"junk"), CertificateStep.ISSUE),
    "the serving pair has other names": (replace(SERVED, certificate=SERVING_ELSEWHERE), CertificateStep.ISSUE),
    "the serving pair is a stranger's": (replace(SERVED, certificate=SERVING_OF_STRANGER), CertificateStep.ISSUE),
    "a new authority is not relied on yet": (ROTATING, CertificateStep.WAIT),
    "a new authority is relied on": (RELIED_ON, CertificateStep.ISSUE),
    "the former pair expired": (
        replace(ROTATING, certificate=SERVING_OF_FORMER_EXPIRED, in_use=b""),
        CertificateStep.ISSUE,
    ),
    "... in use as well": (
        replace(ROTATING, certificate=SERVING_OF_FORMER_EXPIRED, in_use=SERVING_OF_FORMER_EXPIRED),
        CertificateStep.ISSUE,
    ),
    "lost while a new authority is not relied on": (replace(ROTATING, certificate=b""), CertificateStep.RESTORE),
    "ruined while a new authority is not relied on": (
        replace(ROTATING, certificate=b"junk"),
        CertificateStep.RESTORE,
    ),
    "lost when a new authority is relied on": (replace(RELIED_ON, certificate=b""), CertificateStep.ISSUE),
}
TABLE = {
    **{f"signer kept: {name}": (OWN, seen, NOW, expected) for name, (seen, expected) in OWN_CASES.items()},
    **{name: (WANT, seen_by(seen, caller), now, expected) for name, (seen, caller, now, expected) in CASES.items()},
}


@pytest.mark.parametrize(("want", "seen", "now", "expected"), TABLE.values(), ids=TABLE.keys())
def test_next_step_follows_from_what_is_seen(
    want: WantedCertificate, seen: Seen, now: datetime, expected: CertificateStep
) -> None:
    assert next_step(want, seen, now, SETTINGS) is expected


def test_authority_of_served_certificate_stays_trusted_when_its_bundle_is_lost() -> None:
    for trust in (b"", b"junk", AUTHORITY.certificate, BOTH):
        assert x509.split(trust_of(OWN, replace(ROTATING, trust=trust), NOW)) == x509.split(BOTH)


def test_expired_authority_is_not_kept() -> None:
    expired = x509.issue_ca(NOW - timedelta(days=400)).certificate
    seen = replace(ROTATING, trust=AUTHORITY.certificate + expired, in_use_trust=expired)
    assert x509.split(trust_of(OWN, seen, NOW)) == [AUTHORITY.certificate]


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        (SERVING, True),
        (SERVING_DUE, True),
        (SERVING_OF_FORMER, True),
        (SERVING_OF_FORMER_EXPIRED, False),
        (SERVING_ELSEWHERE, False),
        (SERVING_OF_STRANGER, False),
        (b"junk", False),
        (b"", False),
    ],
)
def test_servable_certificate_is_one_that_clients_accept(certificate: bytes, expected: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_servable(certificate, OWN, ROTATING, NOW) is expected


def test_next_look_is_when_something_is_due() -> None:
    assert look_again_at(RECORDED, SETTINGS) == LATER + timedelta(seconds=60)
    assert look_again_at(GOOD, SETTINGS) == x509.rotation_due(GOOD.certificate)


def test_secret_deleted_again_and_again_does_not_make_the_trust_grow() -> None:
    caller = LACKING
    for _ in range(MOST_TRUSTED + 3):
        issued = issue(WANT, Seen(callers=(caller,)), NOW, SETTINGS)
        caller = having(issued.trust)
    seen = Seen(certificate=issued.pair.certificate, trust=issued.trust, callers=(caller,))
    assert len(x509.split(issued.trust)) == MOST_TRUSTED
    assert next_step(WANT, seen, NOW, SETTINGS) is CertificateStep.NOTHING
    assert trust_of(WANT, seen, NOW) == issued.trust


@dataclass
class World:
    """The Secret, two callers as the API servers know them, and every certificate that a pod may still serve."""

    stored: Seen = field(default_factory=Seen)
    callers: list[Injection] = field(default_factory=lambda: [LACKING, LACKING])
    seen: list[list[tuple[datetime, bytes]]] = field(default_factory=lambda: [[], []])  # bundles, and since when
    served: list[bytes] = field(default_factory=list)
    fresh: list[bytes] = field(default_factory=list)  # what had to be served at once, before a caller could know its CA
    now: datetime = NOW

    @property
    def seen_now(self) -> Seen:
        return replace(self.stored, callers=tuple(self.callers))

    def passes(self, steps: int) -> None:
        """A pass that is killed after so many steps."""
        for _ in range(steps):
            step = next_step(WANT, self.seen_now, self.now, SETTINGS)
            if step in {CertificateStep.NOTHING, CertificateStep.WAIT}:
                return
            self._take(step)
            self.fresh = [one for one in self.fresh if not self._is_trusted(one)]

    def _take(self, step: CertificateStep) -> None:
        stored, seen, now = self.stored, self.seen_now, self.now
        if step is CertificateStep.ISSUE:
            issued = issue(WANT, seen, now, SETTINGS)
            self.fresh.append(issued.pair.certificate)
            self._serve(Seen(certificate=issued.pair.certificate, trust=issued.trust))
        elif step is CertificateStep.STAGE:
            issued = issue(WANT, seen, now, SETTINGS)
            self.stored = replace(
                stored, next_certificate=issued.pair.certificate, trust=issued.trust, trusted_since=None
            )
        elif step is CertificateStep.PUBLISH_TRUST:
            self.stored = replace(stored, trust=trust_of(WANT, seen, now))
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

    def _serve(self, stored: Seen) -> None:
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
        """Certificates that a pod may serve and some caller does not take."""
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
    assert next_step(WANT, world.seen_now, world.now, SETTINGS) in {
        CertificateStep.NOTHING,
        CertificateStep.WAIT,
    }

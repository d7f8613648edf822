"""The engine: look at one want, take the next step, look again, until nothing is left to do.

Which step is next is decided from values alone (`next_step`). Whether a write was ours, or another client was faster,
shows at the next look.

Where the key of the signer is kept (`keeps_signer`), one authority signs one serving pair after the other and is
rotated itself. Elsewhere every pair has a CA of its own, whose key was never stored, and the next pair stands beside
the one that is served until it takes its place.

No request is refused during a rotation:
* A new CA is trusted beside the old one, in the Secret and in every caller. Only when every caller has had that for a
  while (`propagation`, from `trusted_since`) a pair that it signed is served. A caller that lost the CA in between
  starts that time again.
* A CA stays trusted as long as clients may meet a certificate that it signed: pods reload in their own time, or never,
  so it stays until it expires itself. What callers trust by our hand, and what is in use, stays trusted even if the
  Secret was deleted or ruined.
* A lost serving pair comes back as it was (`in_use`) while the signer is too new to be relied on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Protocol

from rukpak_py.certificates.wanted import WantedCertificate
from rukpak_py.core import x509
from rukpak_py.core.x509 import KeyPair

CA_OUTLIVES = timedelta(days=1)  # a CA whose key is not kept expires a day after the one certificate that it signed
MOST_STEPS = 20  # in one pass; more means that another client undoes them
MOST_TRUSTED = 10  # CAs in one bundle: a Secret that is deleted again and again must not make it grow


class CertificateStep(Enum):
    ISSUE_AUTHORITY = auto()  # a signer whose key is kept
    ISSUE = auto()  # a pair to serve at once
    RESTORE = auto()  # store the pair that is in use again
    SWITCH = auto()  # serve the next pair
    LABEL = auto()  # the watch does not see the Secret without its label
    STAGE = auto()  # store the next pair, and trust its CA
    PUBLISH_TRUST = auto()
    RESTART_PROPAGATION = auto()  # a caller does not have the trust that was recorded
    INJECT = auto()
    RECORD_TRUST = auto()  # from now on every caller has it
    WAIT = auto()  # for the API servers to have heard of it
    NOTHING = auto()


@dataclass(frozen=True, kw_only=True)
class CertificateSettings:
    life: timedelta = timedelta(days=365)  # a certificate is rotated when a third of it is left
    propagation: timedelta = timedelta(seconds=60)  # from a caBundle's change until every API server goes by it


@dataclass(frozen=True, kw_only=True, slots=True)
class Injection:
    """The CAs that stand by our hand in the `caBundle` fields of one live caller."""

    bundle: bytes = b""  # in all fields where it has to stand; empty: it does not, or they differ
    trusted: bytes = b""  # all that stands in any of them and counts as trusted


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A want as a decision sees it. A certificate without its key counts as none; no key is ever in here."""

    signer: bytes = b""  # where its key is kept
    certificate: bytes = b""  # as stored
    next_certificate: bytes = b""  # where the key of the signer is not kept
    trust: bytes = b""  # the published bundle
    trusted_since: datetime | None = None  # every caller has had it; None: that is not so, or not recorded yet
    is_labelled: bool = True
    callers: tuple[Injection, ...] = ()
    in_use: bytes = b""  # as this process serves it at the moment
    in_use_trust: bytes = b""  # the CAs that signed that


@dataclass(frozen=True, kw_only=True, slots=True)
class Issued:
    pair: KeyPair
    trust: bytes


class Site(Protocol):
    """The Secrets and the callers of one want, as they are in the cluster."""

    async def look(self) -> Seen | None:
        """None: nothing can be done for now."""
        ...

    async def take(self, step: CertificateStep, seen: Seen) -> bool:
        """Whether there may be another step."""
        ...


async def take_steps(
    site: Site, want: WantedCertificate, clock: Callable[[], datetime], settings: CertificateSettings
) -> bool:
    """False: another client changes what is written as fast as it is written."""
    for _ in range(MOST_STEPS):
        seen = await site.look()
        if seen is None or not await site.take(next_step(want, seen, clock(), settings), seen):
            return True
    return False


def next_step(want: WantedCertificate, seen: Seen, now: datetime, settings: CertificateSettings) -> CertificateStep:
    if want.keeps_signer:
        if x509.needs_rotation(seen.signer, now):
            return CertificateStep.ISSUE_AUTHORITY
    elif (first := _serving_first(want, seen, now)) is not None:
        return first
    if seen.trust != trust_of(want, seen, now):
        return CertificateStep.PUBLISH_TRUST
    if any(caller.bundle != seen.trust for caller in seen.callers):
        return CertificateStep.INJECT if seen.trusted_since is None else CertificateStep.RESTART_PROPAGATION
    if want.keeps_signer:
        return _serving_of_signer(want, seen, now, settings)
    if not seen.next_certificate:
        return CertificateStep.STAGE if x509.needs_rotation(seen.certificate, now) else CertificateStep.NOTHING
    if seen.trusted_since is None or seen.trusted_since > now:  # the future was recorded by a clock that was wrong
        return CertificateStep.RECORD_TRUST
    return CertificateStep.SWITCH if _is_relied_on(seen, now, settings) else CertificateStep.WAIT


def _serving_first(want: WantedCertificate, seen: Seen, now: datetime) -> CertificateStep | None:
    """Pods that mount the Secret wait for it, so what it serves comes before the trust in it."""
    has_next = is_servable(seen.next_certificate, want, seen, now)
    if not is_servable(seen.certificate, want, seen, now):
        return CertificateStep.SWITCH if has_next else CertificateStep.ISSUE
    if not seen.is_labelled:
        return CertificateStep.LABEL
    return CertificateStep.STAGE if seen.next_certificate and not has_next else None


def _serving_of_signer(
    want: WantedCertificate, seen: Seen, now: datetime, settings: CertificateSettings
) -> CertificateStep:
    """Every caller trusts the signer; since when shows whether clients rely on it."""
    is_relied_on = _is_relied_on(seen, now, settings)
    if is_servable(seen.certificate, want, seen, now):
        if x509.is_signed_by(seen.certificate, seen.signer):
            is_due = x509.needs_rotation(seen.certificate, now)
            return CertificateStep.ISSUE if is_due else CertificateStep.NOTHING
        return CertificateStep.ISSUE if is_relied_on else CertificateStep.WAIT
    may_restore = not is_relied_on and is_servable(seen.in_use, want, seen, now)
    if may_restore and not x509.is_signed_by(seen.in_use, seen.signer):
        return CertificateStep.RESTORE
    return CertificateStep.ISSUE


def _is_relied_on(seen: Seen, now: datetime, settings: CertificateSettings) -> bool:
    return seen.trusted_since is not None and now - seen.trusted_since >= settings.propagation


def look_again_at(seen: Seen, settings: CertificateSettings) -> datetime | None:
    """Time when the next step is due if nothing changes, after `NOTHING` or `WAIT`."""
    expiries = [end for ca in x509.split(seen.trust) if (end := x509.expiry(ca)) is not None]
    if seen.next_certificate and seen.trusted_since is not None:
        return min([seen.trusted_since + settings.propagation, *expiries])
    due = x509.rotation_due(seen.certificate)
    return min([due, *expiries]) if due is not None else None


def is_servable(certificate: bytes, want: WantedCertificate, seen: Seen, now: datetime) -> bool:
    """Whether a client with this trust takes a server of these names that has this certificate."""
    return (
        bool(certificate)
        and x509.covers(certificate, want.hosts)
        and not x509.has_expired(certificate, now)
        and bool(x509.issuers(certificate, _all_trusted(seen)))
    )


def trust_of(want: WantedCertificate, seen: Seen, now: datetime) -> bytes:
    """The bundle to publish: the newest CA, those that the stored certificates need, and what was trusted before."""
    if want.keeps_signer:
        return x509.trust_bundle(seen.signer, seen.trust, now, needed=seen.in_use_trust)
    known = _all_trusted(seen)
    needed = b"".join(x509.issuers(one, known) for one in (seen.next_certificate, seen.certificate) if one)
    return _bundle(x509.split(needed)[0], needed + known, now)


def issue(want: WantedCertificate, seen: Seen, now: datetime, settings: CertificateSettings) -> Issued:
    """A pair by a CA whose key is forgotten here, and the bundle that trusts it too."""
    ca = x509.issue_ca(now, life=settings.life + CA_OUTLIVES)
    pair = x509.issue_serving(ca, want.hosts, now, life=settings.life)
    known = _all_trusted(seen)
    return Issued(pair=pair, trust=_bundle(ca.certificate, x509.issuers(seen.certificate, known) + known, now))


def _all_trusted(seen: Seen) -> bytes:
    # Read one by one: a bundle that cannot be read must not hide the others.
    bundles = [seen.trust, *(caller.trusted for caller in seen.callers)]
    return b"".join(dict.fromkeys(ca for bundle in bundles for ca in x509.split(bundle)))


def _bundle(newest: bytes, former: bytes, now: datetime) -> bytes:
    return b"".join(x509.split(x509.trust_bundle(newest, former, now))[:MOST_TRUSTED])

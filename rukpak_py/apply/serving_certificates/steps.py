"""Which step comes next to keep the certificate that a bundle's webhooks serve by: a decision about values.

One Secret holds the serving pair (`tls.*`), the trust bundle (`ca.crt`) and, during a rotation, the next pair
(`next.*`), which no pod mounts. Every pair has a CA of its own, whose key was never stored. A pass takes step after
step until nothing is left to do; each is one write, so a crash between two of them is healed by the next pass.

No request is refused during a rotation:
* The next CA is trusted beside the current one, in the Secret and in every caller. Only when every caller has had that
  for a while (`propagation`, from the recorded `trusted_since`) the next pair is served. A caller that lost it in
  between starts that time again.
* Pods reload in their own time, or never. So a CA stays trusted until it expires itself, a day after the one
  certificate that it signed. What callers trust by our hand stays trusted even if the Secret was deleted or ruined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from rukpak_py.core import x509
from rukpak_py.core.x509 import KeyPair

CA_OUTLIVES = timedelta(days=1)
MOST_TRUSTED = 10  # CAs in one bundle: who deletes the Secret again and again must not make it grow


class CertificateStep(Enum):
    ISSUE = auto()  # nothing that is stored can be served
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
class Stored:
    """What a decision sees of the Secret. A certificate without its key counts as none; no key is ever in here."""

    certificate: bytes = b""
    next_certificate: bytes = b""
    trust: bytes = b""
    trusted_since: datetime | None = None
    is_labelled: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Injection:
    """What stands by our hand in the `caBundle` fields of one live caller."""

    bundle: bytes = b""  # in all fields where it has to stand; empty: it does not, or they differ
    trusted: bytes = b""  # all that stands in any of them


@dataclass(frozen=True, kw_only=True, slots=True)
class Issued:
    pair: KeyPair
    trust: bytes


def next_step(
    stored: Stored | None,
    callers: Sequence[Injection],
    hosts: Sequence[str],
    now: datetime,
    settings: CertificateSettings,
) -> CertificateStep:
    if stored is None:
        return CertificateStep.ISSUE
    has_next = is_servable(stored.next_certificate, stored, callers, hosts, now)
    if not is_servable(stored.certificate, stored, callers, hosts, now):
        return CertificateStep.SWITCH if has_next else CertificateStep.ISSUE
    if not stored.is_labelled:
        return CertificateStep.LABEL
    if stored.next_certificate and not has_next:
        return CertificateStep.STAGE
    if stored.trust != trust_of(stored, callers, now):
        return CertificateStep.PUBLISH_TRUST
    if any(caller.bundle != stored.trust for caller in callers):
        return CertificateStep.INJECT if stored.trusted_since is None else CertificateStep.RESTART_PROPAGATION
    if has_next:
        return _rotating(stored, now, settings)
    return CertificateStep.STAGE if x509.needs_rotation(stored.certificate, now) else CertificateStep.NOTHING


def _rotating(stored: Stored, now: datetime, settings: CertificateSettings) -> CertificateStep:
    since = stored.trusted_since
    if since is None or since > now:  # what lies in the future was recorded by a clock that was wrong
        return CertificateStep.RECORD_TRUST
    return CertificateStep.SWITCH if now - since >= settings.propagation else CertificateStep.WAIT


def look_again_at(stored: Stored, settings: CertificateSettings) -> datetime | None:
    """When the next step is due if nothing changes, after `NOTHING` or `WAIT`."""
    expiries = [end for ca in x509.split(stored.trust) if (end := x509.expiry(ca)) is not None]
    if stored.next_certificate and stored.trusted_since is not None:
        return min([stored.trusted_since + settings.propagation, *expiries])
    due = x509.rotation_due(stored.certificate)
    return min([due, *expiries]) if due is not None else None


def is_servable(
    certificate: bytes, stored: Stored, callers: Sequence[Injection], hosts: Sequence[str], now: datetime
) -> bool:
    """Whether a client with this trust takes a server of these names that has this certificate."""
    return (
        bool(certificate)
        and x509.covers(certificate, hosts)
        and not x509.has_expired(certificate, now)
        and bool(x509.issuers(certificate, _all_trusted(stored, callers)))
    )


def trust_of(stored: Stored, callers: Sequence[Injection], now: datetime) -> bytes:
    """The bundle to publish: the newest CA, those that the stored certificates need, and what was trusted before."""
    known = _all_trusted(stored, callers)
    needed = b"".join(x509.issuers(one, known) for one in (stored.next_certificate, stored.certificate) if one)
    return _bundle(x509.split(needed)[0], needed + known, now)


def issue(
    stored: Stored | None,
    callers: Sequence[Injection],
    hosts: Sequence[str],
    now: datetime,
    settings: CertificateSettings,
) -> Issued:
    """A pair by a CA whose key is forgotten here, and the bundle that trusts it too."""
    ca = x509.issue_ca(now, life=settings.life + CA_OUTLIVES)
    pair = x509.issue_serving(ca, hosts, now, life=settings.life)
    stored = stored or Stored()
    known = _all_trusted(stored, callers)
    return Issued(pair=pair, trust=_bundle(ca.certificate, x509.issuers(stored.certificate, known) + known, now))


def _all_trusted(stored: Stored, callers: Sequence[Injection]) -> bytes:
    # Read one by one: a bundle that cannot be read must not hide the others.
    bundles = [stored.trust, *(caller.trusted for caller in callers)]
    return b"".join(dict.fromkeys(ca for bundle in bundles for ca in x509.split(bundle)))


def _bundle(newest: bytes, former: bytes, now: datetime) -> bytes:
    return b"".join(x509.split(x509.trust_bundle(newest, former, now))[:MOST_TRUSTED])

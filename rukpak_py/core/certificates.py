"""Which step comes next to keep an authority, the trust in it, and a serving certificate: a decision about values.

What is kept: the signer (the key that signs), the trust bundle (published for clients and injected into what calls
the server), and the serving pair (a certificate for some host names and its key). One pass takes step after step
until nothing is left to do; each step is one write, so a crash between two of them is healed by the next pass.

No request is ever refused meanwhile:
* A new authority is trusted beside the old one before anything that it signs is served; API servers and other
  clients learn of it each in their own time, so that has to have been so for a while (`is_propagated`).
* The authority of what is served stays trusted, even if the published bundle was deleted or ruined.
* A lost serving pair comes back as it was when the signer is too new to be relied on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from rukpak_py.core import x509
from rukpak_py.core.x509 import KeyPair


class RotationStep(Enum):
    ISSUE_AUTHORITY = auto()
    PUBLISH_TRUST = auto()
    INJECT_TRUST = auto()
    ISSUE_SERVING = auto()
    RESTORE_SERVING = auto()  # store what is in use again
    WAIT_FOR_PROPAGATION = auto()  # serve what is stored; it is replaced when the new authority is relied on
    NOTHING = auto()  # serve what is stored


@dataclass(frozen=True, kw_only=True)
class Observed:
    signer: KeyPair | None = None
    trust: bytes = b""  # the published bundle
    is_injected: bool = False  # every caller has the published bundle
    is_propagated: bool = False  # ... and has had it for long enough to be relied on
    serving: KeyPair | None = None  # as stored
    in_use: KeyPair | None = None  # as served at the moment
    in_use_trust: bytes = b""  # who signed that


def next_step(seen: Observed, hosts: Sequence[str], now: datetime) -> RotationStep:
    signer = seen.signer
    if signer is None or not x509.is_pair(signer) or x509.needs_rotation(signer.certificate, now):
        return RotationStep.ISSUE_AUTHORITY
    if seen.trust != trust_of(signer, seen, now):
        return RotationStep.PUBLISH_TRUST
    if not seen.is_injected:
        return RotationStep.INJECT_TRUST
    return _serving_step(signer, seen, hosts, now)


def trust_of(signer: KeyPair, seen: Observed, now: datetime) -> bytes:
    """The bundle to publish: this signer, what was published before, and who signed what is served."""
    return x509.trust_bundle(signer.certificate, seen.trust, now, needed=seen.in_use_trust)


def is_usable(serving: KeyPair | None, trust: bytes, hosts: Sequence[str], now: datetime) -> bool:
    """Whether clients with this trust accept a server that has this pair and these names."""
    return (
        serving is not None
        and x509.is_pair(serving)
        and x509.covers(serving.certificate, hosts)
        and not x509.has_expired(serving.certificate, now)
        and bool(x509.issuers(serving.certificate, trust))
    )


def _serving_step(signer: KeyPair, seen: Observed, hosts: Sequence[str], now: datetime) -> RotationStep:
    stored, in_use = seen.serving, seen.in_use
    if stored is not None and is_usable(stored, seen.trust, hosts, now):
        if x509.is_signed_by(stored.certificate, signer.certificate):
            return RotationStep.ISSUE_SERVING if x509.needs_rotation(stored.certificate, now) else RotationStep.NOTHING
        return RotationStep.ISSUE_SERVING if seen.is_propagated else RotationStep.WAIT_FOR_PROPAGATION
    if in_use is None or seen.is_propagated or not is_usable(in_use, seen.trust, hosts, now):
        return RotationStep.ISSUE_SERVING
    if x509.is_signed_by(in_use.certificate, signer.certificate):
        return RotationStep.ISSUE_SERVING  # clients rely on the signer already
    return RotationStep.RESTORE_SERVING

"""The next step by what exists: a table for our own webhook and for those of bundles alike."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rukpak_py.core import x509
from rukpak_py.core.certificates import Observed, RotationStep, is_usable, next_step, trust_of
from rukpak_py.core.x509 import KeyPair

NOW = datetime.now(UTC)
AGES_AGO = NOW - timedelta(days=250)  # an authority of this age is due, and has not expired
HOSTS = ("service.namespace.svc",)

CA = x509.issue_ca(NOW)
FORMER = x509.issue_ca(NOW - timedelta(days=1))
DUE = x509.issue_ca(AGES_AGO)
BOTH = x509.trust_bundle(CA.certificate, FORMER.certificate, NOW)
SERVING = x509.issue_serving(CA, HOSTS, NOW)
SERVING_OF_FORMER = x509.issue_serving(FORMER, HOSTS, NOW)
SERVING_DUE = x509.issue_serving(CA, HOSTS, NOW - timedelta(days=70))
SERVING_OF_FORMER_EXPIRED = x509.issue_serving(FORMER, HOSTS, NOW - timedelta(days=100))
SERVING_ELSEWHERE = x509.issue_serving(CA, ("other.namespace.svc",), NOW)
SERVING_OF_STRANGER = x509.issue_serving(x509.issue_ca(NOW), HOSTS, NOW)
JUNK = KeyPair(certificate=b"junk", key=b"junk")
OTHER_KEY = KeyPair(certificate=SERVING.certificate, key=CA.key)

GOOD = Observed(
    signer=CA,
    trust=CA.certificate,
    is_injected=True,
    is_propagated=True,
    serving=SERVING,
    in_use=SERVING,
    in_use_trust=CA.certificate,
)
ROTATING = Observed(
    signer=CA,
    trust=BOTH,
    is_injected=True,
    is_propagated=False,
    serving=SERVING_OF_FORMER,
    in_use=SERVING_OF_FORMER,
    in_use_trust=FORMER.certificate,
)

CASES = {
    "all is well": (GOOD, RotationStep.NOTHING),
    "there is nothing yet": (Observed(), RotationStep.ISSUE_AUTHORITY),
    "the signer is lost": (replace(GOOD, signer=None), RotationStep.ISSUE_AUTHORITY),
    "the signer is junk": (replace(GOOD, signer=JUNK), RotationStep.ISSUE_AUTHORITY),
    "the signer's key is another's": (replace(GOOD, signer=OTHER_KEY), RotationStep.ISSUE_AUTHORITY),
    "the signer is due": (replace(GOOD, signer=DUE), RotationStep.ISSUE_AUTHORITY),
    "the trust is lost": (replace(GOOD, trust=b""), RotationStep.PUBLISH_TRUST),
    "the trust is junk": (replace(GOOD, trust=b"junk"), RotationStep.PUBLISH_TRUST),
    "the trust lacks a new signer": (replace(GOOD, signer=FORMER), RotationStep.PUBLISH_TRUST),
    "the trust lacks who signed what is served": (replace(ROTATING, trust=CA.certificate), RotationStep.PUBLISH_TRUST),
    "callers do not have the trust": (replace(GOOD, is_injected=False), RotationStep.INJECT_TRUST),
    "trust comes before serving": (replace(GOOD, is_injected=False, serving=None), RotationStep.INJECT_TRUST),
    "the serving pair is due": (replace(GOOD, serving=SERVING_DUE), RotationStep.ISSUE_SERVING),
    "the serving pair is lost": (replace(GOOD, serving=None), RotationStep.ISSUE_SERVING),
    "... and the process is young": (replace(GOOD, serving=None, is_propagated=False), RotationStep.ISSUE_SERVING),
    "... and never served": (replace(GOOD, serving=None, in_use=None, is_propagated=False), RotationStep.ISSUE_SERVING),
    "the serving pair is junk": (replace(GOOD, serving=JUNK), RotationStep.ISSUE_SERVING),
    "the serving key is another's": (replace(GOOD, serving=OTHER_KEY), RotationStep.ISSUE_SERVING),
    "the serving pair has other names": (replace(GOOD, serving=SERVING_ELSEWHERE), RotationStep.ISSUE_SERVING),
    "the serving pair is a stranger's": (replace(GOOD, serving=SERVING_OF_STRANGER), RotationStep.ISSUE_SERVING),
    "a new authority is not relied on yet": (ROTATING, RotationStep.WAIT_FOR_PROPAGATION),
    "a new authority is relied on": (replace(ROTATING, is_propagated=True), RotationStep.ISSUE_SERVING),
    "the former pair expired": (
        replace(ROTATING, serving=SERVING_OF_FORMER_EXPIRED, in_use=None),
        RotationStep.ISSUE_SERVING,
    ),
    "... in use as well": (
        replace(ROTATING, serving=SERVING_OF_FORMER_EXPIRED, in_use=SERVING_OF_FORMER_EXPIRED),
        RotationStep.ISSUE_SERVING,
    ),
    "lost while a new authority is not relied on": (replace(ROTATING, serving=None), RotationStep.RESTORE_SERVING),
    "ruined while a new authority is not relied on": (replace(ROTATING, serving=JUNK), RotationStep.RESTORE_SERVING),
    "lost when a new authority is relied on": (
        replace(ROTATING, serving=None, is_propagated=True),
        RotationStep.ISSUE_SERVING,
    ),
}


@pytest.mark.parametrize(("seen", "expected"), CASES.values(), ids=CASES.keys())
def test_one_step_after_the_other(seen: Observed, expected: RotationStep) -> None:
    assert next_step(seen, HOSTS, NOW) is expected


def test_the_authority_of_what_is_served_stays_trusted_whatever_became_of_the_bundle() -> None:
    for trust in (b"", b"junk", CA.certificate, BOTH):
        assert x509.split(trust_of(CA, replace(ROTATING, trust=trust), NOW)) == x509.split(BOTH)


def test_an_authority_that_expired_is_not_kept() -> None:
    expired = x509.issue_ca(NOW - timedelta(days=400))
    seen = replace(ROTATING, trust=CA.certificate + expired.certificate, in_use_trust=expired.certificate)
    assert x509.split(trust_of(CA, seen, NOW)) == [CA.certificate]


@pytest.mark.parametrize(
    ("serving", "expected"),
    [
        (SERVING, True),
        (SERVING_DUE, True),
        (SERVING_OF_FORMER, True),
        (SERVING_OF_FORMER_EXPIRED, False),
        (SERVING_ELSEWHERE, False),
        (SERVING_OF_STRANGER, False),
        (OTHER_KEY, False),
        (JUNK, False),
        (None, False),
    ],
)
def test_usable_is_what_clients_accept(serving: KeyPair | None, expected: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_usable(serving, BOTH, HOSTS, NOW) is expected

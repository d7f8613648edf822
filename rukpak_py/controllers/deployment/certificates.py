"""The certificates of webhooks that the content brings, at each stage of a reconcile.

What is asked for follows from the content, so it is known once the content was rendered. After a restart a deployment
may be found as it was applied without rendering anything; one that has such certificates is rendered all the same,
because they grow old.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rukpak_py.api.conditions import Summary
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.results import Failure
from rukpak_py.apply.serving_certificates import (
    CertificateResult,
    ServingCertificates,
    ServingSecrets,
    WantedCertificates,
)
from rukpak_py.apply.target import Target
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.failure_reports import failed
from rukpak_py.controllers.deployment.stage import StageResult
from rukpak_py.controllers.outcome import again, both, retry_unless_stalled
from rukpak_py.core.wording import joined

LOOK_AGAIN_SECONDS = 1.0  # at what somebody changed meanwhile, or is not there yet
NOTHING = WantedCertificates()


class CertificateStage:
    def __init__(
        self,
        certificates: ServingCertificates,
        secrets: ServingSecrets,
        inventory: Inventory,
        *,
        target_of: Callable[[Attempt], Target],
    ) -> None:
        self._certificates = certificates
        self._secrets = secrets
        self._inventory = inventory
        self._target_of = target_of

    def must_render(self, attempt: Attempt) -> bool:
        """What is asked for is not known, and something was."""
        if attempt.facts is not None:
            return False
        uid = attempt.deployment.metadata.uid
        return bool(self._secrets.of(uid)) or any(live.ca_fields for live in self._inventory.owned_by(uid).values())

    async def release_dropped(self, attempt: Attempt) -> CertificateResult:
        """Before the server is asked: what the new content drops must not be kept alive by our fields in it.

        Also after half an install, or on the way back from half an upgrade.
        """
        if attempt.is_settled:
            return CertificateResult()
        owned = self._inventory.owned_by(attempt.deployment.metadata.uid)
        if not any(live.ca_fields for live in owned.values()):
            return CertificateResult()
        return await self._certificates.release(
            self._target_of(attempt), _wanted(attempt), owned, attempt.state.certificates
        )

    async def issue_missing(self, attempt: Attempt) -> CertificateResult:
        """Before workloads are applied, which mount the Secrets."""
        if not _wanted(attempt).certificates or not self._secrets.is_synced:
            return CertificateResult()  # what comes after the apply waits for the watch
        owned = self._inventory.owned_by(attempt.deployment.metadata.uid)
        return await self._certificates.issue_missing(
            self._target_of(attempt), _wanted(attempt), owned, attempt.state.certificates
        )

    async def keep(self, attempt: Attempt) -> CertificateResult:
        """After every apply, also one that failed, and whenever everything is as it was applied."""
        wanted = _wanted(attempt)
        if not wanted.certificates:
            return CertificateResult(failures=[*wanted.failures])
        if not self._secrets.is_synced:
            return CertificateResult(look_again_seconds=LOOK_AGAIN_SECONDS)
        owned = self._inventory.owned_by(attempt.deployment.metadata.uid)
        return await self._certificates.reconcile(self._target_of(attempt), wanted, owned, attempt.state.certificates)

    async def remove_unwanted(self, attempt: Attempt) -> CertificateResult:
        """Former content is pruned: its Secrets go, too. Nothing goes while nobody knows what is wanted."""
        deployment = attempt.deployment
        is_pruned = deployment.spec.prune.enabled and attempt.facts is not None
        if not is_pruned or not self._secrets.of(deployment.metadata.uid):
            return CertificateResult()
        return await self._certificates.remove_unwanted(
            self._target_of(attempt), _wanted(attempt), attempt.state.certificates
        )


def with_certificates(attempt: Attempt, result: StageResult, kept: CertificateResult) -> StageResult:
    """What came of the objects, and what came of the certificates beside them."""
    if kept.failures:
        return _with_failures(attempt, result, kept.failures)
    pauses = [LOOK_AGAIN_SECONDS] if kept.waiting else []
    pauses += [kept.look_again_seconds] if kept.look_again_seconds is not None else []
    return replace(result, outcome=both(result.outcome, again(min(pauses)))) if pauses else result


def _with_failures(attempt: Attempt, result: StageResult, failures: Sequence[Failure]) -> StageResult:
    """Objects that could not be applied are named as well. What the status records is not all there is: after a
    restart it must not pass for it.
    """
    report = failed(attempt.deployment, failures, is_drift=attempt.is_settled)
    if result.report is not None:
        report = replace(report, fields=_without_proof(result.report.fields), healthy=result.report.healthy)
        if result.report.summary in {Summary.RETRYING, Summary.STALLED}:
            text = joined([result.report.message, report.message])
            installed = replace(report.installed, message=text) if report.installed is not None else None
            report = replace(report, message=text, installed=installed, summary=Summary.RETRYING)
    outcome = retry_unless_stalled(report.summary, max(failure.retry_after for failure in failures))
    return replace(result, report=report, outcome=both(result.outcome, outcome), is_finished=False)


def _without_proof(fields: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return {**fields, "applied_digest": ""} if fields is not None else None


def _wanted(attempt: Attempt) -> WantedCertificates:
    return attempt.facts.certificates if attempt.facts is not None else NOTHING

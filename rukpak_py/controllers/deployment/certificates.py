"""The certificates of webhooks that the content brings, at each stage of a reconcile.

What is asked for follows from the content, so it is known once the content was rendered. After a restart a deployment
may be found as it was applied without rendering anything; one that has such certificates is rendered all the same,
because they grow old.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from rukpak_py.api.names import REGISTRY_CLASS
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.preflight import AnyRefusal, RefusedObjects
from rukpak_py.apply.results import Failure, failure_of
from rukpak_py.apply.target import Target
from rukpak_py.certificates.deployments import CertificateResult, ServingCertificates
from rukpak_py.certificates.store import ServingSecrets
from rukpak_py.certificates.wanted import WantedCertificates
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import failure_facts, look_again
from rukpak_py.controllers.deployment.watch_rights import how_to_grant
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.object_details import ContestedCertificates
from rukpak_py.controllers.result.progress import Fact, Progress
from rukpak_py.core.errors import AccessError, RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.resources import SECRETS

LOOK_AGAIN_SECONDS = 1.0  # at an object that another client changed meanwhile, or that does not exist yet
NAMED_CONFLICTS = 5
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
        """Whether the certificates that the content wants are not known, and there are some already."""
        if attempt.facts is not None:
            return False
        uid = attempt.deployment.metadata.uid
        if attempt.classes.bundle == REGISTRY_CLASS and self._secrets.may_be_unseen(uid):
            return True
        return bool(self._secrets.of(uid)) or any(live.ca_fields for live in self._inventory.owned_by(uid).values())

    async def release_dropped(self, attempt: Attempt) -> CertificateResult:
        """Release our fields in what the new content drops, before the server is asked: they would keep it there.

        The same applies after half an install, and on the way back from half an upgrade.
        """
        if attempt.is_settled:
            return CertificateResult()
        owned = self._inventory.owned_by(attempt.deployment.metadata.uid)
        if not any(live.ca_fields for live in owned.values()):
            return CertificateResult()
        return await self._certificates.release(
            self._target_of(attempt), _wanted(attempt), owned, attempt.state.certificates
        )

    def without_held(self, attempt: Attempt, refusals: Sequence[AnyRefusal]) -> tuple[AnyRefusal, ...]:
        """Refusals but those of objects in which we hold a CA: before its fields are released nothing can be told."""
        owned = self._inventory.owned_by(attempt.deployment.metadata.uid)
        held = {key for key, live in owned.items() if live.ca_fields}
        if not held:
            return tuple(refusals)
        found = (
            replace(one, failures=tuple(failure for failure in one.failures if failure.key not in held))
            if isinstance(one, RefusedObjects)
            else one
            for one in refusals
        )
        return tuple(one for one in found if not isinstance(one, RefusedObjects) or one.failures)

    async def issue_missing(self, attempt: Attempt) -> CertificateResult:
        """Issue missing certificates before workloads are applied, which mount the Secrets."""
        if not _wanted(attempt).certificates or self._unsynced(attempt):
            return CertificateResult()  # what comes after the apply waits for the watch
        owned = self._inventory.owned_by(attempt.deployment.metadata.uid)
        return await self._certificates.issue_missing(
            self._target_of(attempt), _wanted(attempt), owned, attempt.state.certificates
        )

    async def keep(self, attempt: Attempt) -> CertificateResult:
        """Keep certificates after every apply, also one that failed, and whenever everything is as it was applied."""
        wanted = _wanted(attempt)
        if not wanted.certificates:
            return CertificateResult(failures=[*wanted.problems])
        if unsynced := self._unsynced(attempt):
            return CertificateResult(look_again_seconds=LOOK_AGAIN_SECONDS, failures=[*self._denied(wanted, unsynced)])
        owned = self._inventory.owned_by(attempt.deployment.metadata.uid)
        return await self._certificates.reconcile(self._target_of(attempt), wanted, owned, attempt.state.certificates)

    async def remove_unwanted(self, attempt: Attempt) -> CertificateResult:
        """Delete the Secrets of pruned content. None is deleted while the wanted certificates are not known."""
        deployment = attempt.deployment
        is_pruned = deployment.spec.prune.enabled and attempt.facts is not None
        if not is_pruned or not self._secrets.of(deployment.metadata.uid):
            return CertificateResult()
        return await self._certificates.remove_unwanted(
            self._target_of(attempt), _wanted(attempt), attempt.state.certificates
        )

    def _unsynced(self, attempt: Attempt) -> frozenset[str]:
        """Namespaces of wanted certificates whose Secrets are not seen."""
        namespaces = frozenset(key.namespace for key in _wanted(attempt).certificates)
        self._secrets.watch(attempt.deployment.metadata.uid, namespaces)
        return frozenset(namespace for namespace in namespaces if not self._secrets.is_synced(namespace))

    def _denied(self, wanted: WantedCertificates, unsynced: frozenset[str]) -> Iterator[tuple[ObjectKey, RukPakError]]:
        """Certificates in namespaces that the operator may not see."""
        for key in wanted.certificates:
            refusal = self._secrets.refusal(key.namespace) if key.namespace in unsynced else ""
            if refusal:
                how = how_to_grant(SECRETS, key.namespace)
                yield key, AccessError(f"{key}: a right is missing: {refusal}; {how}")


def certificate_failures(found: Iterable[tuple[ObjectKey, RukPakError]]) -> list[Failure]:
    return [failure_of(key, error) for key, error in found]


def certificate_progress(result: CertificateResult) -> Progress:
    """Progress of the certificates, beside that of the objects."""
    pauses = [LOOK_AGAIN_SECONDS] if result.waiting else []
    pauses += [result.look_again_seconds] if result.look_again_seconds is not None else []
    looks = (look_again(min(pauses)),) if pauses else ()
    return Progress(facts=(*failure_facts(certificate_failures(result.failures)), *_contested(result), *looks))


def _contested(result: CertificateResult) -> tuple[Fact, ...]:
    """The look at the end of the rest restores it; nothing else brings that."""
    if not result.resting:
        return ()
    keys = sorted(result.resting)[:NAMED_CONFLICTS]
    detail = ContestedCertificates(managers=tuple(result.resting[key] for key in keys))
    return (Fact(cause=Cause.CERTIFICATES_CONTESTED, detail=detail, objects=tuple(keys)),)


def _wanted(attempt: Attempt) -> WantedCertificates:
    return attempt.facts.certificates if attempt.facts is not None else NOTHING

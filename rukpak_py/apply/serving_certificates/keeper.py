"""Keeps the serving certificates of deployments: look, take the next step, look again, until nothing is left to do.

Everything is done by the identity of the deployment (`Target.client`). What this process remembers of each of them
(`CertificateMemory`) are versions and certificates, never a key: a Secret in the version that was read last, whose
callers carry the trust that was injected last, costs no call. After a restart it is one GET for each Secret and for
each caller, and no write.

Failures are values, one for each Secret or caller that could not be made as it should be; the others go on.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime

from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.results import failure_of
from rukpak_py.apply.serving_certificates.injecting import Injector, Observe
from rukpak_py.apply.serving_certificates.passes import CertificateMemory, CertificateResult, Pass
from rukpak_py.apply.serving_certificates.secret import (
    StoredSecret,
    is_ours,
    is_served_by_another,
    labelled,
    staged,
    trusted_since,
    trusting,
)
from rukpak_py.apply.serving_certificates.steps import (
    CertificateSettings,
    CertificateStep,
    Injection,
    issue,
    look_again_at,
    next_step,
    trust_of,
)
from rukpak_py.apply.serving_certificates.store import SecretStore
from rukpak_py.apply.serving_certificates.wanted import CaBundleTarget, ServingCertificate, WantedCertificates
from rukpak_py.apply.serving_certificates.watching import ServingSecrets
from rukpak_py.apply.target import Target
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import SECRETS

LOG = logging.getLogger(__name__)
StillExists = Callable[[Owner], Awaitable[bool]]
STEPS = 20  # in one pass; more means that somebody undoes them
Owned = Mapping[ObjectKey, ObservedObject]


class ServingCertificates:
    """One for the process. In the life of a deployment, in this order:

    1. `release` before new content is tried out or applied: gives up fields that it drops. It changes no value, so
       nothing is lost when a check refuses the content; the next `reconcile` of what is installed takes them again.
    2. `issue_missing` before its workloads are applied: their pods mount the Secrets. A namespace that the same plan
       creates is waited for (`waiting`), and `reconcile` makes the Secret.
    3. `reconcile` after every apply, also one that failed or waits (custom resources of the content may need the very
       webhooks that have no CA yet), and at every look at a deployment that is as it was applied: issues, injects and
       rotates. It costs no call when nothing changed. Look again after `look_again_seconds`.
    4. `remove_unwanted` when former content is pruned.
    When the deployment goes, the collector takes its Secrets.

    `owned` is what the inventory shows of the deployment (`Inventory.owned_by(uid)`), `wanted` is what
    `wanted_certificates` says of its content: compute it once for each rendering. Its failures are part of each result
    of `issue_missing` and `reconcile`; nothing that they name is issued or injected.
    """

    def __init__(
        self,
        secrets: ServingSecrets,
        *,
        observe: Observe,
        still_exists: StillExists,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        settings: CertificateSettings | None = None,
    ) -> None:
        """`observe` is `Inventory.observe`: our own writes to callers cause no further look.

        `still_exists` asks whether a deployment exists and is not being deleted. Of one that is deleted with `orphan`
        the watch of Secrets may show that the owner is gone before its own watch shows the deletion: a Secret that is
        given back then is collected with it.
        """
        self._secrets = secrets
        self._observe = observe
        self._still_exists = still_exists
        self._clock = clock
        self._settings = settings or CertificateSettings()

    async def release(
        self, target: Target, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory
    ) -> CertificateResult:
        work = self._begin(target, wanted, owned, memory)

        async def give_up(key: ObjectKey) -> None:
            place = wanted.places.get(key)
            names = place.webhooks if place is not None else frozenset[str]()
            try:
                if await work.injector.release(key, names, work.lives):
                    work.result.released.append(key)
            except (NotFoundError, StaleError):
                work.result.waiting.append(f"{key} was changed by somebody else meanwhile")
            except RukPakError as error:
                work.result.failures.append(failure_of(key, error))

        held = [key for key in wanted.callers if key in work.lives and work.lives[key].ca_fields]
        await run_bounded(give_up, sorted(held))
        return work.result

    async def issue_missing(
        self, target: Target, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory
    ) -> CertificateResult:
        work = self._begin(target, wanted, owned, memory)
        work.result.failures += wanted.failures
        await run_bounded(lambda one: self._keep(work, one, only_issue=True), wanted.certificates.values())
        return work.result

    async def reconcile(
        self, target: Target, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory
    ) -> CertificateResult:
        work = self._begin(target, wanted, owned, memory)
        work.result.failures += wanted.failures
        await run_bounded(lambda one: self._keep(work, one, only_issue=False), wanted.certificates.values())
        work.result.failures.sort(key=lambda failure: failure.key)
        return work.result

    async def remove_unwanted(
        self, target: Target, wanted: WantedCertificates, memory: CertificateMemory
    ) -> CertificateResult:
        result = CertificateResult()
        for key, metadata in self._secrets.of(target.owner.uid):
            if key in wanted.certificates or metadata.is_deleted:
                continue
            if not is_ours(metadata, target.owner) or is_served_by_another(metadata):
                continue
            try:
                left = await target.client.delete(
                    SECRETS,
                    key.namespace,
                    key.name,
                    uid=metadata.uid,
                    resource_version=metadata.resource_version,
                )
            except NotFoundError:
                left = None
            except StaleError:
                continue  # the event of its change brings the deployment back
            except RukPakError as error:
                result.failures.append(failure_of(key, error))
                continue
            if left is None:
                self._secrets.gone(key, metadata.uid)
            memory.secrets.free(key)
            result.removed.append(key)
        return result

    def _begin(self, target: Target, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory) -> Pass:
        uid = target.owner.uid
        lives = {key: owned[key] for key in wanted.callers if key in owned and owned[key].owner_uid == uid}
        return Pass(
            target=target,
            store=SecretStore(self._secrets, memory.secrets, target),
            injector=Injector(self._observe, memory.callers, target),
            repairs=memory.repairs,
            wanted=wanted,
            lives=lives,
            result=CertificateResult(),
        )

    async def _keep(self, work: Pass, certificate: ServingCertificate, *, only_issue: bool) -> None:
        try:
            for _ in range(STEPS):
                if not await self._advance(work, certificate, only_issue=only_issue):
                    return
        except NotFoundError as error:
            if only_issue:
                work.result.waiting.append(f"{certificate.secret} waits for its namespace")
            else:
                work.result.failures.append(failure_of(certificate.secret, error))
        except RukPakError as error:
            work.result.failures.append(failure_of(certificate.secret, error))
        else:
            work.result.waiting.append(f"{certificate.secret} keeps changing while it is written")
            work.result.look_again_in(1.0)

    async def _advance(self, work: Pass, certificate: ServingCertificate, *, only_issue: bool) -> bool:
        """One step; whether there may be another one."""
        found = await work.store.read(certificate)
        if found is not None and found.is_deleted:
            work.result.waiting.append(f"{certificate.secret} is being deleted")
            return False
        places, callers = await self._callers(work, certificate.secret)
        stored, now = found.stored if found is not None else None, self._clock()
        step = next_step(stored, callers, certificate.hosts, now, self._settings)
        if only_issue and step is not CertificateStep.ISSUE:
            return False
        if step is CertificateStep.ISSUE or found is None or stored is None:
            return await self._issue(work, certificate, found, callers)
        if step in {CertificateStep.NOTHING, CertificateStep.WAIT}:
            due = look_again_at(stored, self._settings)
            if due is not None:
                work.result.look_again_in((due - now).total_seconds())
            return False
        if step is CertificateStep.INJECT:
            lacking = [place for place, caller in zip(places, callers, strict=True) if caller.bundle != stored.trust]
            return await self._inject(work, lacking, stored.trust)
        await self._write(work, certificate, found, callers, step)
        return True

    async def _callers(self, work: Pass, secret: ObjectKey) -> tuple[list[CaBundleTarget], list[Injection]]:
        """Those that exist: what is not there yet gets its CA when it is."""
        places, callers = [], []
        for place in work.wanted.places_of(secret):
            live = work.lives.get(place.key)
            if live is None or live.is_deleted:
                continue
            try:
                callers.append(await work.injector.read(place, live))
            except NotFoundError:
                del work.lives[place.key]
            else:
                places.append(place)
        return places, callers

    async def _issue(
        self, work: Pass, certificate: ServingCertificate, found: StoredSecret | None, callers: Sequence[Injection]
    ) -> bool:
        key, now = certificate.secret, self._clock()
        if await self._rests(work, key, now):
            return False
        if found is not None and found.is_orphan and not await self._still_exists(work.target.owner):
            return False
        stored = found.stored if found is not None else None
        issued = issue(stored, callers, certificate.hosts, now, self._settings)
        if await work.store.issue(certificate, found, issued):
            work.repairs.repaired(key, now)
            work.result.issued.append(key)
            LOG.info("issued a serving certificate for %s in %s", certificate.service, key)
        return True

    async def _write(
        self,
        work: Pass,
        certificate: ServingCertificate,
        found: StoredSecret,
        callers: Sequence[Injection],
        step: CertificateStep,
    ) -> None:
        stored, now = found.stored, self._clock()
        match step:
            case CertificateStep.LABEL:
                body = labelled(found, work.target.owner)
            case CertificateStep.STAGE:
                body = staged(found, issue(stored, callers, certificate.hosts, now, self._settings))
                LOG.info("%s is rotated: its next CA is made known", certificate.secret)
            case CertificateStep.PUBLISH_TRUST:
                body = trusting(found, trust_of(stored, callers, now))
            case CertificateStep.RECORD_TRUST:
                body = trusted_since(found, now)
            case CertificateStep.RESTART_PROPAGATION:
                body = trusted_since(found, None)
            case _:
                if await work.store.switch(certificate, found):
                    work.result.rotated.append(certificate.secret)
                    LOG.info("%s is rotated: its next certificate is served", certificate.secret)
                return
        await work.store.write(certificate, body)

    async def _inject(self, work: Pass, places: Sequence[CaBundleTarget], trust: bytes) -> bool:
        """Whether all of them have it now."""
        now, result = self._clock(), work.result
        done = 0
        for place in places:
            is_repair = work.injector.is_repair(work.lives[place.key], trust)
            if is_repair and await self._rests(work, place.key, now):
                continue
            try:
                await work.injector.inject(place, work.lives, trust)
            except (NotFoundError, StaleError):
                result.waiting.append(f"{place.key} was replaced by somebody else")
            except RukPakError as error:
                result.failures.append(failure_of(place.key, error))
            else:
                done += 1
                result.injected.append(place.key)
                if is_repair:
                    work.repairs.repaired(place.key, now)
        return done == len(places)

    async def _rests(self, work: Pass, key: ObjectKey, now: datetime) -> bool:
        until, managers = work.repairs.rests_until(key, now), work.repairs.managers
        if until is None:
            return False
        if key not in managers:
            managers[key] = await work.target.last_managers(key)
        work.result.resting[key] = managers[key]
        work.result.look_again_in((until - now).total_seconds())
        return True

"""Keeps the serving certificates that the content of deployments asks for.

Everything is done by the identity of the deployment (`CertificateTarget.client`). What this process remembers of each
of them (`CertificateMemory`) are versions and certificates, never a key: a Secret in the version that was read last,
whose callers carry the trust that was injected last, costs no call. After a restart it is one GET for each Secret and
for each caller, and no write.

Failures are values, one for each Secret or caller that could not be made as it should be; the others go on.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from rukpak_py.certificates.ca_injection import Injector, KnownCallers, LiveCaller, Lives, Observe
from rukpak_py.certificates.secret import (
    CertificateOwner,
    StoredSecret,
    is_issued_for,
    is_served_by_another,
    labelled,
    staged,
    trusted_since,
    trusting,
)
from rukpak_py.certificates.steps import (
    CertificateSettings,
    CertificateStep,
    Injection,
    Seen,
    issue,
    look_again_at,
    take_steps,
    trust_of,
)
from rukpak_py.certificates.store import CertificateTarget, KnownSecrets, SecretStore, ServingSecrets
from rukpak_py.certificates.wanted import CaBundleTarget, WantedCertificate, WantedCertificates
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.repair_backoff import RepairBackoff
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import SECRETS

LOG = logging.getLogger(__name__)
StillExists = Callable[[CertificateOwner], Awaitable[bool]]
Owned = Mapping[ObjectKey, LiveCaller]
_TRUSTED_SINCE: Mapping[CertificateStep, Callable[[datetime], datetime | None]] = {
    CertificateStep.RECORD_TRUST: lambda now: now,
    CertificateStep.RESTART_PROPAGATION: lambda _: None,
}


@dataclass(slots=True)
class CertificateResult:
    """Filled during a pass. `waiting` and `resting` end by themselves, at the latest when `look_again_seconds` say."""

    issued: list[ObjectKey] = field(default_factory=list)  # Secrets that were made, or made again
    rotated: list[ObjectKey] = field(default_factory=list)  # Secrets that serve their next pair now
    injected: list[ObjectKey] = field(default_factory=list)  # callers
    released: list[ObjectKey] = field(default_factory=list)  # callers of which we own nothing any more
    removed: list[ObjectKey] = field(default_factory=list)  # Secrets that nothing asks for any more
    # what another client changes again and again is left for a minute; with who changed it last, where that is known
    resting: dict[ObjectKey, tuple[str, ...]] = field(default_factory=dict)
    failures: list[tuple[ObjectKey, RukPakError]] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    look_again_seconds: float | None = None  # until something has to be done although nothing changes; None: never

    @property
    def is_complete(self) -> bool:
        return not self.failures and not self.waiting

    def look_again_in(self, seconds: float) -> None:
        seconds = max(seconds, 0.0)
        known = self.look_again_seconds
        self.look_again_seconds = seconds if known is None else min(known, seconds)


@dataclass(slots=True)
class CertificateMemory:
    """The certificates of one deployment as this process knows them: versions and certificates, never a key."""

    secrets: KnownSecrets = field(default_factory=KnownSecrets)
    callers: KnownCallers = field(default_factory=KnownCallers)
    backoff: RepairBackoff = field(default_factory=RepairBackoff)


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

    `owned` is what the watches show of the deployment, `wanted` is what `wanted_certificates` says of its content:
    compute it once for each rendering. Its problems are failures of each result of `issue_missing` and `reconcile`;
    nothing that they name is issued or injected.
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
        """`observe` takes the answers to our writes to callers in: they cause no further look.

        `still_exists` asks whether a deployment exists and is not being deleted. Of one that is deleted with `orphan`
        the watch of Secrets may show that the owner is gone before its own watch shows the deletion: a Secret that is
        given back then is collected with it.
        """
        self._secrets = secrets
        self._observe = observe
        self.still_exists = still_exists
        self.clock = clock
        self.settings = settings or CertificateSettings()

    async def release(
        self, target: CertificateTarget, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory
    ) -> CertificateResult:
        work = self._begin(target, wanted, owned, memory)

        async def give_up(key: ObjectKey) -> None:
            place = wanted.places.get(key)
            names = place.webhooks if place is not None else frozenset[str]()
            try:
                if await work.injector.release(key, names, work.lives):
                    work.result.released.append(key)
            except (NotFoundError, StaleError):
                work.result.waiting.append(f"{key} was changed by another client meanwhile")
            except RukPakError as error:
                work.result.failures.append((key, error))

        held = [key for key in wanted.callers if key in work.lives and work.lives[key].ca_fields]
        await run_bounded(give_up, sorted(held))
        return work.result

    async def issue_missing(
        self, target: CertificateTarget, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory
    ) -> CertificateResult:
        return await self._keep(self._begin(target, wanted, owned, memory), only_issue=True)

    async def reconcile(
        self, target: CertificateTarget, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory
    ) -> CertificateResult:
        result = await self._keep(self._begin(target, wanted, owned, memory), only_issue=False)
        result.failures.sort(key=lambda failure: failure[0])
        return result

    async def remove_unwanted(
        self, target: CertificateTarget, wanted: WantedCertificates, memory: CertificateMemory
    ) -> CertificateResult:
        result = CertificateResult()
        for key, metadata in self._secrets.of(target.owner.uid):
            if key in wanted.certificates or metadata.is_deleted:
                continue
            if not is_issued_for(metadata, target.owner) or is_served_by_another(metadata):
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
                result.failures.append((key, error))
                continue
            if left is None:
                self._secrets.gone(key, metadata.uid)
            memory.secrets.forget(key, is_taken=False)
            result.removed.append(key)
        return result

    def _begin(
        self, target: CertificateTarget, wanted: WantedCertificates, owned: Owned, memory: CertificateMemory
    ) -> "_Pass":
        uid = target.owner.uid
        lives = {key: owned[key] for key in wanted.callers if key in owned and owned[key].owner_uid == uid}
        return _Pass(
            keeper=self,
            target=target,
            store=SecretStore(self._secrets, memory.secrets, target),
            injector=Injector(self._observe, memory.callers, target),
            backoff=memory.backoff,
            wanted=wanted,
            lives=lives,
        )

    async def _keep(self, work: "_Pass", *, only_issue: bool) -> CertificateResult:
        result = work.result
        result.failures += work.wanted.problems

        async def keep(want: WantedCertificate) -> None:
            site = _DeploymentSite(want=want, work=work, only_issue=only_issue)
            try:
                if not await take_steps(site, want, self.clock, self.settings):
                    result.waiting.append(f"{want.secret} keeps changing while it is written")
                    result.look_again_in(1.0)
            except NotFoundError as error:
                if only_issue:
                    result.waiting.append(f"{want.secret} waits for its namespace")
                else:
                    result.failures.append((want.secret, error))
            except RukPakError as error:
                result.failures.append((want.secret, error))

        await run_bounded(keep, work.wanted.certificates.values())
        return result


@dataclass(frozen=True, kw_only=True)
class _Pass:
    """One look at all certificates of a deployment."""

    keeper: ServingCertificates
    target: CertificateTarget
    store: SecretStore
    injector: Injector
    backoff: RepairBackoff
    wanted: WantedCertificates
    lives: Lives  # kept up to date with the answers of this pass
    result: CertificateResult = field(default_factory=CertificateResult)

    async def rests(self, key: ObjectKey) -> bool:
        now, backoff = self.keeper.clock().timestamp(), self.backoff
        until = backoff.rests_until(key, now)
        if until is None:
            return False
        if not backoff.is_reported(frozenset({key})):
            managers = await self.target.last_managers(key)
            backoff.report(backoff.reported | {key}, {**backoff.managers, key: managers})
        self.result.resting[key] = tuple(backoff.managers[key])
        self.result.look_again_in(until - now)
        return True

    def wait_until(self, due: datetime | None, now: datetime) -> bool:
        """Look again when the next step is due; none is left until then."""
        if due is not None:
            self.result.look_again_in((due - now).total_seconds())
        return False

    def repaired(self, key: ObjectKey) -> None:
        self.backoff.repaired([key], self.keeper.clock().timestamp())


@dataclass(kw_only=True)
class _DeploymentSite:
    """One certificate in a pass: a `Site`. `only_issue`: nothing but what pods need to start."""

    want: WantedCertificate
    work: _Pass
    only_issue: bool
    found: StoredSecret | None = None
    places: Sequence[CaBundleTarget] = ()  # the callers that exist: what is not there yet gets its CA when it is

    async def look(self) -> Seen | None:
        work, secret = self.work, self.want.secret
        self.found = found = await work.store.read(self.want)
        if found is not None and found.is_deleted:
            work.result.waiting.append(f"{secret} is being deleted")
            return None
        injections: dict[ObjectKey, Injection] = {}
        for place in work.wanted.places_of(secret):
            live = work.lives.get(place.key)
            if live is None or live.is_deleted:
                continue
            try:
                injections[place.key] = await work.injector.read(place, live)
            except NotFoundError:
                del work.lives[place.key]
        self.places = [work.wanted.places[key] for key in injections]
        return replace(found.seen if found is not None else Seen(), callers=tuple(injections.values()))

    async def take(self, step: CertificateStep, seen: Seen) -> bool:
        work, want, now, settings = self.work, self.want, self.work.keeper.clock(), self.work.keeper.settings
        found = self.found
        if found is None or step is CertificateStep.ISSUE:
            return await self._issue(seen, now)
        if self.only_issue:
            return False
        match step:
            case CertificateStep.NOTHING | CertificateStep.WAIT:
                return work.wait_until(look_again_at(seen, settings), now)
            case CertificateStep.INJECT:
                return await self._inject(seen)
            case CertificateStep.SWITCH:
                if await work.store.switch(want, found):
                    work.result.rotated.append(want.secret)
                    LOG.info("%s is rotated: its next certificate is served", want.secret)
            case CertificateStep.LABEL:
                await work.store.write(want, labelled(found, work.target.owner))
            case CertificateStep.STAGE:
                LOG.info("%s is rotated: its next CA is made known", want.secret)
                await work.store.write(want, staged(found, issue(want, seen, now, settings)))
            case CertificateStep.PUBLISH_TRUST:
                await work.store.write(want, trusting(found, trust_of(want, seen, now)))
            case _:
                await work.store.write(want, trusted_since(found, _TRUSTED_SINCE[step](now)))
        return True

    async def _issue(self, seen: Seen, now: datetime) -> bool:
        work, found, key = self.work, self.found, self.want.secret
        if await work.rests(key):
            return False
        if found is not None and found.is_orphan and not await work.keeper.still_exists(work.target.owner):
            return False
        if await work.store.issue(self.want, found, issue(self.want, seen, now, work.keeper.settings)):
            work.repaired(key)
            work.result.issued.append(key)
            LOG.info("issued a serving certificate for %s in %s", self.want.service, key)
        return True

    async def _inject(self, seen: Seen) -> bool:
        """Whether all callers have the trust now."""
        work, result, is_done = self.work, self.work.result, True
        for place, caller in zip(self.places, seen.callers, strict=True):
            if caller.bundle == seen.trust:
                continue
            is_repair = work.injector.is_repair(work.lives[place.key], seen.trust)
            if is_repair and await work.rests(place.key):
                is_done = False
                continue
            try:
                await work.injector.inject(place, work.lives, seen.trust)
            except (NotFoundError, StaleError):
                result.waiting.append(f"{place.key} was replaced by another client")
                is_done = False
            except RukPakError as error:
                result.failures.append((place.key, error))
                is_done = False
            else:
                result.injected.append(place.key)
                if is_repair:
                    work.repaired(place.key)
        return is_done

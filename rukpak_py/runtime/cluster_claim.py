"""One operator for a cluster: two would delete each other's objects for ever, because both see to the same kinds.

The annotation `core.rukpak.io/operator-namespace` on the CRD of BundleDeployments names the system namespace of the
operator that the cluster belongs to. Its replicas share a Lease there, so among them the Lease decides. An operator
with another system namespace leaves the cluster alone while that Lease is renewed, is not ready, and says who leads.

* Clocks of other machines are never compared: a claim is stale when this process has seen annotation and Lease
  unchanged for a minute, whether the Lease is held, was released, or is not there. A claim that was just made has no
  Lease yet, and the leader of a rollout gives it back for a moment.
* The annotation is written by compare-and-swap, before the Lease is taken.
* Without leader election there is no Lease to keep a claim alive, so nothing is claimed; those of others count.

Before that a replica needs to list and watch our own kinds, Namespaces and CRDs. It asks by doing it: a list of one
object and a watch that is closed at once, because rights alone do not say that a kind is served. A replica that lacks
something stays up, is not ready, says why, and leaves the lease to others.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from rukpak_py.api.names import EVENT_COMPONENT, OPERATOR_NAMESPACE_ANNOTATION, EventReason
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, ForbiddenError, KindNotServedError, NotFoundError
from rukpak_py.kube.events import EventRecorder, EventSubject
from rukpak_py.kube.lease import Holder
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CRDS, LEASES, NAMESPACES, Resource, not_served

LOG = logging.getLogger(__name__)
CRD = f"{BUNDLE_DEPLOYMENTS.plural}.{BUNDLE_DEPLOYMENTS.gvk.group}"
STALE_SECONDS = 60.0
NEEDED = (BUNDLES, BUNDLE_DEPLOYMENTS, CRDS, NAMESPACES)
INTERVAL = 3.0  # seconds between two looks while something is missing
VALID_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class OtherClaim:
    """Claim of another operator, as last seen. `renewed`: changes while that operator is alive."""

    namespace: str
    holder: str
    renewed: str

    @property
    def who(self) -> str:
        leader = Holder.parse(self.holder)
        pod = f" (pod {leader.pod})" if leader is not None else ""
        return f'the operator with the system namespace "{self.namespace}"{pod}'


class ClusterClaim:
    def __init__(
        self,
        client: Client,
        system_namespace: str,
        *,
        lease: str,
        is_kept: bool,
        recorder: EventRecorder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lease`: name of the Lease of every operator. `is_kept`: ours is renewed while we lead."""
        self._client = client
        self._namespace = system_namespace
        self._lease = lease
        self._is_kept = is_kept
        self._recorder = recorder or EventRecorder(client, component=EVENT_COMPONENT)
        self._clock = clock
        self._other: OtherClaim | None = None
        self._since = 0.0  # when this process saw it first so
        self._problem: str | None = None

    @property
    def problem(self) -> str | None:
        """Reason why this operator may not lead; None as long as nothing speaks against it."""
        return self._problem

    async def is_ours(self) -> bool:
        """Whether the cluster is this operator's to lead; it is from now on, if it was no other's."""
        try:
            crd = await self._client.get_metadata(CRDS, "", CRD)
        except ForbiddenError as error:
            LOG.warning("cannot see whether another operator leads: %s", error)
            return True
        claimed = crd.annotations.get(OPERATOR_NAMESPACE_ANNOTATION, "")
        if claimed not in {"", self._namespace} and not self._is_stale(await self._seen(claimed)):
            self._refuse(crd)
            return False
        if self._problem is not None:
            LOG.info("may lead: no other operator does any more")
        self._problem = self._other = None
        if claimed != self._namespace and self._is_kept:
            await self._make(crd)
        return True

    async def close(self) -> None:
        await self._recorder.close()

    async def _seen(self, namespace: str) -> OtherClaim:
        try:
            lease = orjson.loads(await self._client.get(LEASES, namespace, self._lease))
        except NotFoundError:
            return OtherClaim(namespace=namespace, holder="", renewed="")
        spec = lease.get("spec") or {}
        renewed = f"{spec.get('renewTime')} {spec.get('leaseTransitions')}"
        return OtherClaim(namespace=namespace, holder=spec.get("holderIdentity") or "", renewed=renewed)

    def _is_stale(self, found: OtherClaim) -> bool:
        now = self._clock()
        if found != self._other:
            self._other, self._since = found, now
        return now - self._since >= STALE_SECONDS

    def _refuse(self, crd: Metadata) -> None:
        if self._other is None:
            return
        problem = (
            f"{self._other.who} leads in this cluster, which can have one operator only: uninstall one of the two. "
            f"This one, of {self._namespace!r}, leads {STALE_SECONDS:.0f} s after the other one has ended"
        )
        if problem == self._problem:
            return
        self._problem = problem
        LOG.warning("not leading: %s", problem)
        self._recorder.start()
        subject = EventSubject(gvk=CRDS.gvk, name=CRD, uid=crd.uid)
        self._recorder.record(subject, type="Warning", reason=EventReason.ANOTHER_OPERATOR, message=problem)

    async def _make(self, crd: Metadata) -> None:
        """StaleError: another client wrote the CRD since; perhaps another operator claims the cluster."""
        metadata = {
            "uid": crd.uid,
            "resourceVersion": crd.resource_version,
            "annotations": {OPERATOR_NAMESPACE_ANNOTATION: self._namespace},
        }
        try:
            await self._client.patch(CRDS, "", CRD, canonical_json({"metadata": metadata}))
        except ForbiddenError as error:
            LOG.warning("cannot keep other operators from leading in this cluster: %s", error)


class Prerequisites:
    def __init__(
        self,
        client: Client,
        *,
        needed: Sequence[Resource] = NEEDED,
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._needed = needed
        self._interval = interval
        self._clock = clock
        self._asked_at = -math.inf
        self._missing: str | None = "the API server has not been asked yet"
        self._is_missing = asyncio.Event()
        self._is_told = False  # in the log

    @property
    def missing(self) -> str | None:
        """Missing requirement at the last look; None when nothing is missing."""
        return self._missing

    async def wait(self, stop: asyncio.Event) -> None:
        """Wait until nothing is missing, or until `stop`."""
        stopped = asyncio.create_task(stop.wait())
        met = asyncio.create_task(self._until_met())
        try:
            await asyncio.wait({stopped, met}, return_when=asyncio.FIRST_COMPLETED)
            if met.done():
                met.result()
        finally:
            stopped.cancel()
            met.cancel()
            await asyncio.gather(stopped, met, return_exceptions=True)

    async def _until_met(self) -> None:
        while not await self.are_met():  # noqa: ASYNC110 - the API server announces nothing
            await asyncio.sleep(self._interval)

    async def follow(self) -> None:
        """Look again while something is missing: it is part of readiness."""
        while True:
            await self._is_missing.wait()
            await asyncio.sleep(self._interval)
            await self.are_met()

    async def are_met(self) -> bool:
        """An answer is not asked for again for a few seconds."""
        valid = VALID_SECONDS if self._missing is None else self._interval
        if self._clock() < self._asked_at + valid:
            return self._missing is None
        found = await asyncio.gather(*(self._lacks(resource) for resource in self._needed))
        missing = "; ".join(text for text in found if text is not None) or None
        if missing is None:
            self._is_missing.clear()
            if self._is_told:
                LOG.info("may lead: nothing is missing any more")
            self._is_told = False
        else:
            self._is_missing.set()
            if missing != self._missing:
                LOG.warning("not leading: %s", missing)
                self._is_told = True
        self._missing, self._asked_at = missing, self._clock()
        return missing is None

    async def _lacks(self, resource: Resource) -> str | None:
        try:
            version = await self._client.current_version(resource, verb="review")
            await self._client.try_watch(resource, version)
        except KindNotServedError:
            return not_served(resource)
        except (ApiError, TimeoutError) as error:
            return f"cannot list and watch {resource.plural}: {str(error) or 'no answer in time'}"
        return None

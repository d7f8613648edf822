"""The Secrets of deployments' serving certificates: the watch of their metadata, and reads and writes of each.

A Secret is read once for each version of it. Where the watch shows none, it is created without a look: the server says
when the name is taken, and only then it is read. Every other write names the uid and the version that was judged;
False means that another client was faster and the Secret has to be looked at again.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import msgspec

from rukpak_py.api.names import CERTIFICATE_EXPIRY_ANNOTATION, SERVING_CERTIFICATE_LABEL
from rukpak_py.certificates.secret import (
    CertificateOwner,
    StoredSecret,
    issued_again,
    new_secret,
    next_pair,
    not_ours,
    read_secret,
    switched,
)
from rukpak_py.certificates.steps import Issued
from rukpak_py.certificates.wanted import WantedCertificate
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, Metadata, decode_metadata
from rukpak_py.kube.resources import SECRETS, Resource
from rukpak_py.kube.seen_versions import OnRestore


class CertificateTarget(Protocol):
    """The deployment of certificates: a port to `apply.target`. `client` has its identity."""

    @property
    def owner(self) -> CertificateOwner: ...
    @property
    def client(self) -> Client: ...
    @property
    def adopts(self) -> bool: ...
    @property
    def resource_of(self) -> Callable[[ObjectKey], Resource]: ...
    async def last_managers(self, key: ObjectKey) -> tuple[str, ...]: ...


class ServingSecrets:
    """The Secrets of all deployments, by one label-selected watch of their metadata, or by one for each namespace.

    `on_change(uid of the deployment)` is called for what another client did to one of them, not for our own writes:
    the answers to those are taken in first (`observe`). No data of a Secret is ever in memory here.
    """

    def __init__(
        self,
        client: Client,
        *,
        on_change: Callable[[str], None],
        on_restore: OnRestore | None = None,
        by_namespace: bool = False,
    ) -> None:
        """The client of the operator: it sees the Secrets of every deployment. Start and stop `informer`.

        `by_namespace`: it may see those of some namespaces only, each of which is watched from the first `watch` on;
        there is no `informer` then.
        """
        self.is_by_namespace = by_namespace
        self.informer = None if by_namespace else self._informer(client, "", on_restore)
        self._by_namespace: dict[str, Informer] = {}
        self._users: dict[str, set[str]] = {}  # uids of deployments, by namespace
        self._new = partial(self._informer, client, on_restore=on_restore)
        self._on_change = on_change
        self._seen: dict[ObjectKey, Metadata] = {}
        self._stopping = set[asyncio.Task[None]]()

    def watch(self, uid: str, namespaces: Iterable[str]) -> None:
        """Show the Secrets of these namespaces, which a deployment uses, until it has `ended`."""
        for namespace in namespaces if self.is_by_namespace else ():
            self._users.setdefault(namespace, set()).add(uid)
            if namespace not in self._by_namespace:
                informer = self._by_namespace[namespace] = self._new(namespace)
                informer.start()

    def ended(self, uid: str) -> None:
        """The deployment is gone: what it alone has used is not watched any more."""
        for users in self._users.values():
            users.discard(uid)
        for namespace in [namespace for namespace, users in self._users.items() if not users]:
            del self._users[namespace]
            stopping = asyncio.create_task(self._by_namespace.pop(namespace).stop())
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)
            for key in [key for key in self._seen if key.namespace == namespace]:
                del self._seen[key]

    async def close(self) -> None:
        """Stop the watches of single namespaces."""
        for informer in self._by_namespace.values():
            await informer.stop()
        await asyncio.gather(*self._stopping)

    def informers(self) -> Iterator[Informer]:
        yield from (self.informer,) if self.informer is not None else self._by_namespace.values()

    def is_synced(self, namespace: str) -> bool:
        """Whether the watch has shown the Secrets of the namespace, and may still see them."""
        informer = self.informer if self.informer is not None else self._by_namespace.get(namespace)
        return informer is not None and informer.synced.is_set() and not self.refusal(namespace)

    def refusal(self, namespace: str) -> str:
        """The answer of the server where single namespaces are watched, and this one may not be; else empty."""
        informer = self._by_namespace.get(namespace)
        status = informer.status if informer is not None else None
        return status.refusal if status is not None and status.is_denied else ""

    def may_be_unseen(self, uid: str) -> bool:
        """Whether the deployment may have Secrets in a namespace that is not watched yet."""
        return self.is_by_namespace and not any(uid in users for users in self._users.values())

    def get(self, key: ObjectKey) -> Metadata | None:
        return self._seen.get(key)

    def of(self, uid: str) -> list[tuple[ObjectKey, Metadata]]:
        """The Secrets that this deployment controls."""
        return [(key, metadata) for key, metadata in self._seen.items() if _owner(metadata) == uid]

    def expiries(self) -> Iterator[tuple[ObjectKey, str, str]]:
        """Each Secret, the uid of the deployment that controls it, and when its certificate expires, as it says."""
        for key, metadata in tuple(self._seen.items()):
            yield key, _owner(metadata), metadata.annotations.get(CERTIFICATE_EXPIRY_ANNOTATION, "")

    def observe(self, key: ObjectKey, metadata: Metadata) -> None:
        """The answer to a write or a read of our own."""
        known = self._seen.get(key)
        if known is None or known.uid != metadata.uid or known.version < metadata.version:
            self._seen[key] = _without_fields(metadata)

    def gone(self, key: ObjectKey, uid: str) -> None:
        """The server said that this one is not there any more."""
        known = self._seen.get(key)
        if known is not None and known.uid == uid:
            del self._seen[key]

    def _informer(self, client: Client, namespace: str, on_restore: OnRestore | None) -> Informer:
        return Informer(
            client,
            SECRETS,
            namespace=namespace,
            label_selector=SERVING_CERTIFICATE_LABEL,
            keep=False,
            on_change=self._changed,
            on_restore=on_restore,
        )

    def _changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        known = self._seen.get(key)
        if new is None:
            if known is not None and (old is None or known.uid == old.metadata.uid):
                del self._seen[key]
                self._on_change(_owner(known))
            return
        went_back = old is not None and new.metadata.version < old.metadata.version  # etcd was restored
        is_known = known is not None and known.uid == new.metadata.uid and known.version >= new.metadata.version
        if is_known and not went_back:
            return
        self._seen[key] = _without_fields(new.metadata)
        for uid in {_owner(metadata) for metadata in (known, new.metadata) if metadata is not None} - {""}:
            self._on_change(uid)


def _without_fields(metadata: Metadata) -> Metadata:
    """Raw parts keep the bytes alive that they came in: of a whole Secret, its private key."""
    return msgspec.structs.replace(metadata, sent_managed_fields=None)


def _owner(metadata: Metadata) -> str:
    return metadata.controller.uid if metadata.controller is not None else ""


@dataclass(slots=True)
class KnownSecrets:
    """The Secrets of one deployment as they were read last, without their keys."""

    read: dict[ObjectKey, StoredSecret] = field(default_factory=dict)
    unseen: set[ObjectKey] = field(default_factory=set)  # names that are taken, and that the watch does not show

    def forget(self, key: ObjectKey, *, is_taken: bool) -> None:
        """The server says that there is none, or that there is one or another version (`is_taken`)."""
        self.read.pop(key, None)
        if is_taken:
            self.unseen.add(key)
        else:
            self.unseen.discard(key)


class SecretStore:
    def __init__(self, secrets: ServingSecrets, known: KnownSecrets, target: CertificateTarget) -> None:
        self._secrets = secrets
        self._known = known
        self._target = target

    async def read(self, wanted: WantedCertificate) -> StoredSecret | None:
        """None: there is none. `ConflictError`: it is another owner's."""
        key = wanted.secret
        seen, known = self._secrets.get(key), self._known.read.get(key)
        if seen is not None and known is not None and (known.uid, known.version) == (seen.uid, seen.version):
            return known
        if seen is None and self._secrets.is_synced(key.namespace) and key not in self._known.unseen:
            return None
        json = await self._get(key)
        if json is None:
            self._known.forget(key, is_taken=False)
            if seen is not None:
                self._secrets.gone(key, seen.uid)
            return None
        return self._taken_in(wanted, json)

    async def issue(self, wanted: WantedCertificate, found: StoredSecret | None, issued: Issued) -> bool:
        target = self._target
        if found is not None:
            return await self.write(wanted, issued_again(found, target.owner, issued))
        key, body = wanted.secret, new_secret(wanted, target.owner, issued)
        try:
            created = await target.client.create(SECRETS, key.namespace, body, field_manager=target.owner.ca_manager)
        except AlreadyExistsError:
            self._known.forget(key, is_taken=True)
            return False
        self._taken_in(wanted, created.json or body)
        return True

    async def write(self, wanted: WantedCertificate, body: bytes) -> bool:
        key, target = wanted.secret, self._target
        try:
            answer = await target.client.patch(
                SECRETS, key.namespace, key.name, body, field_manager=target.owner.ca_manager
            )
        except (StaleError, NotFoundError):
            self._known.forget(key, is_taken=True)
            return False
        self._secrets.observe(key, answer.metadata)
        return True

    async def switch(self, wanted: WantedCertificate, found: StoredSecret) -> bool:
        """Serve the next pair. Its key is read for this alone."""
        json = await self._get(wanted.secret)
        if json is None or self._taken_in(wanted, json) != found:
            return False
        return await self.write(wanted, switched(found, next_pair(json)))

    async def _get(self, key: ObjectKey) -> bytes | None:
        try:
            return await self._target.client.get(SECRETS, key.namespace, key.name)
        except NotFoundError:
            return None

    def _taken_in(self, wanted: WantedCertificate, json: bytes) -> StoredSecret:
        found = read_secret(json, self._target.owner, adopts=self._target.adopts)
        if found is None:
            raise not_ours(wanted)
        self._known.unseen.discard(wanted.secret)
        self._known.read[wanted.secret] = found
        self._secrets.observe(wanted.secret, decode_metadata(json))
        return found

"""Reads and writes the Secrets of serving certificates of one deployment, with its identity.

A Secret is read once for each version of it. Where the watch shows none, it is created without a look: the server says
when the name is taken, and only then it is read. Every other write names the uid and the version that was judged;
False means that somebody was faster and it has to be looked at again.
"""

from dataclasses import dataclass, field

from rukpak_py.apply.serving_certificates.secret import (
    StoredSecret,
    issued_again,
    new_secret,
    next_pair,
    not_ours,
    read_secret,
    switched,
)
from rukpak_py.apply.serving_certificates.steps import Issued
from rukpak_py.apply.serving_certificates.wanted import ServingCertificate
from rukpak_py.apply.serving_certificates.watching import ServingSecrets
from rukpak_py.apply.target import Target
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from rukpak_py.kube.metadata import decode_metadata
from rukpak_py.kube.resources import SECRETS


@dataclass(slots=True)
class KnownSecrets:
    """The Secrets of one deployment as they were read last, without their keys."""

    _read: dict[ObjectKey, StoredSecret] = field(default_factory=dict)
    _unseen: set[ObjectKey] = field(default_factory=set)  # names that are taken, and that the watch does not show

    def get(self, key: ObjectKey) -> StoredSecret | None:
        return self._read.get(key)

    def is_unseen(self, key: ObjectKey) -> bool:
        return key in self._unseen

    def read(self, key: ObjectKey, found: StoredSecret) -> None:
        self._unseen.discard(key)
        self._read[key] = found

    def taken(self, key: ObjectKey) -> None:
        """The server says that there is one, or another version."""
        self._read.pop(key, None)
        self._unseen.add(key)

    def free(self, key: ObjectKey) -> None:
        """The server says that there is none."""
        self._read.pop(key, None)
        self._unseen.discard(key)


class SecretStore:
    def __init__(self, secrets: ServingSecrets, known: KnownSecrets, target: Target) -> None:
        self._secrets = secrets
        self._known = known
        self._target = target

    async def read(self, wanted: ServingCertificate) -> StoredSecret | None:
        """None: there is none. `ConflictError`: it is somebody else's."""
        key = wanted.secret
        seen, known = self._secrets.get(key), self._known.get(key)
        if seen is not None and known is not None and (known.uid, known.version) == (seen.uid, seen.version):
            return known
        if seen is None and self._secrets.is_synced and not self._known.is_unseen(key):
            return None
        json = await self._get(key)
        if json is None:
            self._known.free(key)
            if seen is not None:
                self._secrets.gone(key, seen.uid)
            return None
        return self._taken_in(wanted, json)

    async def issue(self, wanted: ServingCertificate, found: StoredSecret | None, issued: Issued) -> bool:
        target = self._target
        if found is not None:
            return await self.write(wanted, issued_again(found, target.owner, issued))
        key, body = wanted.secret, new_secret(wanted, target.owner, issued)
        try:
            created = await target.client.create(SECRETS, key.namespace, body, field_manager=target.owner.ca_manager)
        except AlreadyExistsError:
            self._known.taken(key)
            return False
        self._taken_in(wanted, created.json or body)
        return True

    async def write(self, wanted: ServingCertificate, body: bytes) -> bool:
        key, target = wanted.secret, self._target
        try:
            answer = await target.client.patch(
                SECRETS, key.namespace, key.name, body, field_manager=target.owner.ca_manager
            )
        except (StaleError, NotFoundError):
            self._known.taken(key)
            return False
        self._secrets.observe(key, answer.metadata)
        return True

    async def switch(self, wanted: ServingCertificate, found: StoredSecret) -> bool:
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

    def _taken_in(self, wanted: ServingCertificate, json: bytes) -> StoredSecret:
        found = read_secret(json, self._target.owner, adopts=self._target.adopts)
        if found is None:
            raise not_ours(wanted)
        self._known.read(wanted.secret, found)
        self._secrets.observe(wanted.secret, decode_metadata(json))
        return found

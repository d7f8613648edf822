"""Reads and writes the Secrets of serving certificates, with the identity of the deployment.

A Secret is read once for each version of it. Where the watch shows none, it is created without a look: the server says
when the name is taken, and only then it is read. Every other write names the uid and the version that was judged;
False means that somebody was faster and it has to be looked at again.
"""

from collections.abc import Iterable

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


class SecretStore:
    def __init__(self, secrets: ServingSecrets) -> None:
        self._secrets = secrets
        self._known: dict[ObjectKey, StoredSecret] = {}
        self._unseen: set[ObjectKey] = set()  # names that are taken, and that the watch does not show

    def forget(self, keys: Iterable[ObjectKey]) -> None:
        for key in keys:
            self._known.pop(key, None)
            self._unseen.discard(key)

    async def read(self, target: Target, wanted: ServingCertificate) -> StoredSecret | None:
        """None: there is none. `ConflictError`: it is somebody else's."""
        key = wanted.secret
        seen, known = self._secrets.get(key), self._known.get(key)
        if seen is not None and known is not None and (known.uid, known.version) == (seen.uid, seen.version):
            return known
        if seen is None and self._secrets.is_synced and key not in self._unseen:
            return None
        json = await self._get(target, key)
        if json is None:
            self._unseen.discard(key)
            if seen is not None:
                self._secrets.gone(key, seen.uid)
            return None
        return self._taken_in(target, wanted, json)

    async def issue(
        self, target: Target, wanted: ServingCertificate, found: StoredSecret | None, issued: Issued
    ) -> bool:
        if found is not None:
            return await self.write(target, wanted, issued_again(found, target.owner, issued))
        key, body = wanted.secret, new_secret(wanted, target.owner, issued)
        try:
            created = await target.client.create(SECRETS, key.namespace, body, field_manager=target.owner.ca_manager)
        except AlreadyExistsError:
            self._unseen.add(key)
            return False
        self._taken_in(target, wanted, created.json or body)
        return True

    async def write(self, target: Target, wanted: ServingCertificate, body: bytes) -> bool:
        key = wanted.secret
        try:
            answer = await target.client.patch(
                SECRETS, key.namespace, key.name, body, field_manager=target.owner.ca_manager
            )
        except (StaleError, NotFoundError):
            self._known.pop(key, None)
            self._unseen.add(key)
            return False
        self._secrets.observe(key, answer.metadata)
        return True

    async def switch(self, target: Target, wanted: ServingCertificate, found: StoredSecret) -> bool:
        """Serve the next pair. Its key is read for this alone."""
        json = await self._get(target, wanted.secret)
        if json is None or self._taken_in(target, wanted, json) != found:
            return False
        return await self.write(target, wanted, switched(found, next_pair(json)))

    async def _get(self, target: Target, key: ObjectKey) -> bytes | None:
        try:
            return await target.client.get(SECRETS, key.namespace, key.name)
        except NotFoundError:
            return None

    def _taken_in(self, target: Target, wanted: ServingCertificate, json: bytes) -> StoredSecret:
        found = read_secret(json, target.owner, adopts=target.adopts)
        if found is None:
            raise not_ours(wanted)
        self._unseen.discard(wanted.secret)
        self._known[wanted.secret] = found
        self._secrets.observe(wanted.secret, decode_metadata(json))
        return found

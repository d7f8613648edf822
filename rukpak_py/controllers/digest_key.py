"""The controllers' `DigestKeys`: one key, in a Secret of the system namespace that is made when it is needed first.

Every leader reads the same Secret, so digests outlive processes and replicas. A Secret that is deleted under a running
operator comes back with the key that the operator remembers. A key that is lost for good costs that digests in
statuses cannot be compared any more, see `api.options.recognised` for what follows, and that no record of what the
admission policies have judged is believed.
"""

import asyncio

from rukpak_py.api.names import DIGEST_KEY_SECRET
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.keyed_digests import KEY_BYTES, DigestKey
from rukpak_py.kube.secrets import OwnSecrets

_FIELD = "key"
_TRIES = 3  # another client may write it, too


class DigestKeySecret:
    def __init__(self, secrets: OwnSecrets) -> None:
        self._secrets = secrets
        self._key: DigestKey | None = None
        self._is_stored = False  # as far as this process has heard
        self._turn = asyncio.Lock()

    async def get(self) -> DigestKey:
        async with self._turn:
            if self._key is None or not self._is_stored:
                self._key = await self._stored()
                self._is_stored = True
            return self._key

    def deleted(self) -> None:
        """The Secret is gone."""
        self._is_stored = False

    async def restore(self) -> None:
        """Make the Secret again when it is gone; nothing where no key was needed yet."""
        if self._key is not None:
            await self.get()

    async def _stored(self) -> DigestKey:
        key = self._key or DigestKey.new()
        for _ in range(_TRIES):
            found, wanted = await self._secrets.read(DIGEST_KEY_SECRET), {_FIELD: key.secret}
            if found is None:
                is_written = await self._secrets.create(DIGEST_KEY_SECRET, wanted)
            elif len(stored := found.secret_data().get(_FIELD, b"")) == KEY_BYTES:
                return DigestKey(stored)
            else:
                version = found.metadata.resource_version
                is_written = await self._secrets.replace(DIGEST_KEY_SECRET, wanted, version)
            if is_written:
                return key
        raise UnavailableError(f"another client keeps changing the Secret {DIGEST_KEY_SECRET} of the operator")

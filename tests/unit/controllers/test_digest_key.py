"""One key for all replicas and restarts, made when it is needed first, and put back when its Secret goes."""

import asyncio
import base64
from collections.abc import Mapping, Sequence

import pytest

from rukpak_py.controllers.digest_key import DigestKeySecret
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.secrets import OwnSecrets, StoredObject


class FakeSecrets(OwnSecrets):
    """`rivals` write first, one each time that we want to."""

    def __init__(
        self, stored: dict[str, Mapping[str, bytes]] | None = None, *, rivals: Sequence[Mapping[str, bytes]] = ()
    ) -> None:
        self.stored = stored or {}
        self.rivals = list(rivals)
        self.writes = 0

    async def read(self, name: str) -> StoredObject | None:
        await asyncio.sleep(0)
        if name not in self.stored:
            return None
        data = {key: base64.b64encode(value).decode() for key, value in self.stored[name].items()}
        return StoredObject(metadata=Metadata(resource_version="1"), sent_data=data)

    async def create(self, name: str, data: Mapping[str, bytes]) -> bool:
        return await self.replace(name, data, "")

    async def replace(self, name: str, data: Mapping[str, bytes], _version: str) -> bool:
        if self.rivals:
            self.stored[name] = self.rivals.pop()
            return False
        self.writes += 1
        self.stored[name] = data
        return True


async def test_a_key_is_made_once_and_found_by_the_next_process() -> None:
    secrets = FakeSecrets()
    keys = DigestKeySecret(secrets)
    first = await asyncio.gather(*(keys.get() for _ in range(3)))
    assert await DigestKeySecret(secrets).get() == first[0]
    assert (len(set(first)), secrets.writes) == (1, 1)


async def test_a_key_of_a_faster_process_is_used() -> None:
    keys = DigestKeySecret(FakeSecrets(rivals=[{"key": b"r" * 32}]))
    assert (await keys.get()).secret == b"r" * 32


async def test_a_deleted_secret_comes_back_with_the_same_key() -> None:
    secrets = FakeSecrets()
    keys = DigestKeySecret(secrets)
    await keys.restore()
    assert secrets.stored == {}, "no key was needed yet"
    before = await keys.get()
    secrets.stored.clear()
    keys.deleted()
    await keys.restore()
    assert await DigestKeySecret(secrets).get() == before


@pytest.mark.parametrize("data", [{}, {"key": b""}, {"key": b"short"}, {"other": b"x" * 32}])
async def test_a_damaged_secret_is_written_anew(data: dict[str, bytes]) -> None:
    secrets = FakeSecrets({"rukpak-digest-key": data})
    assert {"key": (await DigestKeySecret(secrets).get()).secret} == secrets.stored["rukpak-digest-key"]


async def test_a_secret_that_never_comes_to_rest_is_told() -> None:
    with pytest.raises(UnavailableError, match="rukpak-digest-key"):
        await DigestKeySecret(FakeSecrets(rivals=[{}] * 9)).get()

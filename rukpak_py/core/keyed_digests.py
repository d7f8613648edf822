"""Digests of what is secret, for places that many may read: a status, for instance.

The SHA-256 of a weak password can be guessed. So these are HMACs, and only who has the key can tell what they are of.
A digest begins with the id of its key: `hmac-sha256:1f0e6b2c:…`. Two digests under different keys cannot be compared:
they may be of the same thing.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final, Self

KEY_BYTES: Final = 32
_SCHEME: Final = "hmac-sha256"
_ID_DIGITS: Final = 8
_LENGTH_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class DigestKey:
    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        return cls(secrets.token_bytes(KEY_BYTES))

    @property
    def id(self) -> str:
        return hashlib.sha256(b"id of a key" + self.secret).hexdigest()[:_ID_DIGITS]

    def digest(self, *parts: bytes) -> str:
        """Each part has its length in front, so that no other parts give the same."""
        framed = b"".join(len(part).to_bytes(_LENGTH_BYTES) + part for part in parts)
        return f"{_SCHEME}:{self.id}:{hmac.new(self.secret, framed, hashlib.sha256).hexdigest()}"


def key_id(digest: str) -> str:
    """Id of the key that a digest was made with; empty for a plain digest."""
    scheme, _, rest = digest.partition(":")
    return rest.partition(":")[0] if scheme == _SCHEME else ""


def are_comparable(one: str, other: str) -> bool:
    """False: they were made with different keys, so they differ whatever they are of."""
    return key_id(one) == key_id(other)

"""Which Secrets are the operator's own: no source and no `valuesFrom` may name them, whatever the settings are.

Those with a constant name are refused by it, before anything is read. A copy under another name keeps the labels of
the operator. The Secrets of serving certificates have names that content chooses; the signer marks each of them. A
token for the API server is refused by its type: what it opens is no source.
"""

from collections.abc import Mapping
from typing import Final

from rukpak_py.api.names import (
    CERTIFICATE_EXPIRY_ANNOTATION,
    DIGEST_KEY_SECRET,
    MANAGED_BY_LABEL,
    OPERATOR_MANAGER,
    OPERATOR_PART,
    PART_OF_LABEL,
    SERVING_CERTIFICATE_LABEL,
    SecretName,
)

OWN_SECRET_NAMES: Final = frozenset({*map(str, SecretName), DIGEST_KEY_SECRET})
OWN_SECRET_LABELS: Final = {PART_OF_LABEL: OPERATOR_PART, MANAGED_BY_LABEL: OPERATOR_MANAGER}
_TOKEN_TYPE: Final = "kubernetes.io/service-account-token"  # noqa: S105 - a type of Secrets


def own_by_name(name: str) -> str:
    """Why a Secret of the system namespace may not be named, for the user; empty when its name says nothing."""
    return _refusal(name, "keys or certificates of the operator") if name in OWN_SECRET_NAMES else ""


def own_by_marks(name: str, *, kind: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The same for what its type (`kind`), labels and annotations say."""
    if kind == _TOKEN_TYPE:
        return _refusal(name, "a token for the API server")
    if OWN_SECRET_LABELS.items() <= labels.items():
        return _refusal(name, "keys or certificates of the operator")
    if SERVING_CERTIFICATE_LABEL in labels or CERTIFICATE_EXPIRY_ANNOTATION in annotations:
        return _refusal(name, "a serving certificate that the operator issued")
    return ""


def _refusal(name: str, what: str) -> str:
    return f"Secret {name} holds {what}, so nothing may refer to it: name another Secret"

"""The policies of one installation: all of them, those that guard identities, and the revision in their answers.

Names never change: a policy under a new name would leave a gap, or stand beside its predecessor for ever.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import msgspec

from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, PLAIN_CLASS
from rukpak_py.api.policies import accounts, operator_only, secrets
from rukpak_py.api.policies.document import IN_FORCE, PROBE, Document, Token, binding
from rukpak_py.api.upgrades import Approval

T = TypeVar("T", Document, str)

REVISION_LENGTH = 16


# In classic mode a Warning: manifests of the original work as they are.
SECRETS_ACTIONS = {Mode.CLASSIC: "Warn", Mode.NARROW: "Deny"}


@dataclass(frozen=True, kw_only=True)
class Installation:
    """Values that the policies of a cluster depend on, as the chart and the flags of the operator say."""

    system_namespace: str
    mode: Mode = Mode.CLASSIC
    default_account: str = ""
    least_approval: Approval = Approval.AUTOMATIC

    @property
    def values(self) -> Mapping[Token, str]:
        return {
            Token.SYSTEM_NAMESPACE: self.system_namespace,
            Token.MODE: self.mode,
            Token.DEFAULT_ACCOUNT: self.default_account,
            Token.LEAST_APPROVAL: self.least_approval,
            Token.SECRETS_ACTION: SECRETS_ACTIONS[self.mode],
        }

    def policies(self) -> list[Document]:
        """All policies and bindings."""
        return _filled(with_tokens(), self.values)

    def guards(self) -> list[Document]:
        """Policies and bindings without which no account is impersonated."""
        return _filled(_guards_with_tokens(), self.values)

    @property
    def answer(self) -> str:
        """Text with which they refuse a probe."""
        (text,) = _filled([IN_FORCE], {**self.values, Token.REVISION: revision()})
        return text


@cache
def revision() -> str:
    """Digest of the guards, before the values of an installation."""
    documents = msgspec.json.encode([accounts.accounts(), operator_only.operator_only()], order="sorted")
    return hashlib.sha256(documents).hexdigest()[:REVISION_LENGTH]


def with_tokens() -> list[Document]:
    """All documents as the chart has them: with the revision, and tokens for the values of an installation."""
    return [*_guards_with_tokens(), secrets.secrets(), binding(secrets.NAME, Token.SECRETS_ACTION)]


def probes() -> list[Document]:
    """Objects that the guards refuse to every user: one for each of them."""
    source = {"type": "image", "image": {"ref": "rukpak.invalid/probe:v1"}}
    content = {"provisionerClassName": PLAIN_CLASS, "source": source}
    deployment = {"provisionerClassName": PLAIN_CLASS, "template": {"spec": content}}
    return [
        {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": PROBE}, "spec": spec}
        for kind, spec in ((BUNDLE_DEPLOYMENT_KIND, deployment), (BUNDLE_KIND, content))
    ]


def _guards_with_tokens() -> list[Document]:
    guards = [
        accounts.accounts(),
        binding(accounts.NAME, "Deny"),
        operator_only.operator_only(),
        binding(operator_only.NAME, "Deny"),
    ]
    return _filled(guards, {Token.REVISION: revision()})


def _filled(documents: Sequence[T], values: Mapping[Token, str]) -> list[T]:
    """The values are names: they need no quotes, in JSON or in CEL."""
    text = msgspec.json.encode(documents).decode()
    for token, value in values.items():
        text = text.replace(token, value)
    filled: list[T] = msgspec.json.decode(text)
    return filled

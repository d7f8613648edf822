"""Why a Namespace that is being deleted does not go, as the namespace controller says in its conditions."""

import msgspec

from rukpak_py.core.nesting import decoded
from rukpak_py.core.text import excerpt
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import NAMESPACES

# In the order of what has to be repaired first: while kinds cannot be discovered, no Namespace goes at all.
FAILURES = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceFinalizersRemaining",
    "NamespaceContentRemaining",
)
TEXT_CHARACTERS = 300


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    message: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None


class _Namespace(msgspec.Struct, frozen=True):
    status: _Status = _Status()


_NAMESPACE = msgspec.json.Decoder(_Namespace)


async def deletion_failures(client: Client, name: str) -> list[str]:
    """Empty: it is gone, says nothing, or may not be read."""
    try:
        status = decoded(_NAMESPACE, await client.get(NAMESPACES, "", name)).status
    except ApiError:
        return []
    said = {one.type: one.message for one in status.conditions or () if one.status == "True"}
    return [f"Namespace {name}: {excerpt(said[kind], TEXT_CHARACTERS)}" for kind in FAILURES if said.get(kind)]

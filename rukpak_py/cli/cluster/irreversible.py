"""Effects that a rollback does not undo, as far as the status of a deployment and the cluster tell.

A hook that ran has changed what only it knows. A CustomResourceDefinition keeps the versions that objects are stored
in, and its objects the fields that they have got since. All requests have the rights of the caller.
"""

from collections.abc import Iterator

import msgspec

from rukpak_py.api.bundle_deployment import BundleDeployment, Installation
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, OWNER_KIND_LABEL, OWNER_NAME_LABEL
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.text import named
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CRDS


class _CrdStatus(msgspec.Struct, frozen=True, rename="camel"):
    stored_versions: tuple[str, ...] = ()


class _Crd(msgspec.Struct, frozen=True):
    status: _CrdStatus = _CrdStatus()


async def irreversible(client: Client, deployment: BundleDeployment, entry: Installation) -> list[str]:
    """Lines. None of them: nothing like that is known."""
    return [*_hooks(deployment), *await _definitions(client, deployment), *_values(entry)]


def _hooks(deployment: BundleDeployment) -> Iterator[str]:
    for record in deployment.status.hooks:
        yield f"hook {record.key} ({record.event}) has run ({record.result.lower()}): what it changed stays changed"


async def _definitions(client: Client, deployment: BundleDeployment) -> list[str]:
    if not any(kind.group_kind == CRDS.group_kind for kind in deployment.status.kinds):
        return []
    selector = f"{OWNER_KIND_LABEL}={BUNDLE_DEPLOYMENT_KIND},{OWNER_NAME_LABEL}={deployment.metadata.name}"
    try:
        found = (await client.list_metadata(CRDS, label_selector=selector)).items
        return [await _definition(client, one.key.name) for one in sorted(found, key=lambda one: one.key)]
    except RukPakError as error:
        return [f"its CustomResourceDefinitions cannot be read ({error}): whether they were changed is not known"]


async def _definition(client: Client, name: str) -> str:
    definition = msgspec.json.decode(await client.get(CRDS, "", name), type=_Crd)
    stored = named(definition.status.stored_versions) or "none"
    return (
        f"CustomResourceDefinition {name}: objects are stored as {stored}; a revision without one of these versions is"
        " refused, and fields that its schema lacks are lost"
    )


def _values(entry: Installation) -> Iterator[str]:
    for one in entry.options.values_from if entry.options is not None else ():
        place = f"{one.namespace}/{one.name}" if one.namespace else one.name
        yield f"values of {one.kind} {place}, key {one.key}: those that it has today are used"

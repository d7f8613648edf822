"""Deletes what left the plan: one request per object, by uid and resourceVersion.

An object that changed since it was seen answers 409 and is looked at: with another owner, or an annotation that keeps
it, it stays; a status that moved does not save it.
A delete that is denied is reported, and the object is simply still there: the next look finds it.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import msgspec

from rukpak_py.api.names import APPLIED_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL, OWNER_UID_ANNOTATION
from rukpak_py.apply.live import Live, live_of
from rukpak_py.apply.refusals import failure_of
from rukpak_py.apply.results import Carried
from rukpak_py.apply.target import Target, at_once
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import KindNotServedError, NotFoundError, StaleError

LOOKS = 3  # at an object that moves while it is to be deleted


async def prune(client: Client, target: Target, lives: Iterable[Live], carried: Carried) -> None:
    """In the order given, kind by kind: what was built on others goes before them."""
    for _, group in groupby(lives, key=lambda live: live.gvk.group_kind):
        await at_once(lambda live: delete(client, target, live, carried), [one for one in group if not one.is_deleted])


async def delete(client: Client, target: Target, live: Live, carried: Carried) -> None:
    try:
        await _delete(client, target, live)
    except (NotFoundError, KindNotServedError):
        pass  # gone already: what we wanted
    except RukPakError as error:
        carried.failures.append(failure_of(live.key, error))
        return
    target.memory.forget(live.key)
    carried.pruned.append(live.key)


async def _delete(client: Client, target: Target, live: Live) -> None:
    resource = target.resource_of(live.key)
    for attempt in range(LOOKS + 1):
        try:
            await client.delete(
                resource,
                live.key.namespace,
                live.key.name,
                uid=live.uid,
                resource_version=str(live.version),
                propagation="Background",
            )
        except StaleError:
            now = live_of(live.key, live.gvk, await client.get_metadata(resource, live.key.namespace, live.key.name))
            if attempt == LOOKS or _grounds(now) != _grounds(live):
                raise
            live = now
        else:
            return


def _grounds(live: Live) -> tuple[str, str, bool, bool]:
    """Why it may be deleted."""
    return live.uid, live.owner_uid, live.outlives, live.never_prune


async def let_go(client: Client, target: Target, live: Live, carried: Carried) -> None:
    """Take our marks off an object that must stay: it belongs to nobody from then on."""
    marks = {
        "labels": {OWNER_KIND_LABEL: None, OWNER_NAME_LABEL: None},
        "annotations": {OWNER_UID_ANNOTATION: None, APPLIED_ANNOTATION: None},
    }
    await _release(client, target, live, marks, carried)


async def orphan(client: Client, target: Target, live: Live, carried: Carried) -> None:
    """As the collector does: the labels stay, so that a deployment of the same name may take the object again."""
    await _release(client, target, live, {}, carried)


async def _release(client: Client, target: Target, live: Live, marks: dict[str, Any], carried: Carried) -> None:
    """Take our owner reference off, and these marks."""
    try:
        resource = target.resource_of(live.key)
        metadata = await client.get_metadata(resource, live.key.namespace, live.key.name)
        if metadata.uid != live.uid:
            return
        others = [msgspec.to_builtins(one) for one in metadata.owner_references if one.uid != target.owner.uid]
        identity = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
        body = {"metadata": {**identity, **marks, "ownerReferences": others or None}}
        await client.patch(resource, live.key.namespace, live.key.name, canonical_json(body))
    except (NotFoundError, KindNotServedError):
        pass
    except RukPakError as error:
        carried.failures.append(failure_of(live.key, error))
        return
    target.memory.forget(live.key)

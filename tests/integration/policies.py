"""The admission policies of identities on a control plane of a test: in force, and gone again.

They count for a whole cluster, so only tests that have their worker's control plane (`plane`) to themselves install
them, and remove them at their end. `Tenant` does both: before its first deployment with an account, or by its fixture
`policies`, which takes less time before an operator starts than after. In the shared cluster they stand as long as its
operator runs.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime

import orjson

from rukpak_py.api.names import BUNDLE_KIND
from rukpak_py.api.policies.document import POLICY_KIND, Document
from rukpak_py.api.policies.installation import Installation, probes
from rukpak_py.controllers.policy_guard import SETTLE_SECONDS
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError, NotFoundError
from rukpak_py.kube.resources import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    BUNDLE_DEPLOYMENTS,
    BUNDLES,
    Resource,
)
from tests.integration.listing import listed
from tests.waiting import eventually

MANAGER = "tests"


def resource_of(document: Document) -> Resource:
    return ADMISSION_POLICIES if document["kind"] == POLICY_KIND else ADMISSION_POLICY_BINDINGS


async def apply_policies(admin: Client, documents: Iterable[Document]) -> None:
    for one in documents:
        name = one["metadata"]["name"]
        await admin.apply(resource_of(one), "", name, orjson.dumps(one), field_manager=MANAGER, force=True)


async def install_policies(admin: Client, installation: Installation) -> None:
    """They are in force when this returns: the API server takes changes up once a second.

    The guards, which a probe sees, are last: the API server sees changes of a kind in their order, so it has taken up
    the policy of Secrets too, which no probe sees.
    """
    await apply_policies(admin, reversed(installation.policies()))

    async def are_in_force() -> bool:
        return all(installation.answer in answer for answer in await probe_answers(admin))

    await eventually(are_in_force, what="the policies are in force")


async def until_policies_settle(admin: Client) -> None:
    """Wait: they are known to judge each account that is named afterwards. Server times have no fractions."""
    guards = await listed(admin, ADMISSION_POLICIES) + await listed(admin, ADMISSION_POLICY_BINDINGS)
    created = (datetime.fromisoformat(one["metadata"]["creationTimestamp"]).timestamp() for one in guards)
    await asyncio.sleep(max(created) + SETTLE_SECONDS + 2 - time.time())


async def remove_policies(admin: Client, documents: Sequence[Document]) -> None:
    """None of them refuses anything when this returns."""
    for one in sorted(documents, key=lambda one: one["kind"], reverse=True):  # bindings first
        with suppress(NotFoundError):
            await admin.delete(resource_of(one), "", one["metadata"]["name"])
    await until_none_refuses(admin)


async def until_none_refuses(admin: Client) -> None:
    async def none_refuses() -> bool:
        return not any(await probe_answers(admin))

    await eventually(none_refuses, what="the policies refuse nothing any more")


async def probe_answers(admin: Client) -> list[str]:
    """How the probes of the operator are refused; empty for one that is not."""
    answers: list[str] = []
    for one in probes():
        resource = BUNDLES if one["kind"] == BUNDLE_KIND else BUNDLE_DEPLOYMENTS
        try:
            await admin.create(resource, "", orjson.dumps(one), dry_run=True)
        except ForbiddenError as error:
            answers.append(error.message)
        else:
            answers.append("")
    return answers

"""Reads of one caller. A refusal is an answer: `Unread`, with the words of the API server.

What ends the whole check is raised: no connection, and credentials that the API server does not take.
"""

from collections.abc import Iterable

import msgspec
import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.permissions.review import access_attributes
from rukpak_py.cli.checks.results import Answer, Json, Seen, Unread
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, NotFoundError, ServerUnavailableError, UnauthorizedError
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import SELF_ACCESS_REVIEWS, SUBJECT_ACCESS_REVIEWS, Resource

PAGE = 250


class _Status(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _Status = msgspec.field(default_factory=_Status)


class Reader:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def read(self, resource: Resource, namespace: str, name: str) -> Seen:
        try:
            found: Json = orjson.loads(await self.client.get(resource, namespace, name))
        except NotFoundError:
            return None
        except ApiError as error:
            return unread(error)
        return found

    async def metadata(self, resource: Resource, namespace: str, name: str) -> Metadata | Unread | None:
        try:
            return await self.client.get_metadata(resource, namespace, name)
        except NotFoundError:
            return None
        except ApiError as error:
            return unread(error)

    async def every(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[bytes] | Unread:
        """Whole objects."""
        params = {"labelSelector": labels} if labels else {}
        found: list[LiveObject] = []
        try:
            async for page in self.client.list_by_page(resource, namespace, params=params, page=PAGE, full=True):
                found += page.items
        except ApiError as error:
            return unread(error)
        return [one.json or b"{}" for one in found]

    async def listed(self, resource: Resource, *, labels: str = "") -> list[Metadata] | Unread:
        try:
            found = await self.client.list_metadata(resource, label_selector=labels)
        except ApiError as error:
            return unread(error)
        return [one.metadata for one in found.items]

    async def may(self, permission: Permission) -> Answer:
        """Whether the caller has the permission."""
        return await self._allowed(SELF_ACCESS_REVIEWS, access_attributes(permission))

    async def may_account(self, account: Account, permission: Permission) -> Answer:
        """Whether a service account has it; a question that takes a right of its own."""
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{account.namespace}", "system:authenticated"]
        who = {"user": account.user, "groups": groups}
        return await self._allowed(SUBJECT_ACCESS_REVIEWS, {**who, **access_attributes(permission)})

    async def may_account_all(self, account: Account, permissions: Iterable[Permission]) -> dict[Permission, Answer]:
        found: dict[Permission, Answer] = {}

        async def ask(permission: Permission) -> None:
            found[permission] = await self.may_account(account, permission)

        await run_bounded(ask, sorted(permissions))
        return found

    async def _allowed(self, resource: Resource, spec: Json) -> Answer:
        body = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, "spec": spec}
        try:
            answer = await self.client.review(resource, canonical_json(body))
        except ApiError as error:
            return unread(error)
        return msgspec.json.decode(answer, type=_Review).status.allowed


def unread(error: ApiError) -> Unread:
    if isinstance(error, UnauthorizedError) or (isinstance(error, ServerUnavailableError) and not error.status):
        raise error
    return Unread(why=error.message)

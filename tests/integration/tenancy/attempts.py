"""Attempts of users to get past the admission policies: each with its setting, its user and the expected answer.

A refusal is expected with its text. Each one that is refused in narrow mode is tried once more while the policies only
warn (`warned`): there it goes through, with the same text as a warning, so the policy alone refuses it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import aiohttp
import orjson
import pytest

from rukpak_py.api.accounts import Mode
from rukpak_py.api.names import API_VERSION, GROUP
from rukpak_py.api.policies.document import Document
from rukpak_py.api.policies.installation import Installation
from rukpak_py.api.upgrades import Approval
from rukpak_py.kube.client import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from rukpak_py.kube.config import Connection
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, BUNDLES
from tests.integration.tenancy.users import ADMIN, user_name
from tests.manifests import manifest

KINDS = {one.gvk.kind: one for one in (BUNDLES, BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES)}
SETTINGS = ("narrow", "classic", "default", "approving", "warned")
DEAD_UID = "00000000-0000-4000-8000-000000000000"
CLASS = "core-rukpak-io-plain"


def installation_of(setting: str, mark: str) -> Installation:
    mode = Mode.CLASSIC if setting == "classic" else Mode.NARROW
    account = "installer" if setting == "default" else ""
    least = Approval.WHEN_SAFE if setting == "approving" else Approval.AUTOMATIC
    return Installation(system_namespace=f"system-{mark}", mode=mode, default_account=account, least_approval=least)


def documents_of(setting: str, mark: str) -> list[Document]:
    documents = installation_of(setting, mark).policies()
    if setting == "warned":
        for one in documents:
            if "validationActions" in one["spec"]:
                one["spec"]["validationActions"] = ["Warn"]
    return documents


class Answer(NamedTuple):
    status: int
    text: str  # of the refusal
    warnings: Sequence[str]
    body: Document

    @property
    def is_success(self) -> bool:
        return self.status < 300


class Expected(NamedTuple):
    """`policy` empty: the request goes through."""

    policy: str = ""
    text: str = ""
    action: str = "Deny"


OK = Expected()


def accounts(text: str) -> Expected:
    return Expected("rukpak-accounts", text)


RUNS = accounts("it runs as service account team-a/installer; changing or deleting it needs the verb impersonate")
RUNS_AS_OPERATOR = accounts("it runs as the operator itself, service account system/core-admin; changing or deleting")
WOULD_RUN = accounts("it would run as service account team-a/installer; that needs the verb impersonate")
WOULD_RUN_ELSEWHERE = accounts("it would run as service account team-b/installer; that needs the verb impersonate")
WOULD_RUN_AS_OPERATOR = accounts("it would run as the operator itself, service account system/core-admin, because")
MOVES = accounts("spec.installNamespace is half of the identity and cannot change while there is a service account")
SETS_APPROVED = accounts("setting the annotation core.rukpak.io/approved needs the verb approve on")
CHANGES_RULES = accounts("changing spec.upgrades or spec.crdSafety needs the verb approve on")
ASKS_FOR_LESS = accounts("asking for less than spec.upgrades.approval: WhenSafe needs the verb approve on")
CHECKS_LESS = accounts("asking for less than spec.crdSafety: Enforce needs the verb approve on")
CREATES_OWNED = accounts("its upgrades wait for an approval; creating it with owner references needs the verb approve")
WAY_AROUND = accounts("its upgrades wait for an approval; deleting it, and changing its owner references, its")
PROBED = "the policies of rukpak are in force: revision"
STATUS = Expected("rukpak-operator-only", "the operator alone writes the status")
OWNED = Expected("rukpak-operator-only", "the operator alone writes the labels, owner references and finalizers")
SECRET = Expected("rukpak-secrets", "of namespace system, which needs the verb get on that Secret")


@dataclass(kw_only=True)
class Room:
    """Means of one attempt: a name of its own, requests as any user, objects that the cluster's admin makes."""

    session: aiohttp.ClientSession
    connection: Connection
    mark: str
    name: str
    left: dict[str, Document] = field(default_factory=dict)  # by path: objects that were written

    async def ask(
        self, user: str, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> Answer:
        headers = {"Content-Type": content_type}
        if user != ADMIN:
            headers["Impersonate-User"] = user_name(user, self.mark)
        tls = self.connection.tls or True
        data = None if body is None else orjson.dumps(body)
        url = self.connection.server + path
        async with self.session.request(method, url, data=data, headers=headers, ssl=tls) as answer:
            found = orjson.loads(await answer.read())
            text = found.get("message", "") if answer.status >= 300 else ""
            return Answer(answer.status, text, answer.headers.getall("Warning", []), found)

    # --- objects

    def deployment(
        self, account: str = "installer", namespace: str = "team-a", *, kind: str = "BundleDeployment", **more: Any
    ) -> Document:
        """`secret`: the pull secret of its source; `metadata`: beside the name."""
        spec: Document = {
            "provisionerClassName": CLASS,
            "template": {"spec": {"provisionerClassName": CLASS, "source": source(more.pop("secret", ""))}},
            **({"installNamespace": f"{namespace}-{self.mark}"} if namespace else {}),
            **({"serviceAccountName": account} if account else {}),
        }
        metadata = {"name": self.name, **more.pop("metadata", {})}
        return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec | more}

    def bundle(self, secret: str = "", **metadata: Any) -> Document:
        body = manifest(
            API_VERSION, "Bundle", self.name, spec={"provisionerClassName": CLASS, "source": source(secret)}
        )
        body["metadata"] |= metadata
        return body

    def labels(self) -> dict[str, str]:
        return {f"{GROUP}/owner-kind": "BundleDeployment", f"{GROUP}/owner-name": self.name}

    async def made(self, body: Document) -> Document:
        """Create it as the cluster's admin; the object as the server has it."""
        answer = await self.create(ADMIN, body)
        assert answer.is_success, answer.text
        return answer.body

    async def base(self, *arguments: Any, **more: Any) -> Document:
        return await self.made(self.deployment(*arguments, **more))

    async def live(self, body: Document) -> Document | None:
        answer = await self.ask(ADMIN, "GET", path(body))
        return answer.body if answer.is_success else None

    # --- requests

    async def create(self, user: str, body: Document, query: str = "") -> Answer:
        return await self.ask(user, "POST", collection(body) + query, body)

    async def apply(self, user: str, body: Document) -> Answer:
        return await self.ask(user, "PATCH", f"{path(body)}?fieldManager=applier", body, APPLY_PATCH)

    async def patch(self, user: str, body: Document, change: object, subresource: str = "") -> Answer:
        content_type = JSON_PATCH if isinstance(change, list) else MERGE_PATCH
        return await self.ask(user, "PATCH", path(body) + subresource, change, content_type)

    async def replace(self, user: str, body: Document, subresource: str = "") -> Answer:
        return await self.ask(user, "PUT", path(body) + subresource, body)

    async def delete(self, user: str, body: Document, query: str = "") -> Answer:
        return await self.ask(user, "DELETE", path(body) + query)


def path(body: Document) -> str:
    return f"{collection(body)}/{body['metadata']['name']}"


def collection(body: Document) -> str:
    return f"/apis/{API_VERSION}/{KINDS[body['kind']].plural}"


def source(secret: str = "") -> Document:
    return {"type": "image", "image": {"ref": "example.com/bundle:1", **({"pullSecret": secret} if secret else {})}}


def owner(live: Document | None = None, kind: str = "BundleDeployment", **more: Any) -> Document:
    """Reference to an object; without one, to one that does not exist."""
    metadata = live["metadata"] if live is not None else {"name": "gone", "uid": DEAD_UID}
    named = {"apiVersion": API_VERSION, "kind": live["kind"] if live is not None else kind}
    return {**named, "name": metadata["name"], "uid": metadata["uid"], **more}


def note(**annotations: str | None) -> Document:
    """Patch of annotations of ours."""
    ours = {f"{GROUP}/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return {"metadata": {"annotations": ours}}


# --- the table

Try = Callable[[Room, str], Awaitable[Answer]]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    setting: str
    user: str
    what: str
    expected: Expected
    do: Try

    @property
    def id(self) -> str:
        return f"{self.setting}-{self.user or 'cluster admin'}-{self.what}"


class Table(list[Attempt]):
    def add(self, settings: str, user: str, expected: Expected, what: str) -> Callable[[Try], Try]:
        """Decorate what is tried; `settings` in which the same is expected."""

        def added(do: Try) -> Try:
            for setting in settings.split():
                attempt = Attempt(setting=setting, user=user, what=what, expected=expected, do=do)
                self.append(attempt)
                if setting == "narrow" and expected.policy:
                    warned = expected._replace(action="Warn")
                    self.append(replace(attempt, setting="warned", expected=warned))
            return do

        return added

    def params(self) -> list[Any]:
        """Grouped by setting: each is installed once per module."""
        ordered = sorted(self, key=lambda one: SETTINGS.index(one.setting))
        return [pytest.param(one.setting, one, id=one.id) for one in ordered]


def check(attempt: Attempt, answer: Answer, mark: str) -> None:
    expected, text = attempt.expected, answer.text.replace(f"-{mark}", "")
    warnings = [one.replace(f"-{mark}", "") for one in answer.warnings]
    if expected.policy and expected.action == "Deny":
        assert answer.status == 403, answer
        assert f"ValidatingAdmissionPolicy '{expected.policy}' with binding '{expected.policy}' denied" in text
        assert expected.text in text
        return
    assert answer.is_success, answer
    of_policies = [one for one in warnings if "ValidatingAdmissionPolicy" in one]
    if expected.policy:
        assert any(expected.policy in one and expected.text in one for one in of_policies), warnings
    else:
        assert not of_policies


@asynccontextmanager
async def room_of(connection: Connection, mark: str, name: str) -> AsyncIterator[Room]:
    """Everything that was written is gone in the end."""
    async with aiohttp.ClientSession() as session:
        room = Room(session=session, connection=connection, mark=mark, name=name)
        yield room
        for path_, body in room.left.items():
            if body["metadata"].get("finalizers"):
                await room.patch(ADMIN, body, {"metadata": {"finalizers": None}})
            await room.ask(ADMIN, "DELETE", path_)

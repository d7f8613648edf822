"""Attempts to have sources use Secrets of the system namespace, against the policy of Secrets."""

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.policies.document import Document
from tests.integration.tenancy import attempts as to
from tests.integration.tenancy.attempts import Answer, Attempt, Room, Table, check, source

TABLE = Table()
OPERATOR = "system/core-admin"
GIT = {"type": "git", "git": {"repository": "https://example.com/a.git", "ref": {"branch": "main"}}}
HTTP = {"type": "http", "http": {"url": "https://example.com/a.tgz"}}


def with_source(body: Document, member: Document) -> Document:
    """The same with another source, which names a Secret of tina for its login."""
    kind = member["type"]
    within = body["spec"].get("template", body)["spec"]
    within["source"] = {**member, kind: {**member[kind], "auth": {"secret": {"name": "hers"}}}}
    return body


def image(change: Document) -> Document:
    return {"spec": {"template": {"spec": {"source": {"image": change}}}}}


@TABLE.add("narrow", "bob", to.OK, "names a Secret that he may get")
@TABLE.add("narrow", "ada", to.OK, "a cluster admin names any Secret")
async def _own(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle("his"))


@TABLE.add("narrow", "bob", to.SECRET, "names another Secret")
@TABLE.add("classic", "bob", to.SECRET._replace(action="Warn"), "names another Secret")
async def _other(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle("hers"))


@TABLE.add("narrow", "bob", to.SECRET, "names another Secret for git")
async def _git(room: Room, user: str) -> Answer:
    return await room.create(user, with_source(room.bundle(), GIT))


@TABLE.add("narrow", "bob", to.SECRET, "names another Secret for http")
async def _http(room: Room, user: str) -> Answer:
    return await room.create(user, with_source(room.bundle(), HTTP))


@TABLE.add("narrow", "bob", to.SECRET, "names a Secret that does not exist")
async def _missing(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle("nothing"))


@TABLE.add("narrow", "tina", to.OK, "names a Secret that she may get in a template")
async def _own_in_template(room: Room, user: str) -> Answer:
    return await room.create(user, with_source(room.deployment(), GIT))


@TABLE.add("narrow", "tina", to.SECRET, "names another Secret in a template")
async def _other_in_template(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(secret="his"))


@TABLE.add("narrow", "tina", to.SECRET, "names another Secret in a BundleInstance")
async def _other_in_instance(room: Room, user: str) -> Answer:
    return await room.create(user, room.deployment(kind="BundleInstance", secret="his"))


@TABLE.add("narrow", "tina", to.SECRET, "changes the address beside another's Secret")
async def _address(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(secret="his"), image({"ref": "evil.example.com/x:1"}))


@TABLE.add("narrow", "tina", to.SECRET, "changes the account beside another's Secret")
async def _account(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(secret="his"), {"spec": {"serviceAccountName": "builder"}})


@TABLE.add("narrow", "tina", to.OK, "suspends one with another's Secret")
async def _suspend(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(secret="his"), {"spec": {"suspend": True}})


@TABLE.add("narrow", "tina", to.OK, "takes another's Secret away")
async def _take_away(room: Room, user: str) -> Answer:
    return await room.patch(user, await room.base(secret="his"), image({"pullSecret": None}))


@TABLE.add("narrow", OPERATOR, to.OK, "the operator creates the Bundle of a template with a Secret")
async def _operator(room: Room, user: str) -> Answer:
    return await room.create(user, room.bundle("his", labels=room.labels()))


@pytest.mark.parametrize(("setting", "attempt"), TABLE.params(), indirect=["setting"])
async def test_attempt(plane: ControlPlane, setting: str, attempt: Attempt, room: Room) -> None:
    check(attempt, await attempt.do(room, attempt.user), room.mark)


@pytest.mark.parametrize("setting", ["narrow"], indirect=True)
async def test_a_refusal_names_the_secret(plane: ControlPlane, setting: str, room: Room) -> None:
    answer = await room.create("bob", {**room.bundle(), "spec": {**room.bundle()["spec"], "source": source("hers")}})
    assert "its source names Secret hers of namespace" in answer.text

"""Access of callers: the reviews that are asked for, the answers that are remembered, and for how long."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.server.access import (
    ALLOWED_SECONDS,
    REVIEWS,
    AccessControl,
    ApiReviews,
    ClientCredentials,
    ForbiddenPathError,
    Identity,
    UnauthenticatedError,
    identity_of,
    token_of,
)

ANN = Identity(user="ann", groups=("readers",))
CERTIFICATE = {"subject": ((("organizationName", "a"),), (("organizationName", "b"),), (("commonName", "ann"),))}


@dataclass
class Server(ApiReviews):
    """An API server with its answers, and how often it was asked."""

    users: dict[str, Identity] = field(default_factory=lambda: {"t": ANN})
    allowed: bool = True
    asked: list[str] = field(default_factory=list)
    now: float = 0.0
    under_way: int = 0
    most: int = 0
    is_down: bool = False

    async def authenticate(self, token: str) -> Identity | None:
        self.asked.append(f"who is {token}")
        if self.is_down:
            raise UnavailableError("down")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return self.users.get(token)

    async def is_allowed(self, identity: Identity, verb: str, path: str) -> bool:
        self.asked.append(f"may {identity.user} {verb} {path}")
        return self.allowed


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def access(server: Server) -> AccessControl:
    return AccessControl(server, clock=lambda: server.now)


TOKEN = ClientCredentials(token="t")


async def test_a_yes_is_remembered_for_a_while_and_for_one_path(server: Server, access: AccessControl) -> None:
    assert await access.check(TOKEN, "GET", "/a") == ANN
    assert server.asked == ["who is t", "may ann get /a"]
    server.now = ALLOWED_SECONDS - 0.1
    assert await access.check(TOKEN, "GET", "/a") == ANN
    assert await access.check(TOKEN, "HEAD", "/a") == ANN
    assert len(server.asked) == 2
    await access.check(TOKEN, "GET", "/b")
    await access.check(TOKEN, "PUT", "/a")
    assert server.asked[3::2] == ["may ann get /b", "may ann update /a"]
    server.now = ALLOWED_SECONDS
    await access.check(TOKEN, "GET", "/a")
    assert len(server.asked) == 8


async def test_a_no_is_not_remembered_and_ends_every_yes_c17(server: Server, access: AccessControl) -> None:
    await access.check(TOKEN, "GET", "/a")
    server.allowed = False
    for _ in range(2):
        with pytest.raises(ForbiddenPathError, match=r"Forbidden \(user=ann, verb=get, resource=, subresource=\)"):
            await access.check(TOKEN, "GET", "/b")
    with pytest.raises(ForbiddenPathError):
        await access.check(TOKEN, "GET", "/a")
    server.allowed = True
    assert await access.check(TOKEN, "GET", "/a") == ANN


async def test_a_token_that_has_ended_ends_every_yes_c17(server: Server, access: AccessControl) -> None:
    await access.check(TOKEN, "GET", "/a")
    server.users.clear()
    for path in ("/b", "/a"):
        with pytest.raises(UnauthenticatedError):
            await access.check(TOKEN, "GET", path)


@pytest.mark.parametrize("user", ["", " ", "\t"])
async def test_a_token_of_an_empty_user_is_unauthenticated_c8(server: Server, access: AccessControl, user: str) -> None:
    server.users["t"] = Identity(user=user)
    with pytest.raises(UnauthenticatedError):
        await access.check(TOKEN, "GET", "/a")
    assert server.asked == ["who is t"]


async def test_without_a_token_the_server_is_not_asked(server: Server, access: AccessControl) -> None:
    with pytest.raises(UnauthenticatedError):
        await access.check(ClientCredentials(), "GET", "/a")
    assert not server.asked


async def test_a_certificate_needs_no_review_of_a_token(server: Server, access: AccessControl) -> None:
    bob = Identity(user="bob")
    assert await access.check(ClientCredentials(certificate=bob, token="t"), "DELETE", "/a") == bob
    assert server.asked == ["may bob delete /a"]
    await access.check(ClientCredentials(certificate=Identity(user="carol")), "DELETE", "/a")
    assert server.asked[1:] == ["may carol delete /a"], "what was allowed to one is not allowed to another"


async def test_a_server_that_does_not_answer_allows_nothing(server: Server, access: AccessControl) -> None:
    server.is_down = True
    with pytest.raises(UnavailableError):
        await access.check(TOKEN, "GET", "/a")


async def test_strangers_do_not_take_all_places(server: Server, access: AccessControl) -> None:
    checks = (access.check(ClientCredentials(token=str(number)), "GET", "/a") for number in range(100))
    results = await asyncio.gather(*checks, return_exceptions=True)
    assert all(isinstance(result, UnauthenticatedError) for result in results)
    assert server.most == REVIEWS


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        (["Bearer abc"], "abc"),
        (["bearer  abc "], "abc"),
        (["Basic abc"], ""),
        (["Bearer"], ""),
        (["Bearer a b"], ""),
        (["Bearer a\x00b"], ""),
        (["Bearer \udc80"], ""),
        (["Bearer abc", "Bearer abc"], ""),
        ([], ""),
    ],
)
def test_tokens_are_read_from_headers_c17(headers: list[str], token: str) -> None:
    assert token_of(headers) == token


def test_certificates_name_user_and_groups() -> None:
    assert identity_of(CERTIFICATE) == Identity(user="ann", groups=("a", "b", "system:authenticated"))
    assert identity_of({"subject": ((("organizationName", "system:masters"),),)}) is None
    assert identity_of({}) is None
    assert identity_of(None) is None


@dataclass
class Reviewing(ApiReviews):
    """The attributes of access reviews."""

    attributes: list[Mapping[str, object]] = field(default_factory=list)

    async def _review(self, _identity: Identity, attributes: Mapping[str, object]) -> bool:
        self.attributes.append(attributes)
        return True


@pytest.mark.parametrize("report", ["permissions", "plans"])
async def test_reports_on_a_deployment_are_for_users_who_may_read_it(report: str) -> None:
    reviews = Reviewing()
    assert await reviews.is_allowed(ANN, "get", f"/{report}/shop")
    about = {"group": "core.rukpak.io", "resource": "bundledeployments", "name": "shop", "verb": "get"}
    assert reviews.attributes == [{"resourceAttributes": about}]
    assert not await reviews.is_allowed(ANN, "get", f"/{report}/"), "a review without a name asks for all of them"


async def test_content_is_for_users_who_may_read_its_path() -> None:
    reviews = Reviewing()
    assert await reviews.is_allowed(ANN, "get", "/bundles/b.tgz")
    assert reviews.attributes == [{"nonResourceAttributes": {"path": "/bundles/b.tgz", "verb": "get"}}]

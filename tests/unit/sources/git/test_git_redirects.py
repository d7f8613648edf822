"""Redirects: followed on the same host, never with credentials to another, never to an address that is not checked."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from aiohttp import web

from rukpak_py.api.source_types import GitRef
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.git.access import GitAccess
from rukpak_py.sources.git.checkout import Checkout
from rukpak_py.sources.git.remote import Remote, parse_remote, revision_of
from rukpak_py.sources.git.source import memory_of_all
from tests.git_fetching import LOOPBACK, NAME, fetched, git_source
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer, git_web_server
from tests.source_secrets import Secrets
from tests.workers import SPOOL, WORKERS

FILES = {"manifests/a.yaml": b"a: 1\n"}
LOGIN = ("jane", "opensesame")
SECRETS = Secrets(s={"username": b"jane", "password": b"opensesame"})


@pytest.fixture
def moved(git_repository: Repository, git_web: GitWebServer) -> GitWebServer:
    """The repository is at /combo.git, and asked for at /combo."""
    git_repository.commit(FILES)
    git_web.login = LOGIN
    return git_web


def redirect(server: GitWebServer, location: str) -> None:
    async def answer(request: web.Request) -> web.Response | None:
        if request.path.startswith(f"/{NAME}/"):
            return None
        return web.Response(status=301, headers={"Location": location.format(query=request.query_string)})

    server.answer = answer


async def fetch_moved(server: GitWebServer) -> dict[str, bytes]:
    source = git_source(server.url("combo"), ca_bundle=server.ca_bundle, branch="main", secret="s")
    result = await fetched(source, secrets=SECRETS)
    assert result.resolved.git is not None
    assert result.resolved.git.repository == server.url("combo")
    return dict(result.tree)


@pytest.mark.parametrize("absolute", [True, False])
async def test_a_repository_that_moved_on_its_host(moved: GitWebServer, *, absolute: bool) -> None:
    redirect(moved, f"{moved.url('') if absolute else '/'}{NAME}/info/refs?{{query}}")
    assert await fetch_moved(moved) == FILES


async def test_a_login_is_checked_again_where_a_redirect_leads(moved: GitWebServer) -> None:
    """The login may be bound to the port that was asked first."""
    redirect(moved, f"/{NAME}/info/refs?{{query}}")
    seen: list[Remote] = []

    def refuse(remote: Remote) -> None:
        seen.append(remote)
        raise AccessError("not there")

    access = GitAccess(user=LOGIN[0], password=LOGIN[1], ca_bundle=moved.ca_bundle, check=refuse)
    remote = parse_remote(moved.url("combo"))
    with ThreadPoolExecutor() as threads:
        checkout = Checkout(
            remote,
            revision_of(GitRef(branch="main")),
            access,
            addresses=LOOPBACK,
            limits=DEFAULT_LIMITS,
            threads=threads,
            workers=WORKERS,
            spool=SPOOL,
            memory=memory_of_all(DEFAULT_LIMITS),
        )
        try:
            with pytest.raises(AccessError, match="not there"):
                await checkout.fetch()
        finally:
            checkout.close()
    assert [one.url for one in seen] == [moved.url(NAME)]
    assert not [request for request in moved.requests if request.path.startswith(f"/{NAME}/")]


async def test_c13_redirect_to_another_host_is_refused(moved: GitWebServer, git_repository: Repository) -> None:
    async with git_web_server(git_repository.path.parent) as other:
        redirect(moved, f"{other.url(NAME, '127.0.0.1')}/info/refs?{{query}}")
        with pytest.raises(ContentError) as error:
            await fetch_moved(moved)
        assert other.requests == []
    assert str(error.value) == (
        f"bundle unpack git clone error: {moved.url('combo')}: redirects to another host or protocol are not followed; "
        f"if it is right, set repository to 'https://127.0.0.1/{NAME}'"
    )


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/info/refs",
        "https://169.254.169.254/latest/info/refs",
        "https://kubernetes.default.svc/info/refs",
        "http://localhost/combo.git/info/refs",
        "file:///etc/info/refs",
        "ftp://localhost/x/info/refs",
        "ext::sh -c touch% /tmp/x/info/refs",
    ],
)
async def test_c13_no_other_place(moved: GitWebServer, location: str) -> None:
    redirect(moved, location)
    with pytest.raises((ContentError, AccessError)):
        await fetch_moved(moved)


@pytest.mark.parametrize(
    "location", ["http://[::1/info/refs", "https://[x]/combo.git/info/refs", "https://localhost:99999/x/info/refs"]
)
async def test_a_location_that_is_not_a_url(moved: GitWebServer, location: str) -> None:
    redirect(moved, location)
    with pytest.raises(UnavailableError) as error:
        await fetch_moved(moved)
    assert str(error.value) == (
        f"bundle unpack git clone error: {moved.url('combo')}: what the server redirects to is not a valid URL"
    )


async def test_redirect_to_a_login_page_is_refused(moved: GitWebServer) -> None:
    redirect(moved, "/users/sign_in")
    with pytest.raises(AccessError, match=r"the server redirects to .*/users/sign_in', which is not a repository"):
        await fetch_moved(moved)


async def test_c13_a_loop_ends(moved: GitWebServer) -> None:
    redirect(moved, "/again/info/refs?{query}")
    with pytest.raises(ContentError, match="more than 5 redirects"):
        await fetch_moved(moved)
    assert len(moved.requests) < 20


async def test_c13_a_redirect_of_the_second_request(moved: GitWebServer, git_repository: Repository) -> None:
    """The redirect comes for the pack, after the refs: git does not follow, wherever it leads."""
    async with git_web_server(git_repository.path.parent) as other:

        async def answer(request: web.Request) -> web.Response | None:
            if request.method == "GET":
                return None
            return web.Response(status=307, headers={"Location": f"{other.url(NAME)}/git-upload-pack"})

        moved.answer = answer
        with pytest.raises((ContentError, AccessError)):
            await fetch_moved(moved)
        assert other.requests == []

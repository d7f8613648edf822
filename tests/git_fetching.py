"""Fetching from the git servers of tests: the source as the operator has it, with loopback addresses allowed."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import Authorization, GitRef, GitSource, SecretReference
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.git.source import GitFetcher
from rukpak_py.sources.logins import LoginPolicy
from rukpak_py.sources.source import Fetched, FetchRequest
from tests import workers
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer, git_web_server
from tests.source_secrets import STRICT, Secrets, Warnings, logins

LOOPBACK = AddressPolicy(allowed=(ip_network("127.0.0.0/8"), ip_network("::1/128")))
NAME = "combo.git"


def git_source(
    repository: str,
    *,
    directory: str = "",
    secret: str = "",
    insecure_skip_verify: bool = False,
    ca_bundle: str = "",
    ref: GitRef | None = None,
    **one: str,
) -> Source:
    """`one`: of branch, tag and commit."""
    auth = Authorization(secret=SecretReference(name=secret), insecure_skip_verify=insecure_skip_verify)
    spec = GitSource(
        repository=repository, directory=directory, ref=ref or GitRef(**one), auth=auth, ca_bundle=ca_bundle
    )
    return Source(type="git", git=spec)


def request(source: Source, **more: Any) -> FetchRequest:
    return FetchRequest(bundle="combo", uid="1", source=source, **more)


def fetcher(
    *,
    secrets: Secrets | None = None,
    limits: Limits = DEFAULT_LIMITS,
    addresses: AddressPolicy = LOOPBACK,
    policy: LoginPolicy = STRICT,
    warn: Warnings | None = None,
    **more: Any,
) -> GitFetcher:
    given: dict[str, Any] = {"workers": workers.WORKERS, "spool": workers.SPOOL} | more
    return GitFetcher(logins(secrets, policy, warn=warn), addresses=addresses, limits=limits, **given)


async def fetched(source: Source, **given: Any) -> Fetched:
    return await fetcher(**given).fetch(request(source))


async def fetched_from(web: GitWebServer, *, secrets: Secrets | None = None, **given: Any) -> Fetched:
    """Over https from the repository of the fixture; by default the branch main."""
    if not {"branch", "tag", "commit"} & given.keys():
        given["branch"] = "main"
    own = {key: given.pop(key) for key in ("limits", "addresses", "policy", "warn") if key in given}
    return await fetched(git_source(web.url(NAME), ca_bundle=web.ca_bundle, **given), secrets=secrets, **own)


@pytest.fixture
def git_repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "served" / NAME)


@pytest.fixture
async def git_web(git_repository: Repository) -> AsyncIterator[GitWebServer]:
    async with git_web_server(git_repository.path.parent) as server:
        yield server

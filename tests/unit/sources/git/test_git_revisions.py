"""Branches, tags and commits from the real git over https: what is fetched, and what it is pinned to."""

import os
import re
from collections import Counter
from dataclasses import replace

import pytest

from rukpak_py.api.source_types import GitRef
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.git import checkout
from tests.git_fetching import fetched, fetched_from, git_source
from tests.git_repositories import Link, Repository
from tests.git_web_server import GitWebServer

FILES = {"manifests/a.yaml": b"a: 1\r\n", "README.md": b"$Id$\n"}


def commit_of(result: object) -> str:
    source = result.resolved.git  # type: ignore[attr-defined]
    assert re.fullmatch("[0-9a-f]{40}", source.ref.commit)
    assert source.ref == GitRef(commit=source.ref.commit)
    return str(source.ref.commit)


async def test_a_branch_is_its_newest_commit(git_repository: Repository, git_web: GitWebServer) -> None:
    git_repository.commit({"old": b""})
    newest = git_repository.commit(FILES)
    result = await fetched_from(git_web, branch="main")
    assert dict(result.tree) == FILES
    assert commit_of(result) == newest


async def test_bytes_are_those_that_were_committed(git_repository: Repository, git_web: GitWebServer) -> None:
    """No end of line, no keyword and no export rule changes them; `git archive` and a checkout would."""
    files = FILES | {".gitattributes": b"* text=auto ident\nREADME.md export-ignore\n", "bin": bytes(range(256))}
    git_repository.commit(files)
    assert dict((await fetched_from(git_web)).tree) == files


async def test_a_pinned_source_stays_at_its_commit(git_repository: Repository, git_web: GitWebServer) -> None:
    git_repository.commit(FILES)
    first = await fetched_from(git_web, branch="main")
    git_repository.commit({"new": b""})
    again = await fetched(first.resolved)
    assert again.tree == first.tree
    assert again.resolved == first.resolved


@pytest.mark.parametrize("annotated", [False, True])
async def test_a_tag_is_pinned_to_its_commit(
    git_repository: Repository, git_web: GitWebServer, *, annotated: bool
) -> None:
    tagged = git_repository.commit(FILES)
    git_repository.git("tag", *(["--annotate", "--message=x"] if annotated else []), "v0.0.1", tagged)
    git_repository.commit({"new": b""})
    result = await fetched_from(git_web, tag="v0.0.1")
    assert dict(result.tree) == FILES
    assert commit_of(result) == tagged


@pytest.mark.parametrize("length", [40, 12, 7])
@pytest.mark.parametrize("protocol", ["version=2", "version=0"])
async def test_a_commit_by_its_hash_or_the_start_of_it(
    git_repository: Repository, git_web: GitWebServer, length: int, protocol: str
) -> None:
    wanted = git_repository.commit(FILES)
    git_repository.commit({"new": b""})
    git_web.protocol = protocol  # version 0 sends what has a name only
    result = await fetched_from(git_web, commit=wanted[:length].upper())
    assert dict(result.tree) == FILES
    assert commit_of(result) == wanted


@pytest.mark.parametrize("length", [40, 12])
async def test_a_commit_that_only_a_tag_has(git_repository: Repository, git_web: GitWebServer, length: int) -> None:
    git_repository.commit({"main": b""})
    wanted = git_repository.commit(FILES, branch="gone")
    git_repository.commit({"newer": b""}, branch="gone")
    git_repository.git("tag", "v1", "gone")
    git_repository.git("branch", "--delete", "--force", "gone")
    result = await fetched_from(git_web, commit=wanted[:length])
    assert dict(result.tree) == FILES
    assert commit_of(result) == wanted


async def test_no_ref_is_the_default_branch(git_repository: Repository, git_web: GitWebServer) -> None:
    wanted = git_repository.commit(FILES, branch="trunk")
    git_repository.commit({"main": b""})
    git_repository.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    source = git_source(git_web.url("combo.git"), ca_bundle=git_web.ca_bundle)
    assert commit_of(await fetched(source)) == wanted


@pytest.mark.parametrize(("kind", "folder"), [("branch", "heads"), ("tag", "tags")])
async def test_a_name_that_is_missing(
    git_repository: Repository, git_web: GitWebServer, kind: str, folder: str
) -> None:
    git_repository.commit(FILES)
    url = git_web.url("combo.git")
    with pytest.raises(UnavailableError) as error:
        await fetched(git_source(url, ca_bundle=git_web.ca_bundle, ref=GitRef(**{kind: "no"})))
    assert str(error.value) == (
        f'bundle unpack git clone error: couldn\'t find remote ref "refs/{folder}/no": '
        f"repository '{url}' has no {kind} \"no\""
    )


@pytest.mark.parametrize("protocol", ["version=2", "version=0"])
@pytest.mark.parametrize("commit", ["f" * 40, "ffff"])
async def test_a_commit_that_is_missing(
    git_repository: Repository, git_web: GitWebServer, commit: str, protocol: str
) -> None:
    git_repository.commit(FILES)
    git_web.protocol = protocol
    with pytest.raises(ContentError) as error:
        await fetched_from(git_web, commit=commit)
    assert str(error.value) == (
        f"checkout commit \"{commit}\": repository '{git_web.url('combo.git')}' has no such commit"
    )


async def test_the_start_of_a_hash_does_not_cost_the_files_of_the_history(
    git_repository: Repository, git_web: GitWebServer
) -> None:
    """The server can leave them out, as those of the well-known hosts can."""
    git_repository.git("config", "uploadpack.allowFilter", "true")
    git_repository.commit({"large": os.urandom(2_000_000)})
    wanted = git_repository.commit(FILES)
    git_repository.commit({"large": os.urandom(2_000_000)})
    result = await fetched_from(git_web, commit=wanted[:10], limits=replace(DEFAULT_LIMITS, git_bytes=1_000_000))
    assert dict(result.tree) == FILES
    assert commit_of(result) == wanted


async def test_an_old_git_gets_the_files_of_the_history_too(
    git_repository: Repository, git_web: GitWebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old git cannot be told to leave a repository with gaps as it is."""
    monkeypatch.setattr(checkout, "knows_no_lazy_fetch", lambda: False)
    commit = git_repository.commit(FILES)
    result = await fetched_from(git_web, commit=commit[:8])
    assert dict(result.tree) == FILES
    assert commit_of(result) == commit


@pytest.mark.parametrize("given", ["branch", "tag", "commit", "start"])
async def test_a_repository_with_sha_256(git_web: GitWebServer, given: str) -> None:
    repository = Repository.create(git_web.root / "new.git", object_format="sha256")
    wanted = repository.commit(FILES | {"link": Link("README.md")})
    repository.git("tag", "v1", wanted)
    name = {"branch": "main", "tag": "v1", "commit": wanted, "start": wanted[:10]}[given]
    ref = GitRef(**{given.replace("start", "commit"): name})
    source = git_source(git_web.url("new.git"), ca_bundle=git_web.ca_bundle, ref=ref)
    result = await fetched(source)
    assert dict(result.tree) == FILES | {"link": FILES["README.md"]}
    assert result.resolved.git is not None
    assert result.resolved.git.ref == GitRef(commit=wanted)
    assert len(wanted) == 64
    assert dict((await fetched(result.resolved)).tree) == dict(result.tree)
    with pytest.raises(ContentError, match="has no such commit"):
        await fetched(git_source(git_web.url("new.git"), ca_bundle=git_web.ca_bundle, commit="f" * 40))


async def test_a_start_that_several_commits_have(git_repository: Repository, git_web: GitWebServer) -> None:
    starts = Counter(commit[:4] for commit in git_repository.history(1500))
    start, count = starts.most_common(1)[0]
    assert count > 1  # the hashes are always the same
    with pytest.raises(ContentError, match=f'checkout commit "{start}": several commits start like this'):
        await fetched_from(git_web, commit=start)


async def test_empty_repository_is_refused(git_repository: Repository, git_web: GitWebServer) -> None:
    source = git_source(git_web.url("combo.git"), ca_bundle=git_web.ca_bundle)
    with pytest.raises(UnavailableError, match=r'couldn\'t find remote ref "HEAD": repository .* has no commit yet'):
        await fetched(source)

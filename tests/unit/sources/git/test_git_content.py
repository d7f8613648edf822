"""Files of a commit that are content: directories, links, submodules, and limits that hold before content is read."""

from dataclasses import replace
from typing import Any

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits, variable_of
from rukpak_py.sources.git import command
from tests.git_fetching import fetched_from
from tests.git_repositories import Link, Repository, Submodule
from tests.git_web_server import GitWebServer

DEPLOY = {"dev/deploy/manifests/a.yaml": b"a: 1\n", "dev/deploy/README": b"r", "manifests/root.yaml": b"b: 2\n"}


@pytest.mark.parametrize("directory", ["dev/deploy", "./dev/deploy", "dev/deploy/", "dev//deploy/.", "dev/x/../deploy"])
async def test_scenario_25_a_directory_is_the_root_of_the_bundle(
    git_repository: Repository, git_web: GitWebServer, directory: str
) -> None:
    git_repository.commit(DEPLOY)
    result = await fetched_from(git_web, directory=directory)
    assert dict(result.tree) == {"manifests/a.yaml": b"a: 1\n", "README": b"r"}
    assert result.resolved.git is not None
    assert result.resolved.git.directory == directory


@pytest.mark.parametrize("directory", ["", ".", "./", "./.", "dev/.."])
async def test_p1_ways_to_write_the_root(git_repository: Repository, git_web: GitWebServer, directory: str) -> None:
    git_repository.commit(DEPLOY)
    assert dict((await fetched_from(git_web, directory=directory)).tree) == DEPLOY


@pytest.mark.parametrize("directory", ["a", "ab", "ä"])
async def test_p1_directory_with_a_short_name_is_read(
    git_repository: Repository, git_web: GitWebServer, directory: str
) -> None:
    git_repository.commit({f"{directory}/f": b"1"})
    assert dict((await fetched_from(git_web, directory=directory)).tree) == {"f": b"1"}


@pytest.mark.parametrize("directory", ["..", "../", "../x", "/", "/etc", "a/../..", "//x"])
async def test_c3_a_directory_outside_of_the_repository(
    git_repository: Repository, git_web: GitWebServer, directory: str
) -> None:
    with pytest.raises(ContentError) as error:
        await fetched_from(git_web, directory=directory)
    assert str(error.value) == (
        f'get subdirectory "{directory}" for repository "{git_web.url("combo.git")}": '
        "directory can not start with '../' or '/'"
    )
    assert git_web.requests == []


@pytest.mark.parametrize(
    ("directory", "reason"),
    [
        ("no/such", "there is no such directory in the repository"),
        ("dev/deploy/README", "it is not a directory"),
        ("dev/deploy/README/x", "there is no such directory in the repository"),
        ("vendor", "it is not a directory"),
        ("dev\nHEAD", "there is no such directory in the repository"),
        ("dev\0", "there is no such directory in the repository"),
    ],
)
async def test_a_directory_that_is_missing(
    git_repository: Repository, git_web: GitWebServer, directory: str, reason: str
) -> None:
    git_repository.commit(DEPLOY | {"vendor": Submodule()})
    with pytest.raises(ContentError) as error:
        await fetched_from(git_web, directory=directory)
    url = git_web.url("combo.git")
    assert str(error.value) == f'get subdirectory "{directory}" for repository "{url}": {reason}'


async def test_c12_submodules_and_lfs_are_not_fetched(git_repository: Repository, git_web: GitWebServer) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"
    files = {
        ".gitmodules": b'[submodule "vendor"]\n\tpath = vendor\n\turl = https://localhost:1/x\n',
        ".gitattributes": b"*.bin filter=lfs diff=lfs merge=lfs -text\n",
        "big.bin": pointer,
    }
    git_repository.commit(files | {"vendor": Submodule(), "other/vendor": Submodule()})
    assert dict((await fetched_from(git_web)).tree) == files


async def test_links_are_followed_inside_the_repository(git_repository: Repository, git_web: GitWebServer) -> None:
    git_repository.commit(
        {
            "shared/base/a.yaml": b"a",
            "shared/base/b": Link("./a.yaml"),
            "bundle/manifests": Link("../shared/base"),
            "bundle/one.yaml": Link("manifests/b"),
            "current": Link("bundle/"),
        }
    )
    wanted = {"manifests/a.yaml": b"a", "manifests/b": b"a", "one.yaml": b"a"}
    assert dict((await fetched_from(git_web, directory="bundle")).tree) == wanted
    assert dict((await fetched_from(git_web, directory="current")).tree) == wanted


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("/var/run/secrets/token", "link 'd/l' points out of the repository, to '/var/run/secrets/token'"),
        ("../../x", "link 'd/l' points out of the repository: put a copy in its place"),
        ("../../../../etc/passwd", "link 'd/l' points out of the repository"),
        ("../.git/config", "link 'd/l' points to '../.git/config', which is not in the repository"),
        ("nothing", "link 'd/l' points to 'nothing', which is not in the repository"),
        ("l", "link 'd/l' never ends at a file"),
        (".", "link 'd/l' points to a directory that it lies in"),
        ("..", "link 'd/l' points to a directory that it lies in"),
        ("x" * 5000, "link 'd/l' points nowhere: its target has 5000 bytes"),
    ],
)
async def test_c3_links_that_lead_nowhere_good(
    git_repository: Repository, git_web: GitWebServer, target: str, text: str
) -> None:
    git_repository.commit({"d/l": Link(target), "f": b""})
    with pytest.raises(ContentError) as error:
        await fetched_from(git_web)
    assert str(error.value).startswith(f"bundle unpack error: {text}")


async def test_c10_multiplying_links_end_at_the_limit_of_files(
    git_repository: Repository, git_web: GitWebServer
) -> None:
    """Ten links to ten links to ten …: the count of files ends it."""
    files: dict[str, Any] = {f"l{level}/{n}": Link(f"../l{level + 1}") for level in range(8) for n in range(10)}
    git_repository.commit(files | {"l8/f": b""})
    with pytest.raises(ContentError, match=r"the number of files and directories exceeds the limit of 20000"):
        await fetched_from(git_web)


async def test_c10_links_that_lead_far(git_repository: Repository, git_web: GitWebServer) -> None:
    """Following them to their end took a second each, in a thread that cannot be stopped."""
    far = "/".join(["."] * 2000)
    git_repository.commit({f"l{n}": Link(f"l{n + 1}/{far}") for n in range(39)} | {"l39": b""})
    with pytest.raises(ContentError, match=r"link .* leads too far: through more than 1024 names"):
        await fetched_from(git_web)


async def test_c10_directories_without_end(git_repository: Repository, git_web: GitWebServer) -> None:
    """A link leads through it, so it would be in memory, and so would others: each is a few kilobytes in a pack."""
    blob = git_repository.blob(b"")
    tree = git_repository.git(
        "mktree", stdin="".join(f"100644 blob {blob}\t{n:06}{'x' * 20}\n" for n in range(100_000)).encode()
    )
    link = git_repository.blob(b"large/nothing")
    git_repository.hostile_commit(f"040000 tree {tree}\tlarge\n120000 blob {link}\tl\n")
    with pytest.raises(ContentError, match=r"a directory of the repository has too many entries"):
        await fetched_from(git_web)


async def test_c10_trees_that_multiply(git_repository: Repository, git_web: GitWebServer) -> None:
    """A few objects that stand for ten billion files."""
    entries = "".join(f"100644 blob {git_repository.blob(b'')}\tf{n}\n" for n in range(10))
    for _ in range(9):
        tree = git_repository.git("mktree", stdin=entries.encode())
        entries = "".join(f"040000 tree {tree}\td{n}\n" for n in range(10))
    git_repository.hostile_commit(entries)
    with pytest.raises(ContentError, match=r"the number of files and directories exceeds the limit of 20000"):
        await fetched_from(git_web)


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".git "])
async def test_c10_a_tree_that_writes_into_git(git_repository: Repository, git_web: GitWebServer, name: str) -> None:
    entry = f"100644 blob {git_repository.blob(b'x')}"
    tree = git_repository.git("mktree", stdin=f"{entry}\tconfig\n".encode())
    git_repository.hostile_commit(f"040000 tree {tree}\t{name}\n")
    with pytest.raises(ContentError, match=r"invalid repository - .*hasDotgit"):
        await fetched_from(git_web)


@pytest.mark.parametrize("name", ["..", "."])
async def test_c1_entries_that_lead_out(git_repository: Repository, git_web: GitWebServer, name: str) -> None:
    tree = git_repository.git("mktree", stdin=f"100644 blob {git_repository.blob(b'x')}\tf\n".encode())
    git_repository.hostile_commit(f"040000 tree {tree}\t{name}\n")
    with pytest.raises(ContentError, match=r"invalid repository - .*hasDot"):
        await fetched_from(git_web)


async def test_a_name_with_a_backslash(git_repository: Repository, git_web: GitWebServer) -> None:
    git_repository.hostile_commit(f"100644 blob {git_repository.blob(b'x')}\ta\\b\n")
    with pytest.raises(ContentError, match=r"bundle unpack error: path .* contains a NUL byte or a backslash"):
        await fetched_from(git_web)


LIMITED = {"a/b/c": b"x" * 1000, "d": b"y" * 900}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("file_bytes", 999, "the size of file 'a/b/c' exceeds"),
        ("content_bytes", 1899, "the size of the content exceeds"),
        ("content_files", 3, "the number of files and directories exceeds"),
        ("path_bytes", 4, "the length of path"),
        ("path_depth", 1, "the depth of path"),
    ],
)
async def test_content_beyond_a_limit_is_refused_with_its_variable(
    git_repository: Repository, git_web: GitWebServer, name: str, value: int, text: str
) -> None:
    git_repository.commit(LIMITED)
    limits: Limits = replace(DEFAULT_LIMITS, **{name: value})
    with pytest.raises(ContentError) as error:
        await fetched_from(git_web, limits=limits)
    assert text in str(error.value)
    assert variable_of(name) in str(error.value)
    enough = replace(DEFAULT_LIMITS, **{name: {"path_bytes": 5, "path_depth": 3}.get(name, value + 1)})
    assert dict((await fetched_from(git_web, limits=enough)).tree) == LIMITED


async def test_c10_deeply_nested_path_is_refused(git_repository: Repository, git_web: GitWebServer) -> None:
    git_repository.commit({"/".join(["d"] * 300): b""})
    with pytest.raises(ContentError, match="the depth of path"):
        await fetched_from(git_web)


async def test_files_outside_of_the_directory_cost_nothing(
    git_repository: Repository, git_web: GitWebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """14,000 files, of which two are wanted: three processes of git, and no limit on the others."""
    started: list[str] = []
    start = command.Commands.started

    def counted(self: command.Commands, *arguments: str, **more: Any) -> Any:
        started.append(arguments[0])
        return start(self, *arguments, **more)

    monkeypatch.setattr(command.Commands, "started", counted)
    git_repository.commit({f"other/{n % 100}/{n}": b"%d" % n for n in range(14_000)} | {"dir/a": b"1", "dir/b": b"2"})
    limits = replace(DEFAULT_LIMITS, content_files=2)
    result = await fetched_from(git_web, directory="dir", limits=limits)
    assert dict(result.tree) == {"a": b"1", "b": b"2"}
    assert started == ["init", "fetch", "cat-file", "cat-file"]


async def test_many_files_are_read_by_one_process(git_repository: Repository, git_web: GitWebServer) -> None:
    files = {f"{n % 100}/{n}": b"%d" % n for n in range(14_000)}
    git_repository.commit(files)
    assert dict((await fetched_from(git_web)).tree) == files

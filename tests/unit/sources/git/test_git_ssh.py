"""Private repositories over ssh, by the real sshd: keys, users, and how the host is known."""

import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.git.access import GitAccess
from rukpak_py.sources.git.environment import environment_of
from rukpak_py.sources.git.remote import parse_remote
from rukpak_py.sources.source import Fetched
from tests.git_fetching import LOOPBACK, fetched, git_source
from tests.git_repositories import Repository
from tests.git_ssh_server import GitSshServer, git_ssh_server, hashed, new_key
from tests.source_secrets import Secrets

FILES = {"manifests/a.yaml": b"a: 1\n"}
REFUSED_KEY = "configuring Auth error: "


@pytest.fixture
async def ssh(tmp_path: Path, git_repository: Repository) -> AsyncIterator[GitSshServer]:
    git_repository.commit(FILES)
    async with git_ssh_server(tmp_path / "sshd") as server:
        yield server


async def by_ssh(
    url: str,
    key: bytes,
    known_hosts: str | None = None,
    *,
    addresses: AddressPolicy = LOOPBACK,
    insecure_skip_verify: bool = False,
) -> Fetched:
    data = {"ssh-privatekey": key} | ({} if known_hosts is None else {"ssh-knownhosts": known_hosts.encode()})
    source = git_source(url, secret="s", branch="main", insecure_skip_verify=insecure_skip_verify)
    return await fetched(source, secrets=Secrets(s=data), addresses=addresses)


async def refused(url: str, key: bytes, known_hosts: str | None, error: type[RukPakError]) -> str:
    with pytest.raises(error) as raised:
        await by_ssh(url, key, known_hosts)
    assert type(raised.value) is error
    return str(raised.value)


async def test_a_key_and_a_known_host(ssh: GitSshServer, git_repository: Repository) -> None:
    url = ssh.url(git_repository.path)
    result = await by_ssh(url, ssh.private_key, ssh.known_hosts())
    assert dict(result.tree) == FILES
    assert result.resolved.git is not None
    assert result.resolved.git.repository == url
    assert result.resolved.git.auth.secret.name == "s"


async def test_scenario_27_any_host_key_when_it_is_not_verified(ssh: GitSshServer, git_repository: Repository) -> None:
    url = ssh.url(git_repository.path)
    assert dict((await by_ssh(url, ssh.private_key, insecure_skip_verify=True)).tree) == FILES


async def test_keys_as_windows_and_yaml_leave_them(ssh: GitSshServer, git_repository: Repository) -> None:
    key = ssh.private_key.replace(b"\n", b"\r\n").strip()
    known = ssh.known_hosts().strip().replace("\n", "\r\n")
    assert dict((await by_ssh(ssh.url(git_repository.path), key, known)).tree) == FILES


async def test_p5_all_known_hosts_count_each_for_its_host(
    ssh: GitSshServer, git_repository: Repository, tmp_path: Path
) -> None:
    new_key(tmp_path / "other")
    other = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    lines = [f"github.com {other}", "# comment", "", f"[localhost]:{ssh.port} {other}", ssh.known_hosts()]
    url = ssh.url(git_repository.path)
    assert dict((await by_ssh(url, ssh.private_key, "\n".join(lines))).tree) == FILES
    wrong = f"github.com {ssh.host_key}\n[localhost]:{ssh.port} {other}\n"
    text = await refused(url, ssh.private_key, wrong, AccessError)
    assert text.startswith(
        f"bundle unpack git clone error: {url}: host key verification failed: "
        "ssh-knownhosts has no such key for this host - "
    )


@pytest.mark.parametrize("pattern", ["localhost", "[localhost]:{port}", "*", "[local*]:{port}", "other,localhost"])
async def test_how_a_known_host_may_be_written(ssh: GitSshServer, git_repository: Repository, pattern: str) -> None:
    known = f"{pattern.format(port=ssh.port)} {ssh.host_key}\n"
    assert dict((await by_ssh(ssh.url(git_repository.path), ssh.private_key, known)).tree) == FILES


@pytest.mark.parametrize("host", ["localhost", "[localhost]:{port}"])
async def test_hashed_known_hosts_are_matched(
    ssh: GitSshServer, git_repository: Repository, tmp_path: Path, host: str
) -> None:
    known = hashed(f"{host.format(port=ssh.port)} {ssh.host_key}\n", tmp_path)
    assert "localhost" not in known
    assert dict((await by_ssh(ssh.url(git_repository.path), ssh.private_key, known)).tree) == FILES


async def test_revoked_host_key_is_refused(ssh: GitSshServer, git_repository: Repository) -> None:
    known = f"{ssh.known_hosts()}@revoked * {ssh.host_key}\n"
    text = await refused(ssh.url(git_repository.path), ssh.private_key, known, AccessError)
    assert "host key verification failed" in text


async def test_the_user_is_git_unless_the_url_says_another(ssh: GitSshServer, git_repository: Repository) -> None:
    """This machine has no user of the name `git`, or the server does not let it in: it says who came."""
    url = ssh.url(git_repository.path, user="")
    text = await refused(url, ssh.private_key, ssh.known_hosts(), AccessError)
    assert f"{url}: the server refuses the ssh key" in text
    assert "user git " in ssh.log
    await refused(ssh.url(git_repository.path, user="some.body-1"), ssh.private_key, ssh.known_hosts(), AccessError)
    assert "user some.body-1 " in ssh.log


async def test_a_key_that_the_server_does_not_know(
    ssh: GitSshServer, git_repository: Repository, tmp_path: Path
) -> None:
    new_key(tmp_path / "stranger")
    url = ssh.url(git_repository.path)
    text = await refused(url, (tmp_path / "stranger").read_bytes(), ssh.known_hosts(), AccessError)
    assert "the server refuses the ssh key - root@" in text


async def test_a_key_with_a_passphrase_and_one_that_is_none(
    ssh: GitSshServer, git_repository: Repository, tmp_path: Path
) -> None:
    new_key(tmp_path / "locked", passphrase="opensesame")
    url = ssh.url(git_repository.path)
    text = await refused(url, (tmp_path / "locked").read_bytes(), ssh.known_hosts(), AccessError)
    assert text == "configuring Auth error: Secret s: ssh-privatekey has a passphrase: store it without"
    for key in (b"-----BEGIN NONSENSE-----\nc2VjcmV0\n", ssh.private_key[:200]):
        text = await refused(url, key, ssh.known_hosts(), AccessError)
        assert text == "configuring Auth error: Secret s: ssh-privatekey is not a private key in PEM"


async def test_a_repository_that_is_missing(ssh: GitSshServer, tmp_path: Path) -> None:
    text = await refused(ssh.url(tmp_path / "nothing.git"), ssh.private_key, ssh.known_hosts(), AccessError)
    assert "repository not found, or not visible with these credentials" in text


async def test_c5_a_path_is_no_command(ssh: GitSshServer, git_repository: Repository) -> None:
    """The path is taken literally here, where git runs ssh by a shell, and there, where the user's shell runs git."""
    path = git_repository.path.with_name("$(exit);a&b*.git")
    git_repository.path.rename(path)
    assert dict((await by_ssh(ssh.url(path), ssh.private_key, ssh.known_hosts())).tree) == FILES


@pytest.mark.parametrize("name", ["private dir", "it's", "a;b&c$(touch made)"])
async def test_c5_a_folder_for_temporary_files_is_no_command(
    ssh: GitSshServer, git_repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    url = ssh.url(git_repository.path)
    assert dict((await by_ssh(url, ssh.private_key, ssh.known_hosts())).tree) == FILES
    assert not (tmp_path / "made").exists()


async def test_a_server_that_is_gone(tmp_path: Path, git_repository: Repository) -> None:
    new_key(tmp_path / "key")
    url = f"ssh://git@localhost:1{git_repository.path}"
    text = await refused(url, (tmp_path / "key").read_bytes(), "localhost ssh-ed25519 AAAA", UnavailableError)
    assert text.startswith(f"bundle unpack git clone error: {url}: the fetch failed - connect to host")


def test_c18_a_key_is_in_one_private_file_and_in_no_argument(
    ssh: GitSshServer, git_repository: Repository, tmp_path: Path
) -> None:
    remote = parse_remote(ssh.url(git_repository.path))
    access = GitAccess(private_key=ssh.private_key.decode(), known_hosts=ssh.known_hosts())
    directory = tmp_path / "private dir"
    directory.mkdir()
    environment = environment_of(remote, access, addresses=["127.0.0.1"], directory=directory)
    files = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
    assert files == {"key": 0o600, "known_hosts": 0o600, "ssh": 0o700}
    secret = ssh.private_key.decode().splitlines()[1]
    assert not any(secret in value for value in environment.values())
    assert secret not in repr(access)
    assert secret not in access.redacted(f"x {secret} y")
    result = subprocess.run(
        [environment["GIT_SSH"], "-p", str(ssh.port), "root@localhost", "true"],
        env=environment,
        timeout=30,
        check=False,
        capture_output=True,
    )
    assert (result.returncode, result.stderr) == (0, b"")


async def test_secret_without_a_needed_key_is_refused() -> None:
    url = "git@example.com:org/repo.git"
    for data, text in (
        ({}, "Secret s has no ssh-privatekey"),
        ({"ssh-privatekey": b"k"}, "Secret s has no ssh-knownhosts: add the output of `ssh-keyscan HOST`"),
        ({"ssh-privatekey": b"\xff"}, "Secret s: ssh-privatekey is not UTF-8"),
    ):
        with pytest.raises(AccessError) as error:
            await fetched(git_source(url, secret="s", branch="main"), secrets=Secrets(s=data))
        assert str(error.value).startswith(f"{REFUSED_KEY}{text}")
    with pytest.raises(AccessError, match="configuring Auth error: ssh needs a key"):
        await fetched(git_source(url, branch="main"))
    with pytest.raises(UnavailableError) as missing:
        await fetched(git_source(url, secret="s", branch="main"))
    assert str(missing.value) == f'{REFUSED_KEY}get secret rukpak-system/s: Secret "s" not found'


async def test_p4_addresses_that_ssh_may_not_reach(ssh: GitSshServer, git_repository: Repository) -> None:
    with pytest.raises(ContentError, match=r"localhost has the address .* is a loopback address: refused unless"):
        await by_ssh(
            ssh.url(git_repository.path), ssh.private_key, ssh.known_hosts(), addresses=replace(LOOPBACK, allowed=())
        )

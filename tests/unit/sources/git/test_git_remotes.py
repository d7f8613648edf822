"""URLs and names that come through to git, and their form: all others are refused before a process starts."""

import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import GitRef
from rukpak_py.core.errors import ContentError
from rukpak_py.sources.git.environment import alias_of
from rukpak_py.sources.git.remote import RefKind, parse_remote, revision_of, shown
from tests.fuzzing import Choices, choices, fuzzed
from tests.git_fetching import fetched, fetcher, git_source


@pytest.mark.parametrize(
    ("repository", "host", "port", "user", "url"),
    [
        ("https://Example.COM/a/b.git", "example.com", 443, "", "https://example.com/a/b.git"),
        ("HTTPS://example.com./a?x=1&y=2", "example.com", 443, "", "https://example.com/a?x=1&y=2"),
        ("http://example.com:8080/~me/a", "example.com", 8080, "", "http://example.com:8080/~me/a"),
        ("https://[2001:db8::1]:8443/a", "2001:db8::1", 8443, "", "https://[2001:db8::1]:8443/a"),
        ("https://jane:secret@example.com/a", "example.com", 443, "jane", "https://example.com/a"),
        ("ssh://example.com/a", "example.com", 22, "git", "ssh://git@example.com/a"),
        ("ssh://me@example.com:2222/~/a", "example.com", 2222, "me", "ssh://me@example.com:2222/~/a"),
        ("git@github.com:org/repo.git", "github.com", 22, "git", "git@github.com:org/repo.git"),
        ("github.com:org/repo", "github.com", 22, "git", "git@github.com:org/repo"),
        ("org-1_x@[::1]:repo", "::1", 22, "org-1_x", "org-1_x@[::1]:repo"),
    ],
)
def test_urls_that_are_taken(repository: str, host: str, port: int, user: str, url: str) -> None:
    remote = parse_remote(repository)
    assert (remote.host, remote.port, remote.user, remote.url) == (host, port, user, url)
    assert "secret" not in repr(remote)


@pytest.mark.parametrize(
    "repository",
    [
        "ext::sh -c touch% /tmp/x",
        "ext::https://example.com/a",
        "https::https://example.com/a",
        "fd::17",
        "file:///etc/passwd",
        "git://example.com/a",
        "ftp://example.com/a",
        "rsync://example.com/a",
        "/var/run/secrets",
        "./a",
        "a",
        "../a",
        "C:\\a",
        "--upload-pack=touch /tmp/x",
        "-oProxyCommand=x:y",
        "ssh://-oProxyCommand=touch/a",
        "ssh://-l@example.com/a",
        "ssh://example.com/a?x",
        "-x@example.com:a",
        "git@-x:a",
        "git@example.com:-x",
        "git@example.com:",
        "https://example.com/a\nhttp://evil/",
        "https://example.com/a\r",
        "https://example.com/a b",
        "https://example.com/a`id`",
        "https://exa$mple.com/a",
        "https://example.com/a\0",
        "https://exämple.com/a",
        "https://example.com:99999/a",
        "https://example.com:x/a",
        "https://example.com:0/a",
        "https:///a",
        "https://example.com",
        "https://example.com/",
        "https://example.com/a#b",
        "https://[::1/a",
        "ssh://git@example.com/@[evil.example]:77/x",
        "git@example.com:@[evil.example]:77/x",
        "https://" + "a" * 3000,
    ],
)
async def test_c11_what_is_not_a_url_of_https_http_or_ssh(repository: str) -> None:
    with pytest.raises(ContentError, match=r"^repository .* is refused: ") as error:
        await fetched(git_source(repository, branch="main"))
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("code", ["%0a", "%0D", "%00", "%1b", "%7F"])
async def test_c13_encoded_control_characters(code: str) -> None:
    """Such characters named another host to a credential helper (CVE-2020-5260)."""
    for repository in (f"https://example.com/{code}host=evil", f"https://jane:secret{code}x@example.com/a"):
        with pytest.raises(ContentError) as error:
            await fetched(git_source(repository, branch="main"))
        assert "secret" not in str(error.value)


PIECES = [
    *("https://", "http://", "ssh://", "git@", "me", ":secret", "@", "h.example", "[::1]", ":", ":22", ":2222", "/"),
    *("a", "b.git", "~", "..", ".", "-", "-x", "::", "ext::", "%0a", "%2f", "?q=1", "#", "\\", "$(x)", ";", "é", "\n"),
]


@fuzzed
@given(choices.map(lambda chosen: "".join(chosen.some(PIECES, 9))) | st.text(max_size=30))
def test_c11_whatever_comes_through_is_safe_for_git(repository: str) -> None:
    """Other URLs are refused with a message for the user."""
    try:
        remote = parse_remote(repository)
    except ContentError:
        return
    assert re.fullmatch(
        r"(https?://|ssh://[\w.+-]+@|[\w.+-]+@)(\[[0-9a-f:.]+\]|[a-z0-9._][a-z0-9._-]*)[:/].+", remote.url
    )
    assert remote.url.isascii()
    assert not re.search(r"[\s\\\"'`<>|]", remote.url)
    assert remote.scheme in {"https", "http", "ssh"}
    assert 0 < remote.port < 65536
    again = parse_remote(remote.url)
    assert (again.host, again.port, again.url) == (remote.host, remote.port, remote.url)


@settings(fuzzed, max_examples=fuzzed.max_examples // 20)
@given(choices)
def test_c10_git_reads_the_same_in_an_ssh_url(chosen: Choices) -> None:
    """Git connects to what was checked: user, host, port, and one path."""
    scheme = chosen.one(["ssh://", ""])
    start = f"{scheme}{chosen.one(['git@', 'me.too@', ''])}{chosen.one(['h.example', '[::1]', 'H-1.example.', 'h_1'])}"
    joint = chosen.one(["/", ":22/", ":2222/", ":0022/"] if scheme else [":", ":/", ":~/", ":a:"])
    repository = f"{start}{joint}{''.join(chosen.some(PIECES, 5))}"
    try:
        remote = parse_remote(repository)
    except ContentError:
        return
    done = subprocess.run(["git", "fetch-pack", "--diag-url", remote.url], capture_output=True, text=True, check=True)
    found = dict(line.removeprefix("Diag: ").split("=", 1) for line in done.stdout.splitlines())
    host = f"[{remote.host}]" if ":" in remote.host else remote.host
    assert found["protocol"] == "ssh"
    assert found["userandhost"] in {f"{remote.user}@{host}", f"{remote.user}@{remote.host}"}
    assert int(found["port"].replace("NONE", "22")) == remote.port


async def test_missing_fields_are_refused_in_the_words_of_the_contract() -> None:
    for source, text in (
        (Source(type="git"), "bundle source git configuration is unset"),
        (git_source("", branch="main"), "missing git source information: repository must be provided"),
    ):
        with pytest.raises(ContentError) as error:
            await fetched(source)
        assert str(error.value) == text


def test_a_lane_is_a_host() -> None:
    source = fetcher()
    assert source.lane(git_source("https://Example.com/a")) == source.lane(git_source("git@example.com:b"))
    assert source.lane(git_source("ext::x")) == source.lane(Source(type="git")) == "git"


@pytest.mark.parametrize(
    "repository", ["https://jane:secret@example.com/a", "https://secret@example.com/a", "ssh://git:secret@h/a"]
)
def test_messages_show_no_credentials(repository: str) -> None:
    assert "secret" not in shown(repository)


def test_messages_show_urls_as_they_were_written() -> None:
    for repository in ("https://Example.com/a.git", "git@github.com:a/b", "ssh://git@example.com:22/a"):
        assert shown(repository) == repository


@pytest.mark.parametrize(
    "name",
    [
        *(
            "-x y",
            "a..b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
        ),
        *("a@{0}", "@", "a\nb", "a b", "x" * 2000),
    ],
)
@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_c11_names_that_git_does_not_allow(kind: str, name: str) -> None:
    with pytest.raises(ContentError, match=f"is not a valid name of a {kind}"):
        revision_of(GitRef(**{kind: name}))


@pytest.mark.parametrize("name", ["main", "release/1.2", "-dash", "v0.0.1", "ünï", "a@b", "HEAD"])
def test_names_that_git_allows(name: str) -> None:
    assert revision_of(GitRef(branch=name)).refspecs == (f"+refs/heads/{name}:refs/rukpak/content",)
    assert revision_of(GitRef(tag=name)).refspecs == (f"+refs/tags/{name}:refs/rukpak/content",)


@pytest.mark.parametrize("commit", ["abc", "xyz12345", "--help", "HEAD", "a" * 65, "abcd~1", "abcd\n", "abcd^{tree}"])
def test_c11_what_is_not_a_hash(commit: str) -> None:
    with pytest.raises(ContentError, match=r"(?s)checkout commit .*not a hash of 4 to 40 hexadecimal digits"):
        revision_of(GitRef(commit=commit))


def test_of_several_the_commit_counts_as_in_the_original() -> None:
    assert revision_of(GitRef(branch="b", tag="t", commit="abcd")).kind is RefKind.COMMIT
    assert revision_of(GitRef(branch="b", tag="t")).kind is RefKind.BRANCH
    assert revision_of(GitRef()).kind is RefKind.DEFAULT


@pytest.mark.parametrize(
    ("known_hosts", "alias"),
    [
        ("example.com ssh-rsa A", "example.com"),
        ("[example.com]:2222 ssh-rsa A\nexample.com ssh-rsa B", "[example.com]:2222"),
        ("@cert-authority *.com ssh-rsa A", "example.com"),
        ("other,[example.com]:2222 ssh-rsa A", "[example.com]:2222"),
        ("# example.com", "[example.com]:2222"),
        ("|1|bad|hash ssh-rsa A\n|1|x ssh-rsa A\n\n@revoked", "[example.com]:2222"),
        ("", "[example.com]:2222"),
    ],
)
def test_the_name_by_which_ssh_knows_a_host_with_a_port(known_hosts: str, alias: str) -> None:
    assert alias_of(parse_remote("ssh://example.com:2222/a"), known_hosts) == alias
    assert alias_of(parse_remote("ssh://example.com/a"), known_hosts) == "example.com"

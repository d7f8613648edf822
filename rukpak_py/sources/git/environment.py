"""The whole environment of git: what it may do, whom it trusts, and with which credentials it comes.

All configuration comes as GIT_CONFIG_COUNT, so no secret and no text of a user is ever an argument. Configuration of
the system and of users, hooks, templates, prompts, credential helpers, redirects and remote helpers are cut off. A
host is reached only at the addresses that were checked. Whatever git writes is in its private directory.

ssh is given the address, so it must be told the name under which it looks for the host's key. It writes hosts with a
port of their own as `[host]:port`, and takes a plain `host` for them, too, but not when it is told the name: so that
choice is made here.
"""

import base64
import hashlib
import hmac
import os
import ssl
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rukpak_py.core.errors import UnavailableError
from rukpak_py.sources.git.access import GitAccess
from rukpak_py.sources.git.remote import Remote
from rukpak_py.sources.tls import client_context
from rukpak_py.sources.urls import proxy_for

_HASHED = "|1|"
_LONGEST_PATTERN = 1023  # for ssh


def alias_of(remote: Remote, known_hosts: str) -> str:
    """The name of the remote that the known hosts have."""
    if remote.has_default_port:
        return remote.host
    with_port = f"[{remote.host}]:{remote.port}"
    is_plain_known = any(_matches(pattern, remote.host) for pattern in _patterns(known_hosts))
    is_known = any(_matches(pattern, with_port) for pattern in _patterns(known_hosts))
    return remote.host if is_plain_known and not is_known else with_port


def _patterns(known_hosts: str) -> Iterator[str]:
    for line in known_hosts.splitlines():
        words = line.split()
        if words and words[0].startswith("@"):  # @cert-authority, @revoked
            del words[0]
        if words and not words[0].startswith("#"):
            yield from words[0].split(",")


def _matches(pattern: str, name: str) -> bool:
    if pattern.startswith(_HASHED):
        try:
            salt, digest = map(base64.b64decode, pattern.removeprefix(_HASHED).split("|"))
        except ValueError:
            return False
        return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)
    return len(pattern) <= _LONGEST_PATTERN and _is_like(name.lower(), pattern.lower())


def _is_like(name: str, pattern: str) -> bool:
    """`*` and `?`; it goes back to the last `*` only, so its steps are at most one length times the other."""
    at = in_pattern = 0
    after_star, taken = -1, 0
    while at < len(name):
        wanted = pattern[in_pattern] if in_pattern < len(pattern) else ""
        if wanted == "*":
            in_pattern += 1
            after_star, taken = in_pattern, at
        elif wanted in {"?", name[at]}:
            at += 1
            in_pattern += 1
        elif after_star >= 0:
            taken += 1
            at, in_pattern = taken, after_star
        else:
            return False
    return not pattern[in_pattern:].strip("*")


CONNECT_SECONDS = 10
SILENT_SECONDS = 30
_LARGEST_ALLOCATION = "128m"  # a small pack can name deltas that become gigabytes; what is larger than 32m streams
_SYSTEM_AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
# Old histories have commits whose authors are written wrongly, which is harmless.
_HARMLESS = (
    *("badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "missingEmail"),
    *(
        "missingNameBeforeEmail",
        "missingSpaceBeforeDate",
        "missingSpaceBeforeEmail",
        "multipleAuthors",
        "zeroPaddedDate",
    ),
)
_CONFIGURATION: Mapping[str, str] = {
    "core.hooksPath": "/dev/null",
    "core.askPass": "",
    "core.fsync": "none",  # the repository lives for one fetch
    "core.bigFileThreshold": "32m",
    "core.deltaBaseCacheLimit": "16m",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": str(SILENT_SECONDS),
    "init.templateDir": "",
    "init.defaultBranch": "main",
    "maintenance.auto": "false",
    "pack.threads": "1",
    "protocol.version": "2",
    "transfer.bundleURI": "false",
    "transfer.fsckObjects": "true",
    **{f"fetch.fsck.{name}": "warn" for name in _HARMLESS},
}
_SSH_OPTIONS = (
    *("BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", "PreferredAuthentications=publickey"),
    *("CheckHostIP=no", "UpdateHostKeys=no", "ClearAllForwardings=yes", "ForwardAgent=no", "PermitLocalCommand=no"),
    *("LogLevel=ERROR", f"ConnectTimeout={CONNECT_SECONDS}"),
    *(f"ServerAliveInterval={SILENT_SECONDS // 2}", "ServerAliveCountMax=2", "GlobalKnownHostsFile=/dev/null"),
)


def local_environment(directory: Path) -> dict[str, str]:
    """The environment to read what was fetched: no protocol is allowed."""
    return _environment(directory, protocol="") | _as_variables(_CONFIGURATION)


def environment_of(remote: Remote, access: GitAccess, *, addresses: Sequence[str], directory: Path) -> dict[str, str]:
    """Writes the files that it names into the directory, which is private. Without addresses a proxy finds them."""
    environment = _environment(directory, protocol=remote.scheme)
    if remote.is_ssh:
        environment["GIT_SSH"] = str(_ssh_program(remote, access, addresses[0], directory))
        environment["GIT_SSH_VARIANT"] = "ssh"
        return environment | _as_variables(_CONFIGURATION)
    return environment | _as_variables({**_CONFIGURATION, **_web(remote, access, addresses, directory)})


def _environment(directory: Path, *, protocol: str) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(directory),
        "TMPDIR": str(directory),
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_ALLOC_LIMIT": _LARGEST_ALLOCATION,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",  # what is missing would be fetched by git in git in git
        "GIT_TERMINAL_PROMPT": "0",
    }


def _as_variables(configuration: Mapping[str, str]) -> dict[str, str]:
    variables = {"GIT_CONFIG_COUNT": str(len(configuration))}
    for number, (key, value) in enumerate(configuration.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _web(remote: Remote, access: GitAccess, addresses: Sequence[str], directory: Path) -> dict[str, str]:
    configuration = {"http.proxy": proxy_for(remote.scheme, remote.host, remote.port)}
    if addresses:
        pinned = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
        host = f"[{remote.host}]" if ":" in remote.host else remote.host
        configuration["http.curloptResolve"] = f"{host}:{remote.port}:{pinned}"
    if access.basic:
        configuration["http.extraHeader"] = f"Authorization: Basic {access.basic}"
    if not access.is_verified:
        configuration["http.sslVerify"] = "false"
    elif remote.scheme == "https":
        configuration["http.sslCAInfo"] = str(_authorities(access, directory))
    return configuration


def _authorities(access: GitAccess, directory: Path) -> Path:
    """The authorities of the system, as Python sees them (SSL_CERT_FILE), and those of the source besides."""
    candidates = (ssl.get_default_verify_paths().cafile, *_SYSTEM_AUTHORITIES)
    system = next((Path(path) for path in candidates if path and Path(path).is_file()), None)
    if not access.ca_bundle:
        if system is None:
            raise UnavailableError("this machine has no certificates of authorities, and the source has no caBundle")
        return system
    client_context(access.ca_bundle)  # refuses what is no certificate
    before = system.read_bytes() if system is not None else b""
    return _written(directory / "authorities.pem", before + b"\n" + access.ca_bundle.encode() + b"\n")


def _ssh_program(remote: Remote, access: GitAccess, address: str, directory: Path) -> Path:
    """Write ssh with its options as a program. A command line (GIT_SSH_COMMAND) needs a shell; our image has none."""
    key = _written(directory / "key", access.private_key.encode())
    options = [*_SSH_OPTIONS, f"HostName={address}", f"HostKeyAlias={alias_of(remote, access.known_hosts)}"]
    if access.is_verified:
        known_hosts = _written(directory / "known_hosts", access.known_hosts.encode() + b"\n")
        options += ["StrictHostKeyChecking=yes", f'UserKnownHostsFile="{known_hosts}"']
    else:
        options += ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
    words = ["ssh", "-F", "none", "-i", str(key), *(word for one in options for word in ("-o", one))]
    script = f"#!{sys.executable} -IS\nimport os, sys\nos.execvp('ssh', {words!r} + sys.argv[1:])\n"
    return _written(directory / "ssh", script.encode(), mode=0o700)


def _written(path: Path, content: bytes, *, mode: int = 0o600) -> Path:
    """Write a file that others cannot read at any moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path

"""The whole environment of git: what it may do, whom it trusts, and with which credentials it comes.

All configuration comes as GIT_CONFIG_COUNT, so no secret and no text of a user is ever an argument. Configuration of
the system and of users, hooks, templates, prompts, credential helpers, redirects and remote helpers are cut off. A
host is reached only at the addresses that were checked. Whatever git writes is in its private directory.
"""

import os
import shlex
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path

from rukpak_py.core.errors import UnavailableError
from rukpak_py.sources.git.access import GitAccess
from rukpak_py.sources.git.known_hosts import alias_of
from rukpak_py.sources.git.remote import Remote
from rukpak_py.sources.proxies import proxy_for
from rukpak_py.sources.tls import client_context

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
        environment["GIT_SSH_COMMAND"] = _ssh_command(remote, access, addresses[0], directory)
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


def _ssh_command(remote: Remote, access: GitAccess, address: str, directory: Path) -> str:
    key = _written(directory / "key", access.private_key.encode())
    options = [*_SSH_OPTIONS, f"HostName={address}", f"HostKeyAlias={alias_of(remote, access.known_hosts)}"]
    if access.is_verified:
        known_hosts = _written(directory / "known_hosts", access.known_hosts.encode() + b"\n")
        options += ["StrictHostKeyChecking=yes", f'UserKnownHostsFile="{known_hosts}"']
    else:
        options += ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
    return shlex.join(["ssh", "-F", "none", "-i", str(key), *(word for one in options for word in ("-o", one))])


def _written(path: Path, content: bytes) -> Path:
    """Write a file that others cannot read at any moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path

"""Under which name ssh looks for a host's key, when it connects to an address that was checked before.

ssh is given the address, so it must be told the name. It writes hosts with a port of their own as `[host]:port`, and
takes a plain `host` for them, too, but not when it is told the name: so that choice is made here.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterator

from rukpak_py.sources.git.remote import Remote

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
        return _is_hash_of(pattern, name)
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


def _is_hash_of(pattern: str, name: str) -> bool:
    try:
        salt, digest = map(base64.b64decode, pattern.removeprefix(_HASHED).split("|"))
    except ValueError:
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)

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
    return _fits(pattern.lower(), name.lower())


def _fits(pattern: str, name: str) -> bool:
    """`*` and `?` as in ssh. After a failure only the last `*` takes more: as a regular expression, ten of them with
    little between would be tried in all their combinations.
    """
    at = position = 0
    star, taken = -1, 0
    while position < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, taken = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in {"?", name[position]}:
            at, position = at + 1, position + 1
        elif star >= 0:
            taken += 1
            at, position = star + 1, taken
        else:
            return False
    return not pattern[at:].strip("*")


def _is_hash_of(pattern: str, name: str) -> bool:
    try:
        salt, digest = map(base64.b64decode, pattern.removeprefix(_HASHED).split("|"))
    except ValueError:
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)

"""The proxy for a URL, by the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, read as Go programs read them.

Python's own reading knows no networks in NO_PROXY, and clusters list theirs there. Localhost and loopback addresses
never go through a proxy. A variable may be written in lower case; HTTP_PROXY does not count where a web server may have
set it from a header of a request (CGI).
"""

import os
from collections.abc import Mapping
from ipaddress import ip_address, ip_network


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str] = os.environ) -> str:
    """The URL of the proxy, with its credentials; empty: none."""
    proxy = _variable(environ, f"{scheme}_proxy")
    if not proxy or (scheme == "http" and "REQUEST_METHOD" in environ):
        return ""
    if _is_direct(host.lower().rstrip("."), port, _variable(environ, "no_proxy")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _is_direct(host: str, port: int, no_proxy: str) -> bool:
    try:
        if ip_address(host).is_loopback:
            return True
    except ValueError:
        if host == "localhost":
            return True
    return any(_matches(entry.strip().lower(), host, port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, port: int) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:  # the entry or the host is a name
        pass
    name, colon, only = entry.rpartition(":")
    if colon and only.isdigit():
        if int(only) != port:
            return False
        entry = name.strip("[]")
    entry = entry.removeprefix("*")
    return host.endswith(entry) if entry.startswith(".") else host == entry or host.endswith(f".{entry}")

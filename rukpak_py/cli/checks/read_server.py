"""Facts about the API server that need no right beyond those of every user."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from rukpak_py.cli.checks.facts import ServerFacts
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery


class _Version(msgspec.Struct, rename="camel"):
    major: str = ""
    minor: str = ""
    git_version: str = ""


async def read_server(client: Client, discovery: Discovery) -> ServerFacts:
    answer = await client.raw_get("/version")
    version = msgspec.json.decode(answer.body, type=_Version)
    await discovery.refresh()
    return ServerFacts(
        major=version.major,
        minor=version.minor,
        version=version.git_version,
        now=_date(answer.headers.get("Date", "")),
        served=frozenset(discovery.served.resources),
    )


def _date(header: str) -> datetime:
    """Time of the server; our own, where a proxy leaves the header out."""
    try:
        return parsedate_to_datetime(header).astimezone(UTC)
    except ValueError:
        return datetime.now(UTC)

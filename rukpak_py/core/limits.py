"""Every limit on hostile or careless input, in one table. Readers take a `Limits` and stop while reading, never after.

A limit that is hit raises `ContentError` through `exceeded`: every such message names the limit, and the variable of
the environment that sets it for the operator and for rukpakctl. The description of a limit is the text of the flag's
help and of docs/limits.md.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from rukpak_py.core.errors import ContentError, RukPakError

# Fixed bounds of links: forty links through two thousand names each would take minutes, in a thread without an end.
LINK_HOPS = 40
LINK_STEPS = 1024
LONGEST_LINK = 4096

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
_UNITS = {"GiB": GIB, "MiB": MIB, "KiB": KIB}
_OF_BYTES = "_bytes"  # how the names of sizes end
_ABOUT = "about"


def _limit(default: int, about: str) -> int:
    return field(default=default, metadata={_ABOUT: about})


class LimitError(ContentError):
    """A limit was exceeded; nothing more is read."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The field names are the settings' names (`--limit-<name>`, `RUKPAK_LIMIT_<NAME>`)."""

    archive_bytes: int = _limit(64 * MIB, "size of a compressed archive")
    content_bytes: int = _limit(256 * MIB, "size of the unpacked content of a bundle")
    content_files: int = _limit(20_000, "number of files and directories of a bundle")
    file_bytes: int = _limit(32 * MIB, "size of one file")
    image_bytes: int = _limit(4096 * MIB, "size of all layers of an image together, before and after unpacking")
    spool_bytes: int = _limit(8 * GIB, "size of what arrives for all Bundles together, in temporary files")
    image_manifest_bytes: int = _limit(4 * MIB, "size of the manifest or the index of an image")
    image_entries: int = _limit(1000, "number of entries of the manifest or the index of an image")
    image_seconds: int = _limit(600, "seconds that a registry may take to send an image")
    image_answer_seconds: int = _limit(
        60, "seconds that a registry may take to begin an answer, and to send one that is not a layer"
    )
    image_rate: int = _limit(4 * KIB, "bytes of a layer that a registry must send per second, over 30 seconds")
    git_bytes: int = _limit(512 * MIB, "size of all files that git writes for a Bundle, on disk")
    git_seconds: int = _limit(120, "seconds that a git server may take to send a commit")
    git_processor_seconds: int = _limit(60, "seconds of processor time that one git command may take")
    git_memory_bytes: int = _limit(512 * MIB, "memory of one process of git")
    git_total_memory_bytes: int = _limit(
        1 * GIB, "memory of all git commands that fetch at a time; the one that has most of it gives way"
    )
    git_processes: int = _limit(64, "number of processes that one git command may have")
    inflation_ratio: int = _limit(200, "number of unpacked bytes for each compressed byte")
    inflation_floor: int = _limit(1 * MIB, "unpacked size from which on the inflation ratio is checked")
    http_connect_seconds: int = _limit(10, "seconds to connect to the server of an http source")
    http_silence_seconds: int = _limit(30, "seconds without a byte from the server of an http source")
    http_seconds: int = _limit(300, "seconds to download the archive of an http source")
    http_redirects: int = _limit(5, "number of redirects of an http source")
    path_bytes: int = _limit(1024, "length of the path of a file")
    path_depth: int = _limit(32, "number of directories around a file")
    yaml_bytes: int = _limit(10 * MIB, "size of one YAML file")
    catalog_bytes: int = _limit(1 * GIB, "size of all files of a file-based catalog")
    catalog_nodes: int = _limit(50_000_000, "number of nodes of one file of a catalog, with aliases expanded")
    yaml_depth: int = _limit(500, "nesting depth of a YAML file")
    yaml_nodes: int = _limit(2_000_000, "number of nodes of a YAML file, with aliases expanded")
    object_bytes: int = _limit(3 * MIB, "size of one object, as JSON; an API server takes no more in one request")
    rendered_bytes: int = _limit(
        64 * MIB, "size of all objects of a bundle, as JSON; also of its files with aliases expanded"
    )
    rendered_objects: int = _limit(20_000, "number of objects of a bundle")
    helm_bytes: int = _limit(512 * MIB, "memory of the helm process that renders a chart")
    helm_seconds: int = _limit(60, "seconds that helm may take to render a chart")
    chart_lookups: int = _limit(1000, "number of objects and lists that a chart may look up while it is rendered")
    chart_lookup_bytes: int = _limit(32 * MIB, "size of all that a chart looks up while it is rendered")
    server_connections: int = _limit(256, "number of connections to the server of content and uploads at a time")
    server_silence_seconds: int = _limit(
        30, "seconds for which a client of that server may neither send nor take anything"
    )
    upload_seconds: int = _limit(300, "seconds that an upload may take")
    uploads: int = _limit(8, "number of uploads that are received at a time; others wait")
    permission_reports: int = _limit(4, "number of reports on permissions that are made at a time; others are refused")
    plan_reports: int = _limit(2, "number of plans of upgrades that are made at a time; others are refused")
    page_requests: int = _limit(4, "number of pages for viewers that are made at a time; others wait")
    page_seconds: int = _limit(30, "seconds that a page for viewers may take, waiting included")
    review_bytes: int = _limit(8 * MIB, "size of one admission review")
    reviews_bytes: int = _limit(
        64 * MIB, "size of all admission reviews together that are received or judged at a time; the oldest gives way"
    )
    webhook_connections: int = _limit(128, "number of connections to the port of the admission webhooks at a time")
    probe_connections: int = _limit(
        64, "number of connections at a time to the port of the probes, and as many to that of the metrics"
    )
    request_seconds: int = _limit(
        10,
        "seconds from the beginning of a connection or a request to the end of its header, on every port; as many "
        "for an admission review after it",
    )
    metrics_objects: int = _limit(
        1000, "number of objects of each kind that have metrics of their own; those that are not ready come first"
    )
    message_characters: int = _limit(32_000, "length of the message of a condition")  # the CRD schema allows 32768

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Limits":
        """The defaults, but for what `RUKPAK_LIMIT_<NAME>` says; RukPakError for what is no limit."""
        given: dict[str, int] = {}
        for name in LIMIT_NAMES:
            if text := environ.get(variable_of(name)):
                try:
                    given[name] = parse_limit(text)
                except ValueError as error:
                    raise RukPakError(f"{variable_of(name)}: {error}") from error
        return cls(**given)

    def exceeded(self, name: str, what: str) -> LimitError:
        """The error for `what` being over the limit `name`."""
        limit = getattr(self, name)
        shown = readable_size(limit) if name.endswith(_OF_BYTES) else str(limit)
        return LimitError(f"{what} exceeds the limit of {shown} ({variable_of(name)} sets it)")


def variable_of(name: str) -> str:
    """Name of the environment variable that sets a limit."""
    return f"RUKPAK_LIMIT_{name.upper()}"


def description_of(name: str) -> str:
    """Description of a limit for users."""
    return _DESCRIPTIONS[name]


def parse_limit(text: str) -> int:
    """As it is given in a flag or a variable; ValueError, with a message for the user, when it is none."""
    if not re.fullmatch(r"0{0,9}[1-9][0-9]{0,17}", text):
        raise ValueError(f"{text[:100]!r} is not a positive number")
    return int(text)


def readable_size(size: int) -> str:
    """Exact: in the largest unit that leaves no rest."""
    for unit, value in _UNITS.items():
        if size >= value and size % value == 0:
            return f"{size // value} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"


DEFAULT_LIMITS = Limits()
LIMIT_NAMES = tuple(one.name for one in fields(Limits))
_DESCRIPTIONS: Mapping[str, str] = {one.name: one.metadata[_ABOUT] for one in fields(Limits)}

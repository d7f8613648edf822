"""The end of the log of a failed container, through the API server and with the rights of the reader.

A container that waits to be started again has nothing to say: the log is that of its last run. What it holds is the
program's, so it is shown to one who asks for it and never stored.
"""

from dataclasses import dataclass

from rukpak_py.diagnosis.model import FailedContainer
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError, NotFoundError

LOG_LINES = 20
LOG_BYTES = 64 * 1024
LINE_CHARACTERS = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerLog:
    container: FailedContainer
    lines: tuple[str, ...]
    is_previous: bool


async def read_log(client: Client, container: FailedContainer) -> ContainerLog:
    """`ApiError`: the reader may not read it, or it is gone. A run before that left no log: that of this run."""
    if container.has_ended:
        try:
            return await _read(client, container, is_previous=True)
        except (InvalidError, NotFoundError):  # no such run, or its log was removed
            pass
    return await _read(client, container, is_previous=False)


async def _read(client: Client, container: FailedContainer, *, is_previous: bool) -> ContainerLog:
    body = await client.log(
        container.namespace,
        container.pod,
        container.name,
        lines=LOG_LINES,
        most=LOG_BYTES,
        previous=is_previous,
    )
    lines = body.decode(errors="replace").splitlines()[-LOG_LINES:]
    return ContainerLog(
        container=container,
        lines=tuple(line[: LINE_CHARACTERS - 1] + "…" if len(line) > LINE_CHARACTERS else line for line in lines),
        is_previous=is_previous,
    )

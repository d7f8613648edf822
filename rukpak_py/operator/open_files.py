"""How many files the process may have open: as many as it can be given, once, at its start.

Every connection needs a descriptor, and a process with none left cannot even reach the API server. The usual soft
limit of 1,024 is for programs that use select(), which nothing here does.
"""

import logging
import resource

from rukpak_py.core.limits import Limits

LOG = logging.getLogger(__name__)
HIGHEST = 1 << 20  # some programs close every descriptor up to the limit when they start, and we start programs
OWN_FILES = 256  # for watches, sources, worker processes and content
PER_FORWARDED = 2  # descriptors of a connection that is passed on to the leader


def raise_open_files(limits: Limits) -> None:
    """Raise the soft limit, and warn where the ports may use up what is left."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = wanted_limit(soft, hard)
    if wanted != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < (needed := needed_files(limits)):
        LOG.warning(
            "%d files may be open, and the connections that the limits allow need %d: raise the limit (ulimit -n), or "
            "lower the limits on connections",
            wanted,
            needed,
        )


def wanted_limit(soft: int, hard: int) -> int:
    """The new soft limit; it is never lowered."""
    highest = HIGHEST if hard == resource.RLIM_INFINITY else min(hard, HIGHEST)
    return soft if soft == resource.RLIM_INFINITY else max(soft, highest)


def needed_files(limits: Limits) -> int:
    ports = PER_FORWARDED * limits.server_connections + limits.webhook_connections + 2 * limits.probe_connections
    return ports + OWN_FILES

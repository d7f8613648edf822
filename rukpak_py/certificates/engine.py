"""Look at one want, take the next step, look again, until nothing is left to do.

Whether a write was ours, or another client was faster, shows at the next look.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from rukpak_py.certificates.steps import CertificateSettings, CertificateStep, Seen, next_step
from rukpak_py.certificates.wanted import WantedCertificate

STEPS = 20  # in one pass; more means that another client undoes them


class Site(Protocol):
    """The Secrets and the callers of one want, as they are in the cluster."""

    async def look(self) -> Seen | None:
        """None: nothing can be done for now."""
        ...

    async def take(self, step: CertificateStep, seen: Seen) -> bool:
        """Whether there may be another step."""
        ...


async def take_steps(
    site: Site, want: WantedCertificate, clock: Callable[[], datetime], settings: CertificateSettings
) -> bool:
    """False: another client changes what is written as fast as it is written."""
    for _ in range(STEPS):
        seen = await site.look()
        if seen is None or not await site.take(next_step(want, seen, clock(), settings), seen):
            return True
    return False

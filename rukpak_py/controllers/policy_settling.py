"""A replica whose admission policies are new is not ready before each API server enforces them.

What names an account before that is not judged, and has to be written again (see `judging`). Users who wait for the
operator, as `helm install --wait` does, are spared that.
"""

import asyncio
import logging
from math import isfinite

from rukpak_py.api.policies.document import Document
from rukpak_py.api.policies.installation import Installation
from rukpak_py.controllers.policy_guard import SETTLE_SECONDS, last_change, server_time
from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.admission_policies import policy_key, policy_resource
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError

LOG = logging.getLogger(__name__)
WHOLE_SECOND = 1.0  # times of the API server have no fractions


class PolicySettling:
    def __init__(self, client: Client, installation: Installation) -> None:
        self._client = client
        self._installation = installation
        self._settles_at: float | None = None

    @property
    def problem(self) -> str | None:
        if self._settles_at is None:
            return "the age of the admission policies is not known yet"
        if asyncio.get_running_loop().time() < self._settles_at:
            return "the admission policies are new, and some API servers may not enforce them yet"
        return None

    async def look(self) -> None:
        """Nothing to wait for where they are missing or cannot be read: a deployment with an account says so."""
        left = 0.0
        try:
            changes = await asyncio.gather(*map(self._last_change, self._installation.guards()))
            now = await server_time(self._client)
        except RukPakError as error:
            LOG.warning("cannot see how old the admission policies are: %s", error)
        else:
            left = seconds_to_settle(changed=max(changes), now=now)
        self._settles_at = asyncio.get_running_loop().time() + left

    async def _last_change(self, document: Document) -> float:
        try:
            live = await self._client.get_metadata(policy_resource(document), "", policy_key(document).name)
        except NotFoundError:
            return 0.0
        return last_change(live, 0.0)


def seconds_to_settle(*, changed: float, now: float) -> float:
    """Both by the clocks of API servers, which may differ. `now`: not finite where it is not known."""
    age = max(now - changed, 0.0) if isfinite(now) else 0.0
    return max(SETTLE_SECONDS + WHOLE_SECOND - age, 0.0)

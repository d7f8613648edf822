"""Our ValidatingWebhookConfiguration as the cluster has it, watched by every replica.

Whoever replaces it (`helm upgrade --force`, a restored backup) empties its `caBundle`, and the API server then refuses
every Bundle. Each change starts a pass of the certificate keeper, which repairs it on the leader. A replica is not
ready before the API server would trust what it serves.
"""

import orjson

from rukpak_py.api.names import WEBHOOK_CONFIGURATION
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.operator.adapters import WEBHOOK_CONFIGURATIONS
from rukpak_py.server.certificates import CertificateKeeper


class WebhookWatch:
    def __init__(self, client: Client, keeper: CertificateKeeper, *, is_ours_to_make: bool) -> None:
        """`is_ours_to_make`: it comes from this operator and not from the chart, so it has to be there."""
        self._keeper = keeper
        self._is_ours_to_make = is_ours_to_make
        self.informer = Informer(
            client,
            WEBHOOK_CONFIGURATIONS,
            field_selector=f"metadata.name={WEBHOOK_CONFIGURATION}",
            full=True,
            on_change=lambda *_: keeper.wake(),
        )

    def problem(self) -> str | None:
        """Why the API server would not reach us; None when it would, or was told not to call us."""
        if not self.informer.synced.is_set():
            return "the webhook configuration has not been read yet"
        live = next(iter(self.informer), None)
        if live is None:
            return "there is no webhook configuration yet" if self._is_ours_to_make else None
        if self._keeper.is_trusted_by(orjson.loads(live.json or b"{}")):
            return None
        return "the webhook configuration does not trust our certificate yet"

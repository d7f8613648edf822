"""Reports when the API server does not call our webhooks: Bundles are not guarded then, and nothing else would show it.

A state is reported when it has lasted (an upgrade replaces the configuration in a moment), and again from time to time
while it lasts. Every replica logs what it sees; the leader makes the Event too, also of what lasts since before it
led. The metric follows at once.
"""

from dataclasses import dataclass

from rukpak_py.core.metrics import WEBHOOK_CONFIGURATION_OK
from rukpak_py.server.webhook_configuration import ConfigurationState, ConfigurationStatus

GRACE_SECONDS = 5.0
REPEAT_SECONDS = 1800.0  # Events go after an hour

REASONS = {
    ConfigurationState.OK: "WebhookConfigurationRestored",
    ConfigurationState.UNTRUSTED: "WebhookConfigurationUntrusted",
    ConfigurationState.REPLACED: "WebhookConfigurationReplaced",
    ConfigurationState.MISSING: "WebhookConfigurationMissing",
}
_UNGUARDED = "Bundles and ConfigMaps are not validated. To restore it, run helm upgrade or apply install.yaml again"
CONSEQUENCES = {
    ConfigurationState.OK: "the API server calls the webhooks of this operator again",
    ConfigurationState.UNTRUSTED: "Bundles cannot be created. The operator sets caBundle; see its log",
    ConfigurationState.REPLACED: _UNGUARDED,
    ConfigurationState.MISSING: _UNGUARDED,
}


@dataclass(frozen=True, kw_only=True)
class MonitorReport:
    """For the log and, when `is_event`, for users."""

    is_warning: bool
    reason: str
    message: str
    is_logged: bool
    is_event: bool


class WebhookMonitor:
    def __init__(self, *, grace: float = GRACE_SECONDS, repeat: float = REPEAT_SECONDS) -> None:
        self._grace = grace
        self._repeat = repeat
        self._status = ConfigurationStatus(ConfigurationState.OK)
        self._since = 0.0
        self._logged = self._emitted = ConfigurationStatus(ConfigurationState.OK)
        self._emitted_at = 0.0

    def observe(self, status: ConfigurationStatus, *, now: float, leading: bool) -> MonitorReport | None:
        """What to report about this status at this moment."""
        is_ok = status.state is ConfigurationState.OK
        WEBHOOK_CONFIGURATION_OK.set(is_ok)
        if status != self._status:
            self._status, self._since = status, now
        if not is_ok and now - self._since < self._grace:
            return None
        is_logged = status != self._logged
        is_event = leading and (status != self._emitted or (not is_ok and now - self._emitted_at >= self._repeat))
        self._logged = status
        if is_event:
            self._emitted, self._emitted_at = status, now
        if not is_logged and not is_event:
            return None
        message = "; ".join(filter(None, (status.detail, CONSEQUENCES[status.state])))
        return MonitorReport(
            is_warning=not is_ok,
            reason=REASONS[status.state],
            message=message,
            is_logged=is_logged,
            is_event=is_event,
        )

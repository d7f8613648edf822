"""A configuration that does not call us is reported when it lasts, once to each reader, and again while it lasts."""

import pytest

from rukpak_py.certificates.own_watch import MonitorReport, WebhookMonitor
from rukpak_py.certificates.own_webhooks import ConfigurationState, ConfigurationStatus
from rukpak_py.core.metrics import REGISTRY

GRACE, REPEAT = 5.0, 1800.0
OK = ConfigurationStatus(ConfigurationState.OK)
MISSING = ConfigurationStatus(ConfigurationState.MISSING, "not found")
REPLACED = ConfigurationStatus(ConfigurationState.REPLACED, "calls another")
UNTRUSTED = ConfigurationStatus(ConfigurationState.UNTRUSTED, "not trusted")
Told = tuple[str, bool, bool] | None  # reason, in the log, as an Event


@pytest.fixture
def monitor() -> WebhookMonitor:
    return WebhookMonitor(grace=GRACE, repeat=REPEAT)


def said(report: MonitorReport | None) -> Told:
    return (report.reason, report.is_logged, report.is_event) if report is not None else None


# Each step: seconds since the beginning, what is seen, whether this replica leads, what is said.
Story = list[tuple[float, ConfigurationStatus, bool, Told]]
STORIES: dict[str, Story] = {
    "nothing happens": [(0, OK, True, None), (9999, OK, True, None)],
    "replaced by an upgrade in a moment": [(0, OK, True, None), (1, MISSING, True, None), (2, OK, True, None)],
    "deleted": [
        (0, MISSING, True, None),
        (GRACE, MISSING, True, ("WebhookConfigurationMissing", True, True)),
        (GRACE + 1, MISSING, True, None),
        (60, OK, True, ("WebhookConfigurationRestored", True, True)),
        (61, OK, True, None),
    ],
    "deleted for long": [
        (0, MISSING, True, None),
        (GRACE, MISSING, True, ("WebhookConfigurationMissing", True, True)),
        (GRACE + REPEAT - 1, MISSING, True, None),
        (GRACE + REPEAT, MISSING, True, ("WebhookConfigurationMissing", False, True)),
        (GRACE + REPEAT + 1, MISSING, True, None),
    ],
    "a follower logs; when it leads it makes the Event": [
        (0, REPLACED, False, None),
        (GRACE, REPLACED, False, ("WebhookConfigurationReplaced", True, False)),
        (20, REPLACED, False, None),
        (21, REPLACED, True, ("WebhookConfigurationReplaced", False, True)),
        (22, REPLACED, True, None),
    ],
    "a follower does not make an Event of what was healed before it led": [
        (0, MISSING, False, None),
        (GRACE, MISSING, False, ("WebhookConfigurationMissing", True, False)),
        (20, OK, False, ("WebhookConfigurationRestored", True, False)),
        (21, OK, True, None),
    ],
    "from one trouble to another": [
        (0, MISSING, True, None),
        (GRACE, MISSING, True, ("WebhookConfigurationMissing", True, True)),
        (10, UNTRUSTED, True, None),
        (10 + GRACE, UNTRUSTED, True, ("WebhookConfigurationUntrusted", True, True)),
        (20, OK, True, ("WebhookConfigurationRestored", True, True)),
    ],
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_lasting_status_is_reported_and_repeated(monitor: WebhookMonitor, story: Story) -> None:
    heard = [said(monitor.observe(status, now=now, leading=leading)) for now, status, leading, _ in story]
    assert heard == [expected for *_, expected in story]


def test_a_warning_says_what_follows_and_what_to_do(monitor: WebhookMonitor) -> None:
    monitor.observe(MISSING, now=0, leading=True)
    report = monitor.observe(MISSING, now=GRACE, leading=True)
    assert report is not None
    assert report.is_warning
    assert report.message.startswith(
        "not found; Bundles and ConfigMaps are not validated. To restore it, run helm upgrade"
    )


def test_the_metric_follows_at_once(monitor: WebhookMonitor) -> None:
    for status, expected in ((OK, 1), (MISSING, 0), (OK, 1), (UNTRUSTED, 0)):
        monitor.observe(status, now=0, leading=False)
        assert REGISTRY.get_sample_value("rukpak_webhook_configuration_ok") == expected

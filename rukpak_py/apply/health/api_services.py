"""APIService: its Available condition alone, before every other rule; upstream prints the message bare."""

from rukpak_py.apply.health.fields import Manifest, condition
from rukpak_py.apply.health.result import CURRENT, Health, in_progress


def api_service(obj: Manifest) -> Health:
    available = condition(obj, "Available")
    if available is None:
        return in_progress("Available condition not found")
    return in_progress(available.message) if available.is_false else CURRENT  # Unknown counts as healthy

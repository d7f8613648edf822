"""PersistentVolumeClaim: healthy when it is bound."""

from rukpak_py.apply.health.fields import Manifest, text
from rukpak_py.apply.health.result import CURRENT, Health, in_progress


def persistent_volume_claim(obj: Manifest) -> Health:
    phase = text(obj, "status.phase", "unknown")
    return CURRENT if phase == "Bound" else in_progress(f"PVC is not Bound. phase: {phase}")

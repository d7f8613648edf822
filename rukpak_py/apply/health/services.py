"""Service: one of type LoadBalancer needs its cluster IP."""

from rukpak_py.apply.health.fields import Manifest, text
from rukpak_py.apply.health.result import CURRENT, Health, in_progress


def service(obj: Manifest) -> Health:
    kind = text(obj, "spec.type")
    if kind == "LoadBalancer" and not text(obj, "spec.clusterIP"):
        return in_progress(f"ClusterIP not set. Service type: {kind}")
    return CURRENT

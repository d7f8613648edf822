"""Health of what workloads are reached by and keep their data in, and of what extends the API.

Healthy are a Service of type LoadBalancer that has its cluster IP, a PersistentVolumeClaim that is bound, and a
CustomResourceDefinition that is established. An APIService is judged by its condition Available alone, before every
other rule; upstream prints the message bare.
"""

from rukpak_py.apply.health.fields import Manifest, condition, text
from rukpak_py.apply.health.result import CURRENT, Health, failed, in_progress


def service(obj: Manifest) -> Health:
    kind = text(obj, "spec.type")
    if kind == "LoadBalancer" and not text(obj, "spec.clusterIP"):
        return in_progress(f"ClusterIP not set. Service type: {kind}")
    return CURRENT


def persistent_volume_claim(obj: Manifest) -> Health:
    phase = text(obj, "status.phase", "unknown")
    return CURRENT if phase == "Bound" else in_progress(f"PVC is not Bound. phase: {phase}")


def custom_resource_definition(obj: Manifest) -> Health:
    names = condition(obj, "NamesAccepted")
    if names is not None and names.is_false:
        return failed(names.message)
    established = condition(obj, "Established")
    if established is None:
        return in_progress("Install in progress")
    if established.is_false and established.reason != "Installing":
        return failed(established.message)
    return CURRENT if established.is_true else in_progress("Install in progress")


def api_service(obj: Manifest) -> Health:
    available = condition(obj, "Available")
    if available is None:
        return in_progress("Available condition not found")
    return in_progress(available.message) if available.is_false else CURRENT  # Unknown counts as healthy

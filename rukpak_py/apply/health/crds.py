"""CustomResourceDefinition: healthy when it is established."""

from rukpak_py.apply.health.fields import Manifest, condition
from rukpak_py.apply.health.result import CURRENT, Health, failed, in_progress


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

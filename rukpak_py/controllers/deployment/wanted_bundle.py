"""What a deployment tells of the Bundle of its template while that is not unpacked."""

from collections.abc import Collection, Mapping

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import BundlePhase, ConditionType, Reason, is_unknown_class
from rukpak_py.controllers.result.bundle_details import BundleFails, BundleOfOtherClass, UnknownClass, WaitingForBundle
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact

_CAUSES: Mapping[str, Cause] = {
    Reason.CONTENT_ERROR: Cause.UNPACK_CONTENT,
    Reason.ACCESS_DENIED: Cause.UNPACK_DENIED,
    Reason.CONFLICT: Cause.UNPACK_CONFLICT,
    Reason.UNAVAILABLE: Cause.UNPACK_UNAVAILABLE,
    Reason.CONTENT_CHANGED: Cause.UNPACK_CHANGED,
    Reason.CONTENT_LOST: Cause.UNPACK_LOST,
}


def unpack_fact(bundle: Bundle, classes: Collection[str]) -> Fact:
    """`classes`: those that this operator serves."""
    if is_unknown_class(bundle.spec.provisioner_class):
        field = "spec.template.spec.provisionerClassName"
        detail = UnknownClass(class_name=bundle.spec.provisioner_class_name, field=field)
        return Fact(cause=Cause.UNPACK_CLASS, detail=detail)
    name, unpacked = bundle.metadata.name, find_condition(bundle.status.conditions, ConditionType.UNPACKED)
    why = unpacked.message if unpacked is not None else ""
    if bundle.status.phase == BundlePhase.FAILING:
        return Fact(cause=unpack_cause(bundle), detail=BundleFails(bundle=name, why=why))
    if bundle.spec.provisioner_class not in classes:
        other = BundleOfOtherClass(bundle=name, class_name=bundle.spec.provisioner_class_name)
        return Fact(cause=Cause.BUNDLE_CLASS_NOT_SERVED, detail=other)
    ready = find_condition(bundle.status.conditions, ConditionType.READY)
    is_held_up = unpacked is not None and unpacked.reason == Reason.UNPACK_PENDING and bool(why)
    line = ready.message if is_held_up and ready is not None else ""  # without what an image's references take
    return Fact(cause=Cause.BUNDLE_UNPACKING, detail=WaitingForBundle(bundle=name, why=line))


def unpack_cause(bundle: Bundle) -> Cause:
    """As its own Ready has it."""
    ready = find_condition(bundle.status.conditions, ConditionType.READY)
    return _CAUSES.get(ready.reason, Cause.UNPACK_FAILED) if ready is not None else Cause.UNPACK_FAILED

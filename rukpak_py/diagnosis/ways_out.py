"""Ways out, one for each cause that makes something not ready: a sentence that says what to do next.

Keys are the causes in `status.notes`, and the words of kubelet, scheduler and controllers for a workload that fails.
`{name}`: of the deployment; `{object}`: of the failing object as kubectl takes it; `{namespace}`: of that object.
"""

from collections.abc import Mapping

from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.objects import ObjectKey

NOT_SEEN = "NotSeen"  # no operator has looked at it

_OF_CAUSES: Mapping[Cause, str] = {
    Cause.SUSPENDED: "Run `rukpakctl resume {name}` to have it reconciled again.",
    Cause.CLASS_NOT_SERVED: "Set spec.provisionerClassName to a class of this operator, or run the one that serves it.",
}

_OF_WORKLOADS: Mapping[str, str] = {
    "CrashLoopBackOff": "Run `rukpakctl why {name} --log`, correct the container in the bundle, and install that.",
}

_OTHERS: Mapping[str, str] = {
    NOT_SEEN: "Run `rukpakctl check`: the operator does not run, or does not watch this cluster.",
}

WAYS_OUT: Mapping[str, str] = {**_OTHERS, **_OF_WORKLOADS, **{cause.value: text for cause, text in _OF_CAUSES.items()}}


def way_out(cause: str, *, name: str, about: ObjectKey) -> str:
    """Empty for a cause of another release."""
    what = f"{about.group_kind}/{about.name}".lower()
    text = WAYS_OUT.get(cause, "")
    for place, value in (("{name}", name), ("{object}", what), ("{namespace}", about.namespace)):
        text = text.replace(place, value)
    return text

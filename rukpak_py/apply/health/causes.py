"""Causes of an unhealthy object: what its own status says of it, or that of a pod.

Kubelet, scheduler and controllers write these texts, registries and runtimes some words in them: hostile input, so
each is cut before it is used, and has one line. What a container wrote at its end is never shown: it may hold secrets.
The cause comes first and the pod and its image last, because conditions cut long lines at their end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from rukpak_py.apply.health.fields import MalformedStatus, Manifest, condition, mappings, number, text, value_at
from rukpak_py.core.objects import GroupKind
from rukpak_py.core.pull_failures import PULLING, cause_of_pull
from rukpak_py.core.text import excerpt

TEXT_CHARACTERS = 300
NAME_CHARACTERS = 200
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
_OF_RUNTIME = frozenset({"StartError", "ContainerCannotRun"})  # the runtime says why; else the container may have


def own_cause(kind: GroupKind, obj: Manifest) -> str:
    """Empty: the object itself does not know."""
    rule = _RULES.get(kind)
    try:
        return rule(obj) if rule is not None else ""
    except MalformedStatus:
        return ""


def pod_selector(kind: GroupKind, obj: Manifest) -> str:
    """The pods that may know, as a label selector; empty: none do, or those that could not be made are the cause."""
    if kind not in _WITH_PODS:
        return ""
    try:
        if _replica_failure(obj):
            return ""
        return ",".join(_requirements(obj))
    except MalformedStatus:
        return ""


def cause_among(pods: Iterable[Manifest]) -> str:
    """The cause of the newest pod that has one: one that stops a pod, else one that a pod waits for."""
    newest = sorted(pods, key=_created, reverse=True)
    for find in (_stopped, _waiting):
        for pod in newest:
            if cause := _read(find, pod):
                image = _read(_image, pod)
                return f"{cause} (Pod {_name(pod)}{f', image {image}' if image else ''})"
    return ""


def _replica_failure(obj: Manifest) -> str:
    found = condition(obj, "ReplicaFailure")
    return _said(found.reason, found.message) if found is not None and found.is_true else ""


def _job(obj: Manifest) -> str:
    found = condition(obj, "Failed")
    return _said(found.reason, found.message) if found is not None and found.is_true else ""


def _pod(obj: Manifest) -> str:
    cause, image = _stopped(obj) or _waiting(obj), _image(obj)
    return f"{cause} (image {image})" if cause and image else cause


def _claim(obj: Manifest) -> str:
    storage_class = value_at(obj, "spec.storageClassName")
    if text(obj, "status.phase") != "Pending":
        return ""
    if text(obj, "spec.volumeName"):
        return f"it waits for the PersistentVolume {_short(text(obj, 'spec.volumeName'), NAME_CHARACTERS)}"
    if storage_class is None:
        return "it names no StorageClass, and the cluster has no default one; set spec.storageClassName"
    if storage_class == "":
        return 'spec.storageClassName is "": it waits for a PersistentVolume without a class'
    return f"no volume of the StorageClass {_short(text(obj, 'spec.storageClassName'), NAME_CHARACTERS)} is bound yet"


_RULES: Mapping[GroupKind, Callable[[Manifest], str]] = {
    GroupKind("", "PersistentVolumeClaim"): _claim,
    GroupKind("", "Pod"): _pod,
    GroupKind("apps", "Deployment"): _replica_failure,
    GroupKind("apps", "ReplicaSet"): _replica_failure,
    GroupKind("batch", "Job"): _job,
}
_WITH_PODS = frozenset(
    {
        GroupKind("apps", "DaemonSet"),
        GroupKind("apps", "Deployment"),
        GroupKind("apps", "ReplicaSet"),
        GroupKind("apps", "StatefulSet"),
        GroupKind("batch", "Job"),
    }
)


def _requirements(obj: Manifest) -> Iterator[str]:
    labels = value_at(obj, "spec.selector.matchLabels")
    if isinstance(labels, Mapping):
        yield from (f"{key}={value}" for key, value in labels.items())
    for one in mappings(obj, "spec.selector.matchExpressions"):
        key, values = text(one, "key"), value_at(one, "values")
        listed = ",".join(map(str, values)) if isinstance(values, list) else ""
        match text(one, "operator"):
            case "In":
                yield f"{key} in ({listed})"
            case "NotIn":
                yield f"{key} notin ({listed})"
            case "Exists":
                yield key
            case "DoesNotExist":
                yield f"!{key}"


def _stopped(pod: Manifest) -> str:
    """The cause that stops a pod: only another spec, another node or another image changes it."""
    if value_at(pod, "metadata.deletionTimestamp") is not None:
        return ""
    for container in _containers(pod):
        if cause := _container_stopped(container):
            return f"container {_container_name(container)}: {cause}"
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.is_false and scheduled.reason:
        return _said(scheduled.reason, scheduled.message)
    return _said(text(pod, "status.reason"), text(pod, "status.message"))


def _container_stopped(container: Manifest) -> str:
    waiting = text(container, "state.waiting.reason")
    if waiting == "CrashLoopBackOff":
        return _said(waiting, _ended(container, "lastState.terminated"))
    if waiting not in _STARTING:
        return _said(waiting, _waits_for(container, waiting))
    return _ended(container, "state.terminated")


def _waits_for(container: Manifest, reason: str) -> str:
    message = text(container, "state.waiting.message")
    return cause_of_pull(message) if reason in PULLING else message


def _ended(container: Manifest, path: str) -> str:
    code = number(container, f"{path}.exitCode", 0)
    if code == 0:
        return ""
    reason = text(container, f"{path}.reason", "Error")
    said = text(container, f"{path}.message") if reason in _OF_RUNTIME else ""
    return _said(f"{reason}, exit code {code}", said)


def _waiting(pod: Manifest) -> str:
    """The cause that a pod waits for: it may still end by itself."""
    if value_at(pod, "metadata.deletionTimestamp") is not None:
        return "it is being deleted"
    for container in _containers(pod):
        if reason := text(container, "state.waiting.reason"):
            return f"container {_container_name(container)}: {_said(reason, _waits_for(container, reason))}"
    ready = condition(pod, "Ready")
    return _said(ready.reason, ready.message) if ready is not None and ready.is_false else ""


def _containers(pod: Manifest) -> Iterator[Manifest]:
    yield from mappings(pod, "status.initContainerStatuses")
    yield from mappings(pod, "status.containerStatuses")


def _container_name(container: Manifest) -> str:
    return _short(text(container, "name"), NAME_CHARACTERS)


def _image(pod: Manifest) -> str:
    """The image of the container that is the cause; empty: none is."""
    if value_at(pod, "metadata.deletionTimestamp") is not None:
        return ""
    stopped = (one for one in _containers(pod) if _container_stopped(one))
    waiting = (one for one in _containers(pod) if text(one, "state.waiting.reason"))
    first = next(stopped, None) or (None if _stopped(pod) else next(waiting, None))
    return _short(text(first, "image"), NAME_CHARACTERS) if first is not None else ""


def _said(reason: str, message: str) -> str:
    return ": ".join(part for part in (_short(reason, NAME_CHARACTERS), _short(message, TEXT_CHARACTERS)) if part)


def _short(said: str, most: int) -> str:
    """The text on one line, without control characters."""
    return "".join(one for one in " ".join(excerpt(said, most).split()) if one.isprintable())


def _read(find: Callable[[Manifest], str], pod: Manifest) -> str:
    try:
        return find(pod)
    except MalformedStatus:
        return ""


def _created(pod: Manifest) -> str:
    """Times of the API server are of one form, so they sort as strings."""
    return _read(lambda one: text(one, "metadata.creationTimestamp"), pod)


def _name(pod: Manifest) -> str:
    return _read(lambda one: f"{text(one, 'metadata.namespace')}/{text(one, 'metadata.name')}", pod)

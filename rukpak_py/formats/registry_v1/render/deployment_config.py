"""The user's additions to the operator's Deployments, applied as the last step and in a fixed order.

"Containers" are the regular ones. The Deployment that is given is never changed; what is not configured is shared.
"""

from collections.abc import Sequence
from typing import Any

from rukpak_py.formats.registry_v1.bundle import Json

_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")


def configured(deployment: Json, config: Json) -> Json:
    """`config` holds typed values; a key that is not given is absent."""
    if not config:
        return deployment
    template = deployment["spec"]["template"]
    changed = {**template, "spec": _pod(template["spec"], config)}
    added = config.get("annotations", {})
    return {
        **deployment,
        "metadata": _annotated(deployment["metadata"], added),
        "spec": {**deployment["spec"], "template": {**changed, "metadata": _annotated(changed["metadata"], added)}},
    }


def _pod(pod: Json, config: Json) -> Json:
    containers = pod.get("containers")
    changed = pod if containers is None else {**pod, "containers": [_container(each, config) for each in containers]}
    changed = _with(changed, "volumes", _by_name(pod.get("volumes"), config.get("volumes", ())))
    changed = _with(changed, "tolerations", _united(pod.get("tolerations"), config.get("tolerations", ())))
    if "nodeSelector" in config:
        changed = _with(changed, "nodeSelector", config["nodeSelector"])
    if "affinity" in config:
        changed = _with(changed, "affinity", _affinity(pod.get("affinity"), config["affinity"]))
    return changed


def _container(container: Json, config: Json) -> Json:
    changed = _with(container, "env", _by_name(container.get("env"), config.get("env", ())))
    changed = _with(changed, "envFrom", _united(container.get("envFrom"), config.get("envFrom", ())))
    mounts = _by_name(container.get("volumeMounts"), config.get("volumeMounts", ()))
    changed = _with(changed, "volumeMounts", mounts)
    return {**changed, "resources": config["resources"]} if "resources" in config else changed


def _with(value: Json, field: str, wanted: Any) -> Json:
    """Empty is absent, as Go writes these fields."""
    others = {key: item for key, item in value.items() if key != field}
    return {**others, field: wanted} if wanted else others


def _by_name(existing: Sequence[Json] | None, given: Sequence[Json]) -> list[Json]:
    """The last of several existing entries of a name is replaced; several given ones of a new name are all added."""
    entries = list(existing or ())
    positions = {entry["name"]: index for index, entry in enumerate(entries)}
    for entry in given:
        if entry["name"] in positions:
            entries[positions[entry["name"]]] = entry
        else:
            entries.append(entry)
    return entries


def _united(existing: Sequence[Json] | None, given: Sequence[Json]) -> list[Json]:
    entries = list(existing or ())
    entries.extend(entry for entry in given if entry not in entries)
    return entries


def _affinity(existing: Json | None, given: Json) -> Json:
    if not given:
        return {}
    wanted = dict(existing or {})
    for part in _AFFINITIES:
        if part in given:
            wanted = _with(wanted, part, {} if _is_empty(given[part]) else given[part])
    return {} if all(map(_is_empty, wanted.values())) else wanted


def _is_empty(part: Json) -> bool:
    """A node affinity whose required terms are an empty list says nothing either."""
    required = part.get("requiredDuringSchedulingIgnoredDuringExecution")
    has_terms = bool(required.get("nodeSelectorTerms")) if isinstance(required, dict) else bool(required)
    return not has_terms and not part.get("preferredDuringSchedulingIgnoredDuringExecution")


def _annotated(metadata: Json, added: Json) -> Json:
    return _with(metadata, "annotations", {**added, **(metadata.get("annotations") or {})})

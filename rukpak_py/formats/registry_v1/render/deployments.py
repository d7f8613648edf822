"""Deployments of the CSV: their pods learn which namespaces to watch, and find their serving certificates.

Every annotation of the CSV goes to the pods, as their own do; `olm.targetNamespaces` is empty, not absent, when
everything is watched. The user's additions are applied as the last step and in a fixed order, to the regular
containers only. What is not configured is shared, and what is given is never changed.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import DeploymentEntry
from rukpak_py.formats.registry_v1.render.certificates import Serving
from rukpak_py.formats.registry_v1.render.installation import RenderTarget

_MOUNTS = {
    "webhook-cert": "/tmp/k8s-webhook-server/serving-certs",  # noqa: S108  # a path in the operator's container
    "apiservice-cert": "/apiserver.local.config/certificates",
}
_FILES = {"webhook-cert": "tls", "apiservice-cert": "apiserver"}
_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")


def deployments(installation: RenderTarget) -> Iterator[Json]:
    served = {webhook.deployment_name for webhook in installation.bundle.csv.webhooks}
    for entry in installation.bundle.csv.deployments:
        deployment = _deployment(installation, entry)
        if entry.name in served and installation.certificates is not None:
            _mount_certificates(deployment, Serving.of(entry.name, installation.namespace))
        yield configured(deployment, installation.deployment_config)


def _deployment(installation: RenderTarget, entry: DeploymentEntry) -> Json:
    """Build a Deployment whose metadata, spec, template and pod spec are new objects: later steps change them."""
    head = installation.object("apps/v1", "Deployment", entry.name)
    if entry.label:
        head["metadata"]["labels"] = dict(entry.label)
    template = entry.spec.get("template") or {}
    metadata = template.get("metadata") or {}
    annotations = {
        **installation.bundle.csv.annotations,
        **(metadata.get("annotations") or {}),
        "olm.targetNamespaces": ",".join(installation.targets),
        "olm.operatorNamespace": installation.namespace,
    }
    pods = {**template, "metadata": {**metadata, "annotations": annotations}, "spec": dict(template.get("spec") or {})}
    return {**head, "spec": {**entry.spec, "template": pods, "revisionHistoryLimit": 1}}


def _mount_certificates(deployment: Json, serving: Serving) -> None:
    """Init containers are neither looked at nor changed, even where they mount what goes."""
    pod: Json = deployment["spec"]["template"]["spec"]
    containers = pod.get("containers") or []
    replaced = set(_MOUNTS)
    for container in containers:
        replaced.update(
            mount["name"] for mount in container.get("volumeMounts") or [] if mount["mountPath"] in _MOUNTS.values()
        )
    kept = [volume for volume in pod.get("volumes") or [] if volume["name"] not in replaced]
    pod["volumes"] = [*kept, *(_volume(name, serving) for name in _MOUNTS)]
    if containers:
        pod["containers"] = [_mounting(container, replaced) for container in containers]


def _mounting(container: Json, replaced: set[str]) -> Json:
    kept = [mount for mount in container.get("volumeMounts") or [] if mount["name"] not in replaced]
    added = [{"name": name, "mountPath": path} for name, path in _MOUNTS.items()]
    return {**container, "volumeMounts": [*kept, *added]}


def _volume(name: str, serving: Serving) -> Json:
    files = _FILES[name]
    items = [{"key": "tls.crt", "path": f"{files}.crt"}, {"key": "tls.key", "path": f"{files}.key"}]
    return {"name": name, "secret": {"secretName": serving.secret, "items": items}}


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

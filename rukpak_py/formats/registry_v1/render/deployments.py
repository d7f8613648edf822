"""Deployments of the CSV: their pods learn which namespaces to watch, and find their serving certificates.

Every annotation of the CSV goes to the pods, as their own do; `olm.targetNamespaces` is empty, not absent, when
everything is watched.
"""

from collections.abc import Iterator

from rukpak_py.formats.registry_v1.bundle import DeploymentEntry, Json
from rukpak_py.formats.registry_v1.render.certificates import Serving
from rukpak_py.formats.registry_v1.render.deployment_config import configured
from rukpak_py.formats.registry_v1.render.installation import RenderTarget

_MOUNTS = {
    "webhook-cert": "/tmp/k8s-webhook-server/serving-certs",  # noqa: S108  # a path in the operator's container
    "apiservice-cert": "/apiserver.local.config/certificates",
}
_FILES = {"webhook-cert": "tls", "apiservice-cert": "apiserver"}


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

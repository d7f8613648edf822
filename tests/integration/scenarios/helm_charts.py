"""Small charts in ConfigMaps and archives, and BundleDeployments of them."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from rukpak_py.api.names import API_VERSION, HELM_CLASS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, Resource
from tests.integration.scenarios.stage import Check, Document, Stage
from tests.unit.charts import METADATA

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
Files = Mapping[str, str]

# As the chart of the original's samples. Without pods: nothing has to run for it to be available.
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-{{ .Values.nameOverride | default "hello-world" }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: pause, image: "registry.k8s.io/pause:3.5"}]}
"""
HELLO_WORLD = {
    "Chart.yaml": METADATA.replace("web", "hello-world"),
    "values.yaml": "replicas: 0\n",
    "templates/deployment.yaml": WORKLOAD,
}


def below(root: str, files: Files) -> dict[str, bytes]:
    """The files below a folder, as a source has them; an empty `root` is the bundle's own."""
    return {f"{root}/{path}".lstrip("/"): text.encode() for path, text in files.items()}


def settings(name: str = "settings", **values: str) -> str:
    """A template of a ConfigMap; the values are what templates print: `.Values.a`."""
    data = "".join(f"  {key}: {{{{ {value} | quote }}}}\n" for key, value in values.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n{data}"


def kept(name: str) -> str:
    metadata = f"  name: {name}\n  annotations: {{helm.sh/resource-policy: keep}}\n"
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n{metadata}"


async def chart_source(stage: Stage, files: Files, *, name: str = "chart") -> Document:
    """A chart in a directory `web`, with metadata of its own."""
    folders: dict[str, dict[str, str]] = {}
    for path, text in {"Chart.yaml": METADATA, **files}.items():
        place = PurePosixPath("web", path)
        folders.setdefault(str(place.parent), {})[place.name] = text
    items = [
        {"path": folder, "configMap": {"name": await stage.files(inner, name=f"{name}-{number}")}}
        for number, (folder, inner) in enumerate(folders.items())
    ]
    return {"type": "configMaps", "configMaps": items}


async def deploy(stage: Stage, source: Document, *, name: str = "", **spec: Any) -> str:
    """A BundleDeployment of a chart, in the namespace of the test."""
    name = name or stage.name
    inner = {"provisionerClassName": HELM_CLASS, "source": source}
    given = {
        "provisionerClassName": HELM_CLASS,
        "installNamespace": stage.namespace,
        "template": {"spec": inner},
        **spec,
    }
    given = {key: value for key, value in given.items() if value is not None}
    body = {"apiVersion": API_VERSION, "kind": "BundleDeployment", "metadata": {"name": name}, "spec": given}
    await stage.create(BUNDLE_DEPLOYMENTS, "", body)
    return name


async def installed(stage: Stage, files: Files, *, name: str = "", **spec: Any) -> str:
    made = await deploy(stage, await chart_source(stage, files, name=f"chart-of-{name or 'it'}"), name=name, **spec)
    await stage.until_ready(made)
    return made


def is_available(found: Document) -> bool:
    """A workload, in the words of its controller."""
    conditions = {one["type"]: one for one in (found.get("status") or {}).get("conditions", ())}
    told = conditions.get("Available", {})
    return (told.get("status"), told.get("reason"), told.get("message")) == (
        "True",
        "MinimumReplicasAvailable",
        "Deployment has minimum availability.",
    )


def has_data(**data: str) -> Check:
    return lambda found: found.get("data") == data

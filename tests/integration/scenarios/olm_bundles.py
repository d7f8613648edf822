"""Small OLM bundles in ConfigMaps: one operator with a CRD of the test's own group, scaled to nothing, so healthy."""

from collections.abc import Mapping, Sequence
from typing import Any

from rukpak_py.api.names import API_VERSION, REGISTRY_CLASS
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.integration.scenarios.stage import Document, Stage
from tests.unit.bundles import bundle, crd, csv_document, deployment, modes, owned_crd

MODES = ("AllNamespaces", "OwnNamespace", "SingleNamespace", "MultiNamespace")


def idle(name: str = "controller", **pod: Any) -> Document:
    """A Deployment without pods: nothing has to run for it to be available."""
    made: Document = deployment(name, service_account="controller", **pod)
    made["spec"]["replicas"] = 0
    return made


def package(stage: Stage) -> str:
    return f"{stage.name}-demo"


async def registry_source(
    stage: Stage,
    *,
    install_modes: Sequence[str] = MODES,
    annotations: Mapping[str, str] | None = None,
    version: str = "1.0.0",
    name: str = "bundle",
    dependencies: Sequence[Document] = (),
    others: Sequence[Document] = (),
    webhooks: Sequence[Document] = (),
    definition: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Document:
    """The source of a bundle; `definition` has fields of its CRD's spec, further keywords are fields of the CSV's."""
    csv = csv_document(
        f"{package(stage)}.v{version}",
        annotations={"alm-examples": "[]", **(annotations or {})},
        owned=[owned_crd(f"demos.{stage.group}")],
        deployments=[idle()],
        permissions=[{"serviceAccountName": "controller", "rules": READING}],
        installModes=modes(*install_modes),
        webhooks=webhooks or None,
        version=version,
        **spec,
    )
    files = {"metadata/dependencies.yaml": {"dependencies": list(dependencies)}} if dependencies else {}
    crds = [crd(group=stage.group, **(definition or {}))]
    tree = bundle(csv=csv, crds=crds, others=others, package=package(stage), files=files)
    items = []
    for path in ("manifests", "metadata"):
        given = {file.partition("/")[2]: tree[file].decode() for file in tree if file.startswith(f"{path}/")}
        config_map = await stage.files(given, name=f"{name}-{path}")
        items.append({"path": path, "configMap": {"name": config_map}})
    return {"type": "configMaps", "configMaps": items}


async def deploy(stage: Stage, source: Document, *, of_class: str = REGISTRY_CLASS, **spec: Any) -> str:
    """A BundleDeployment of an OLM bundle."""
    inner = {"provisionerClassName": REGISTRY_CLASS, "source": source}
    spec = {"provisionerClassName": of_class, "template": {"spec": inner}, **spec}
    body = {"apiVersion": API_VERSION, "kind": "BundleDeployment", "metadata": {"name": stage.name}, "spec": spec}
    await stage.create(BUNDLE_DEPLOYMENTS, "", body)
    return stage.name


READING = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]

"""Description of a bundle as a value that can be printed: names, APIs, webhooks, images, dependencies and sizes.

Everything comes from content, so texts may hold anything, and fields that are no object of the format are left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rukpak_py.apply.permissions.permission import mapping, text
from rukpak_py.content.tree import Tree
from rukpak_py.formats.detection import FormatName
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.helm.chart import Chart, read_chart
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import Dependency, RegistryBundle
from rukpak_py.formats.registry_v1.metadata.dependencies import NO_VALUE
from rukpak_py.formats.registry_v1.requirements import required_by_csv
from rukpak_py.library.opened import ChartOptions, OpenedBundle

_POD_SPECS = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_TEMPLATE_SPEC = ("spec", "template", "spec")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def description(opened: OpenedBundle, chart: ChartOptions) -> Json:
    """All of it; a bundle with defects is described, too. `chart`: how a chart is rendered."""
    found = of_tree(opened.tree, opened.format.value)
    if opened.image is not None:
        found["image"] = {"digest": opened.image.digest or None, "labels": dict(sorted(opened.image.labels().items()))}
    if opened.format is FormatName.REGISTRY:
        return found | of_bundle(opened.reading.bundle or opened.bundle)  # the latter says why there is none
    if opened.format is FormatName.HELM:
        found |= of_chart(read_chart(opened.tree, opened.limits, is_directory=opened.is_directory))
    return found | of_objects(opened.render(RenderOptions(limits=opened.limits), chart).all)


def of_tree(tree: Tree, format_name: str) -> Json:
    largest = max(tree, key=tree.size_of, default=None)
    return {
        "format": format_name,
        "digest": tree.digest,
        "files": len(tree),
        "bytes": tree.total_bytes,
        "largestFile": None if largest is None else {"path": largest, "bytes": tree.size_of(largest)},
    }


def of_objects(objects: Iterable[Json]) -> Json:
    """Describe plain manifests, or a rendered chart."""
    objects = list(objects)
    kinds = Counter(text(manifest.get("kind")) for manifest in objects)
    return {
        "objects": [{"kind": kind, "count": count} for kind, count in sorted(kinds.items())],
        "definitions": [_definition(manifest) for manifest in objects if manifest.get("kind") == _CRD],
        "images": _images(_container_images(objects), []),
    }


def of_chart(chart: Chart) -> Json:
    metadata = chart.metadata
    return {
        "name": metadata.name,
        "version": metadata.version,
        "appVersion": metadata.app_version or None,
        "description": metadata.description or None,
        "kubeVersion": metadata.kube_version or None,
        "dependencies": [
            {"type": "chart", "value": {"name": wanted.name, "version": wanted.version}}
            for wanted in metadata.dependencies
        ],
    }


def of_bundle(bundle: RegistryBundle) -> Json:
    csv = bundle.csv
    spec = mapping(csv.typed.get("spec"))
    return {
        "package": bundle.metadata.package,
        "name": csv.name,
        "displayName": text(spec.get("displayName")) or None,
        "version": text(spec.get("version")) or None,
        "provider": text(mapping(spec.get("provider")).get("name")) or None,
        "capabilities": csv.annotations.get("capabilities") or None,
        "replaces": text(spec.get("replaces")) or None,
        "skips": [text(name) for name in spec.get("skips") or []],
        "skipRange": csv.annotations.get("olm.skipRange") or None,
        "minKubeVersion": text(spec.get("minKubeVersion")) or None,
        "openshiftVersions": bundle.metadata.openshift_versions or None,
        "channels": [channel for channel in bundle.metadata.channels.split(",") if channel],
        "defaultChannel": bundle.metadata.default_channel or None,
        "installModes": csv.supported_modes,
        "definitions": [_definition(definition.manifest) for definition in bundle.definitions],
        "required": [
            {"group": one.gvk.group, "kind": one.gvk.kind, "version": one.gvk.version}
            for one in required_by_csv(bundle)
        ],
        "webhooks": [
            {"name": webhook.generate_name, "type": webhook.type, "deployment": webhook.deployment_name}
            for webhook in csv.webhooks
        ],
        "deployments": [entry.name for entry in csv.deployments],
        "objects": [
            {"kind": kind, "count": count}
            for kind, count in sorted(Counter(other.kind for other in bundle.others).items())
        ],
        "images": _images(_deployment_images(bundle), _related_images(spec)),
        "dependencies": [_dependency(found) for found in bundle.metadata.dependencies],
    }


def _dependency(dependency: Dependency) -> Json:
    """Without `value` where the bundle gives none: that is not null."""
    return {"type": dependency.type} | ({} if dependency.value is NO_VALUE else {"value": dependency.value})


_CRD = "CustomResourceDefinition"


def _definition(manifest: Json) -> Json:
    spec = mapping(manifest.get("spec"))
    listed = spec.get("versions")
    versions = [mapping(version) for version in listed] if isinstance(listed, list) else []
    names = [text(version.get("name")) for version in versions] or [text(spec.get("version"))]
    return {
        "group": text(spec.get("group")),
        "kind": text(mapping(spec.get("names")).get("kind")),
        "versions": [name for name in names if name],
        "scope": text(spec.get("scope")) or None,
    }


def _images(used: Iterable[tuple[str, str]], related: Iterable[tuple[str, str]]) -> list[Json]:
    """Every image once, with who names it."""
    named_by: dict[str, list[str]] = {}
    for image, name in (*used, *related):
        users = named_by.setdefault(image, [])
        if name not in users:
            users.append(name)
    return [
        {"image": image, "pinned": "@sha256:" in image, "usedBy": users} for image, users in sorted(named_by.items())
    ]


def _deployment_images(bundle: RegistryBundle) -> Iterator[tuple[str, str]]:
    for entry in bundle.csv.deployments:
        template = mapping(entry.spec.get("template"))
        yield from _images_of_pod(mapping(template.get("spec")), entry.name)


def _related_images(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    listed = spec.get("relatedImages")
    for related in listed if isinstance(listed, list) else []:
        if image := text(mapping(related).get("image")):
            yield image, "relatedImages"


def _container_images(objects: Iterable[Json]) -> Iterator[tuple[str, str]]:
    for manifest in objects:
        kind = text(manifest.get("kind"))
        pod: Mapping[str, Any] = manifest
        for step in _POD_SPECS.get(kind, _TEMPLATE_SPEC):
            pod = mapping(pod.get(step))
        yield from _images_of_pod(pod, text(mapping(manifest.get("metadata")).get("name")))


def _images_of_pod(pod: Mapping[str, Any], owner: str) -> Iterator[tuple[str, str]]:
    for field in _CONTAINERS:
        listed = pod.get(field)
        for container in listed if isinstance(listed, list) else []:
            if image := text(mapping(container).get("image")):
                yield image, owner

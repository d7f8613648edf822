"""The real bundles of the corpus as an operator gets them: an archive, a BundleDeployment, and what the cluster needs.

What they bring and need is read from our own rendering. A kind counts as needed when the rendering has objects of it,
or the bundle requires it, and neither Kubernetes nor the bundle itself serves it. Such kinds come as empty CRDs: no
field is described, so every object fits.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, REGISTRY_CLASS
from rukpak_py.apply.order import is_builtin
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.bundle import InstallMode, RegistryBundle
from rukpak_py.formats.registry_v1.requirements import requirements
from rukpak_py.library import open_bundle
from tests.corpus.place import BUNDLES
from tests.unit.sources.websites import tgz
from tests.unit.web_servers import Answer, Asked

WATCHED = "watched"  # the namespace for operators that must watch another one than their own

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RealBundle:
    path: Path
    package: str
    watch_namespaces: tuple[str, ...] | None  # None: the bundle decides
    manifests: tuple[Document, ...]  # as rendered
    required: frozenset[GroupVersionKind]
    has_unknown_fields: bool  # which the operator sends until the server refuses them; the rendering has none

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def deployment(self) -> str:
        """Short enough for a label."""
        return f"corpus-{self.name.partition('-')[0]}"

    @cached_property
    def keys(self) -> frozenset[ObjectKey]:
        return frozenset(_key(manifest) for manifest in self.manifests)

    @cached_property
    def brought(self) -> frozenset[GroupKind]:
        """The kinds of its own CRDs."""
        crds = (one["spec"] for one in self.manifests if one["kind"] == "CustomResourceDefinition")
        return frozenset(GroupKind(spec["group"], spec["names"]["kind"]) for spec in crds)

    @cached_property
    def names(self) -> frozenset[tuple[str, str]]:
        """Names of its CRDs, short names included: within a group, the first CRD with a name has it."""
        crds = (one["spec"] for one in self.manifests if one["kind"] == "CustomResourceDefinition")
        return frozenset(
            (spec["group"], name)
            for spec in crds
            for name in (spec["names"]["kind"], spec["names"]["plural"], *(spec["names"].get("shortNames") or ()))
        )

    @cached_property
    def needed(self) -> dict[GroupVersionKind, bool]:
        """The kinds that the bundle needs and does not bring, and whether they are namespaced."""
        required = dict.fromkeys(self.required, True)
        rendered = {_kind(one): "namespace" in one["metadata"] for one in self.manifests}
        return {
            gvk: namespaced
            for gvk, namespaced in (required | rendered).items()
            if not is_builtin(gvk.group) and gvk.group_kind not in self.brought
        }

    @property
    def has_failing_webhooks(self) -> bool:
        """While they are there and its pods do not run, what they are called for is refused."""
        configurations = (one for one in self.manifests if one["kind"].endswith("WebhookConfiguration"))
        return any(hook.get("failurePolicy", "Fail") == "Fail" for one in configurations for hook in one["webhooks"])

    def body(self, server: str) -> Document:
        """Its BundleDeployment; the content comes from the server, which answers with archives."""
        source = {"type": "http", "http": {"url": f"http://{server}/{self.name}.tgz"}}
        template = {"spec": {"provisionerClassName": REGISTRY_CLASS, "source": source}}
        spec: Document = {"provisionerClassName": REGISTRY_CLASS, "template": template}
        if self.watch_namespaces is not None:
            spec["watchNamespaces"] = list(self.watch_namespaces)
        metadata = {"name": self.deployment}
        return {"apiVersion": API_VERSION, "kind": BUNDLE_DEPLOYMENT_KIND, "metadata": metadata, "spec": spec}


def real_bundle(path: Path) -> RealBundle:
    opened = open_bundle(path)
    watched = _watched(opened.bundle)
    return RealBundle(
        path=path,
        package=opened.bundle.metadata.package,
        watch_namespaces=watched,
        manifests=tuple(opened.render(RenderOptions(watch_namespaces=watched)).objects),
        required=frozenset(one.gvk for one in requirements(opened.bundle)),
        has_unknown_fields=bool(opened.reading.unknown),
    )


def real_bundles(folder: Path = BUNDLES) -> Iterator[RealBundle]:
    """Those whose names begin with a number; the others were made for tests."""
    return map(real_bundle, sorted(folder.glob("[0-9]*")))


def answer_with_archive(asked: Asked) -> Answer:
    """Answer of a web server: the archive of a bundle, by its name."""
    folder = BUNDLES / Path(asked.path).stem
    if asked.path != f"/{folder.name}.tgz" or not folder.is_dir():
        return Answer(404)
    return Answer(200, body=archive(folder))


@cache
def archive(folder: Path) -> bytes:
    return tgz({str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()})


def can_meet(one: RealBundle, other: RealBundle) -> bool:
    """Whether they can be installed in one cluster at a time."""
    return not (
        one.package == other.package
        or one.keys & other.keys
        or one.names & other.names
        or one.brought & _group_kinds(other.needed)
        or other.brought & _group_kinds(one.needed)
    )


def batches(bundles: Iterable[RealBundle], size: int) -> list[list[RealBundle]]:
    """Batches of bundles that can meet; those whose webhooks would be in the way of others come alone, at the end."""
    together: list[list[RealBundle]] = []
    alone: list[list[RealBundle]] = []
    for bundle in bundles:
        if bundle.has_failing_webhooks:
            alone.append([bundle])
            continue
        free = (batch for batch in together if len(batch) < size and all(can_meet(bundle, one) for one in batch))
        batch = next(free, None)
        if batch is None:
            together.append([bundle])
        else:
            batch.append(bundle)
    return together + alone


def empty_definitions(bundles: Iterable[RealBundle]) -> list[Document]:
    """CRDs of all kinds that these bundles need."""
    needed: dict[GroupKind, dict[str, bool]] = {}
    for bundle in bundles:
        for gvk, namespaced in bundle.needed.items():
            needed.setdefault(gvk.group_kind, {})[gvk.version] = namespaced
    return [_empty_definition(kind, versions) for kind, versions in sorted(needed.items())]


def _empty_definition(kind: GroupKind, versions: dict[str, bool]) -> Document:
    plural = f"{kind.kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": plural, "singular": kind.kind.lower(), "kind": kind.kind, "listKind": f"{kind.kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if all(versions.values()) else "Cluster",
            "names": names,
            "versions": [
                {"name": version, "served": True, "storage": number == 0, "schema": schema}
                for number, version in enumerate(sorted(versions))
            ],
        },
    }


def _watched(bundle: RegistryBundle) -> tuple[str, ...] | None:
    is_free = {InstallMode.ALL, InstallMode.OWN} & set(bundle.csv.supported_modes)
    return None if is_free else (WATCHED,)


def _kind(manifest: Document) -> GroupVersionKind:
    return GroupVersionKind.parse(manifest.get("apiVersion", ""), manifest["kind"])


def _key(manifest: Document) -> ObjectKey:
    gvk, metadata = _kind(manifest), manifest["metadata"]
    return ObjectKey(gvk.group, gvk.kind, metadata.get("namespace", ""), metadata["name"])


def _group_kinds(kinds: Iterable[GroupVersionKind]) -> set[GroupKind]:
    return {gvk.group_kind for gvk in kinds}

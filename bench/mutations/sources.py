"""Content that mutants are made of: real bundles of operators, plain bundles, and charts.

Each is a set of files. The manifests in them are documents that cases can change; a CSV is not changed itself, but its
deployments, permissions and webhook definitions are seen as manifests. The real bundles are divided in two by package:
one half for the first set of mutants, the other for the set that is kept back.
"""

import copy
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

from bench.mutations.changes import Document
from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.detection import FormatName
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.bundle import InstallMode
from rukpak_py.library import OpenedBundle, open_bundle
from tests.corpus.place import BUNDLES

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = Path(__file__).parent / "manifests"
CHARTS = {
    False: (ROOT / "docs/samples/web-chart", ROOT / "charts/rukpak"),
    True: tuple(
        ROOT / "tests/helm_oracle/charts" / name
        for name in ("hooks", "checked-values", "release-facts", "kept-objects")
    ),
}
NAMESPACE, WATCHED = "mutations", "mutations-watched"
OLM_SOURCES, PLAIN_SOURCES, CHART_SOURCES = 60, 30, 12
CHART_YAML = b"apiVersion: v2\nname: mutated\nversion: 1.0.0\n"


class Sort(StrEnum):
    OLM = "olm"
    PLAIN = "plain"
    CHARTS = "charts"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A manifest in a source: a document, or the part of a CSV that is like one."""

    file: str
    index: int
    part: str = ""  # of a CSV: deployments/0
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.file}[{self.index}]{f' {self.part}' if self.part else ''}"


@dataclass(frozen=True, kw_only=True)
class Source:
    name: str
    sort: Sort
    files: Mapping[str, bytes]
    documents: Mapping[str, list[Any]] = field(default_factory=dict)  # those files that cases of manifests change
    is_text: bool = False  # a chart whose templates are changed as texts

    def places(self) -> list[tuple[Place, Document]]:
        return [
            (Place(file=file, index=index, part=part, kind=manifest["kind"]), manifest)
            for file, documents in self.documents.items()
            for index, document in enumerate(documents)
            if isinstance(document, dict)
            for part, manifest in _parts(document)
            if isinstance(manifest.get("kind"), str) and isinstance(manifest.get("apiVersion"), str)
        ]

    def with_manifest(self, place: Place, manifest: Document) -> dict[str, bytes]:
        """The files, with a changed manifest at the place."""
        documents = copy.deepcopy(self.documents[place.file])
        if place.part:
            _put_part(documents[place.index], place.part, manifest)
        else:
            documents[place.index] = manifest
        return {**self.files, place.file: written(documents, self.sort)}


def opened(files: Mapping[str, bytes], sort: Sort) -> OpenedBundle:
    formats = {Sort.OLM: FormatName.REGISTRY, Sort.PLAIN: FormatName.PLAIN, Sort.CHARTS: FormatName.HELM}
    return OpenedBundle(tree=_tree(files), format=formats[sort], parity=False, limits=DEFAULT_LIMITS)


def render_options(bundle: OpenedBundle) -> RenderOptions:
    watched: tuple[str, ...] | None = None
    if bundle.format is FormatName.REGISTRY:
        modes = set(bundle.bundle.csv.supported_modes)
        watched = (WATCHED,) if modes and not {InstallMode.ALL, InstallMode.OWN} & modes else None
    return RenderOptions(install_namespace=NAMESPACE, watch_namespaces=watched)


def sources(sort: Sort, *, is_kept_back: bool, random: Random) -> list[Source]:
    """The sources of a set, in an order that the seed decides. Those that cannot be rendered are left out."""
    match sort:
        case Sort.OLM:
            found = [_olm(path) for path in _some(is_kept_back, random, OLM_SOURCES)]
        case Sort.PLAIN:
            found = [_plain(path) for path in _some(is_kept_back, random, PLAIN_SOURCES)]
            found = [own(sort, is_kept_back=is_kept_back), *found]
        case Sort.CHARTS:
            found = [_chart(path) for path in _some(is_kept_back, random, CHART_SOURCES)]
            texts = [chart_of_texts(path) for path in CHARTS[is_kept_back]]
            found = [own(sort, is_kept_back=is_kept_back), *texts, *found]
    return [one for one in found if one is not None]


def own(sort: Sort, *, is_kept_back: bool) -> Source:
    """The source of manifests of our own, which have most kinds."""
    name = "second" if is_kept_back else "first"
    documents = yaml.load_all((MANIFESTS / f"{name}.yaml").read_bytes())
    return _of_manifests(f"own {name}", sort, documents)


def written(documents: list[Any], sort: Sort) -> bytes:
    text = "".join(dump_all(documents))
    return (_escaped(text) if sort is Sort.CHARTS else text).encode()


def _escaped(text: str) -> str:
    """As the text of a template that gives this text."""
    return re.sub(r"[{}]{2,}", lambda braces: f'{{{{ "{braces[0]}" }}}}', text)


def _some(is_kept_back: bool, random: Random, number: int) -> list[Path]:  # noqa: FBT001 - one private caller
    paths = [path for path in sorted(BUNDLES.glob("[0-9]*")) if _is_kept_back(path) is is_kept_back]
    return random.sample(paths, min(number, len(paths)))


def _is_kept_back(path: Path) -> bool:
    """The half, by the first word of the package: families of bundles stay together."""
    return zlib.crc32(path.name.split("-")[1].encode()) % 2 == 1


def _olm(path: Path) -> Source | None:
    found = dict(open_bundle(path, format="registry+v1").tree)
    documents: dict[str, list[Any]] = {}
    try:
        for file, content in found.items():
            if file.startswith("manifests/"):
                documents[file] = yaml.load_all(content)
        files = found | {file: written(several, Sort.OLM) for file, several in documents.items()}
        bundle = opened(files, Sort.OLM)
        bundle.render(render_options(bundle))
    except RukPakError:
        return None
    return Source(name=path.name, sort=Sort.OLM, files=files, documents=documents)


def _plain(path: Path) -> Source | None:
    rendered = _rendered(path)
    return _of_manifests(path.name, Sort.PLAIN, rendered) if rendered else None


def _chart(path: Path) -> Source | None:
    rendered = [one for one in _rendered(path) if one["kind"] != "CustomResourceDefinition"]
    return _of_manifests(path.name, Sort.CHARTS, rendered) if rendered else None


def _rendered(path: Path) -> list[Document]:
    try:
        bundle = open_bundle(path, format="registry+v1")
        return bundle.render(render_options(bundle)).objects
    except RukPakError:
        return []


def _of_manifests(name: str, sort: Sort, manifests: list[Document]) -> Source:
    """A file for each manifest, so that a mutant parses one only."""
    folder = "templates" if sort is Sort.CHARTS else "manifests"
    documents = {f"{folder}/{number:03}-{one['kind'].lower()}.yaml": [one] for number, one in enumerate(manifests)}
    files = {file: written(several, sort) for file, several in documents.items()}
    if sort is Sort.CHARTS:
        files["Chart.yaml"] = CHART_YAML
    return Source(name=name, sort=sort, files=files, documents=documents)


def chart_of_texts(path: Path) -> Source:
    files = {str(one.relative_to(path)): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}
    return Source(name=f"chart {path.name}", sort=Sort.CHARTS, files=files, is_text=True)


def _tree(files: Mapping[str, bytes]) -> Tree:
    builder = TreeBuilder()
    for path, content in files.items():
        builder.add(path, content)
    return builder.build()


# --- parts of a CSV


def _parts(document: Document) -> Iterator[tuple[str, Document]]:
    if document.get("kind") != "ClusterServiceVersion":
        yield "", document
        return
    install = document["spec"]["install"]["spec"]
    for number, one in enumerate(install.get("deployments") or ()):
        metadata = {"name": one["name"]} | ({"labels": one["label"]} if one.get("label") else {})
        manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": one["spec"]}
        yield f"deployments/{number}", manifest
    for key, kind in (("permissions", "Role"), ("clusterPermissions", "ClusterRole")):
        for number, one in enumerate(install.get(key) or ()):
            manifest = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "rules": one.get("rules") or []}
            yield f"{key}/{number}", manifest
    for number, one in enumerate(document["spec"].get("webhookdefinitions") or ()):
        yield f"webhookdefinitions/{number}", {"apiVersion": "v1", "kind": "WebhookDefinition", **one}


def _put_part(csv: Document, part: str, manifest: Document) -> None:
    """Write a changed part back, as far as a CSV has a field for it."""
    key, _, number = part.partition("/")
    around = csv["spec"] if key == "webhookdefinitions" else csv["spec"]["install"]["spec"]
    old = around[key][int(number)]
    if key == "webhookdefinitions":
        around[key][int(number)] = {
            name: value for name, value in manifest.items() if name not in {"apiVersion", "kind"}
        }
    elif key == "deployments":
        metadata = manifest.get("metadata")
        changes = {"name": metadata.get("name"), "label": metadata.get("labels")} if isinstance(metadata, dict) else {}
        new = {**old, **changes, "spec": manifest.get("spec")}
        around[key][int(number)] = {name: value for name, value in new.items() if value is not None}
    else:
        around[key][int(number)] = {**old, "rules": manifest.get("rules")}

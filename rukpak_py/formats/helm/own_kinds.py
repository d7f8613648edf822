"""The kinds that the chart's own crds/ bring: `helm install` asks what the cluster serves after it has created them."""

from collections.abc import Iterator
from dataclasses import replace

from rukpak_py.content import yaml
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.helm.chart import Chart
from rukpak_py.formats.helm.cluster_view import ClusterView, ServedKind, ServedVersion
from rukpak_py.formats.helm.output import crd_files


def with_own_kinds(view: ClusterView, chart: Chart, limits: Limits) -> ClusterView:
    """Add the kinds that the chart itself defines. Kinds that the cluster serves already stay as they are."""
    served = {(one.group, one.version): one for one in view.served}
    for own in own_kinds(chart, limits):
        there = served.setdefault((own.group, own.version), replace(own, kinds=()))
        known = {kind.kind for kind in there.kinds}
        added = tuple(kind for kind in own.kinds if kind.kind not in known)
        served[own.group, own.version] = replace(there, kinds=(*there.kinds, *added))
    return replace(view, served=tuple(served.values()))


def own_kinds(chart: Chart, limits: Limits) -> Iterator[ServedVersion]:
    for files in crd_files(chart).values():
        for data in files:
            yield from _kinds_of(data, limits)


def _kinds_of(data: bytes, limits: Limits) -> Iterator[ServedVersion]:
    """Kinds of the definitions in a file. A file that cannot be read has none here: rendering refuses it by name."""
    try:
        documents = list(yaml.documents(data, limits=limits))
    except ContentError:
        return
    for document in documents:
        if not isinstance(document, dict) or document.get("kind") != "CustomResourceDefinition":
            continue
        crd = crd_facts(document)
        if crd is None:
            continue
        one = ServedKind(kind=crd.kind.kind, plural=crd.plural, namespaced=crd.namespaced)
        for version in crd.versions:
            yield ServedVersion(group=crd.kind.group, version=version, kinds=(one,))

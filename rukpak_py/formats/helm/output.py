"""The output of `helm template --include-crds`, cut into its documents.

Helm puts `---` and `# Source: PATH` before everything: first the files of crds/, as they are, then one section for each
document of a template. No template can forge such a mark: helm cuts what it renders at every line that begins with
`---`, and names of files have no line breaks. A file of crds/ can hold one (it may be the output of helm), so these
files are known beforehand, and skipped as a whole. The kinds that they bring are known before helm runs, too:
`helm install` asks what the cluster serves after it has created them.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rukpak_py.content import yaml
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.helm.chart import Chart
from rukpak_py.formats.helm.cluster_view import ClusterView, ServedKind, ServedVersion

_MARK: Final = re.compile(rb"^---\n# Source: (?P<path>.*)\n", re.MULTILINE)
_CRD_PATH: Final = re.compile(r"[^/]+(?:/charts/[^/]+)*/(?P<file>crds/.+)")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

CrdFiles = Mapping[str, Sequence[bytes]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    source: str  # chart/templates/deployment.yaml
    text: bytes
    is_crd: bool


def crd_files(chart: Chart) -> CrdFiles:
    """The files of crds/ of a chart and its subcharts, by path; without what helm takes off before it prints them."""
    found: defaultdict[str, list[bytes]] = defaultdict(list)
    for one in chart.with_subcharts():
        for path, data in one.files.items():
            if path.startswith("crds/"):
                found[path].append(data.removeprefix(_BYTE_ORDER_MARK).rstrip())
    return found


def sections(output: bytes, known: CrdFiles) -> Iterator[Section]:
    mark = _MARK.search(output)
    may_be_crd = True
    while mark is not None:
        source = mark["path"].decode(errors="replace")
        named = _CRD_PATH.fullmatch(source) if may_be_crd else None
        may_be_crd = named is not None
        start = mark.end()
        least = start + _length(output, start, known.get(named["file"], ()) if named else ())
        mark = _MARK.search(output, least)
        end = mark.start() if mark is not None else len(output)
        yield Section(source=source, text=output[start:end], is_crd=named is not None)


def _length(output: bytes, start: int, files: Sequence[bytes]) -> int:
    """Length of the file that is printed there; 0 when it is none of them."""
    return max((len(data) for data in files if output.startswith(data, start)), default=0)


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

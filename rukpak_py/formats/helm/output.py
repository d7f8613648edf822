"""The output of `helm template --include-crds`, cut into its documents.

Helm puts `---` and `# Source: PATH` before everything: first the files of crds/, as they are, then one section for each
document of a template. No template can forge such a mark: helm cuts what it renders at every line that begins with
`---`, and names of files have no line breaks. A file of crds/ can hold one (it may be the output of helm), so these
files are known beforehand, and skipped as a whole.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rukpak_py.formats.helm.chart import Chart

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

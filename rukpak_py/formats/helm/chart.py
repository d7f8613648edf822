"""A chart as helm loads it: metadata, files, and the charts in its charts/, packed or not.

What helm refuses when it loads a chart is refused here, in its words, before any process is started: see `read_chart`.
Packed subcharts are unpacked within one budget for all of them, however deep they lie.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from rukpak_py.content import yaml
from rukpak_py.content.tar import read_archive
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, InvalidBundleError, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, MIB, Limits
from rukpak_py.formats.helm.layout import CHART, IGNORE_FILE, IgnoreRuleError, chart_root, loaded_files
from rukpak_py.formats.helm.metadata import LIBRARY, ChartMetadata, dependencies_of, metadata_of, validate
from rukpak_py.formats.manifests import advice_on_olm, advice_on_plain
from rukpak_py.formats.type_defects import Wanted, must_be

VALUES: Final = "values.yaml"
REQUIREMENTS: Final = "requirements.yaml"
SCHEMA: Final = "values.schema.json"
LOADING: Final = "HELM-002"
MISSING: Final = "HELM-003"
NOT_INSTALLABLE: Final = "HELM-004"
HINTS: Final = {
    LOADING: "Correct the file: `helm lint` finds the same.",
    MISSING: "Run `helm dependency build`, and ship what it puts into charts/: nothing is downloaded.",
    NOT_INSTALLABLE: "Install a chart that uses it: a library has no objects of its own.",
}
_WHERE_IT_IS: Final = f"{CHART} must be at the root of the content, or in the one directory that the root has."
_LARGEST_FILE: Final = 5 * MIB  # helm's own limits
_LARGEST_CHART: Final = 100 * MIB
_DEEPEST: Final = 8  # archives in archives
T = TypeVar("T")

_DRIVE: Final = re.compile("[a-zA-Z]:/")
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    metadata: ChartMetadata
    files: Mapping[str, bytes]  # by their path from the chart's root, without those of subcharts
    subcharts: tuple["Chart", ...] = ()

    def with_subcharts(self) -> Iterator["Chart"]:
        yield self
        for chart in self.subcharts:
            yield from chart.with_subcharts()


def read_chart(tree: Tree, limits: Limits = DEFAULT_LIMITS, *, is_directory: bool = False) -> Chart:
    """The chart of a bundle that can be installed; InvalidBundleError with the first reason why it cannot.

    `is_directory`: the content did not come as an archive, so its `.helmignore` counts.
    """
    try:
        chart = _Loader(limits).load(_files_of(tree, is_directory=is_directory))
        _demand_installable(chart)
    except _DefectError as error:
        raise error.located(chart_root(tree)) from error
    return chart


def _files_of(tree: Tree, *, is_directory: bool) -> Tree:
    try:
        return loaded_files(tree, is_directory=is_directory)
    except IgnoreRuleError as error:
        raise _DefectError(f"cannot load {IGNORE_FILE}: {error}", file=IGNORE_FILE, at=(error.line, 0)) from error


class _DefectError(ContentError):
    def __init__(
        self, text: str, *, rule: str = LOADING, file: str = "", at: tuple[int, int] = (0, 0), hint: str = ""
    ) -> None:
        super().__init__(text)
        self.rule, self.file, self.at, self.hint = rule, file, at, hint or HINTS[rule]

    def located(self, root: str) -> InvalidBundleError:
        finding = Finding(
            rule=self.rule,
            severity=Severity.ERROR,
            message=str(self),
            hint=self.hint,
            file="/".join(filter(None, (root, self.file))),
            line=self.at[0],
            column=self.at[1],
        )
        return InvalidBundleError([finding], text=str(self))


def _demand_installable(chart: Chart) -> None:
    kind = chart.metadata.type
    if kind == LIBRARY:
        raise _DefectError(f"{kind} charts are not installable", rule=NOT_INSTALLABLE, file=CHART)
    there = {subchart.metadata.name for subchart in chart.subcharts}
    missing = [wanted.name for wanted in chart.metadata.dependencies if wanted.name not in there]
    if missing:
        text = f"found in Chart.yaml, but missing in charts/ directory: {', '.join(missing)}"
        raise _DefectError(text, rule=MISSING, file=CHART)


class _Loader:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._unpacked = 0

    def load(self, files: Mapping[str, bytes], depth: int = 0) -> Chart:
        if not files:
            raise _DefectError("no files in chart archive")
        _check_names(files)
        _check_sizes(files)
        metadata = self._metadata(files)
        if VALUES in files:
            self._decoded({VALUES: files[VALUES]}, VALUES, _mapping)
        return Chart(
            metadata=metadata,
            files={path: data for path, data in files.items() if not path.startswith("charts/")},
            subcharts=tuple(self._subcharts(files, metadata.name, depth)),
        )

    def _metadata(self, files: Mapping[str, bytes]) -> ChartMetadata:
        if CHART not in files:
            hint = advice_on_plain(files) or advice_on_olm(files) or _WHERE_IT_IS
            raise _DefectError("Chart.yaml file is missing", hint=hint)
        metadata = self._decoded(files, CHART, metadata_of)
        required = self._decoded(files, REQUIREMENTS, dependencies_of) if REQUIREMENTS in files else ()
        if required:  # the file of former charts; helm reads it in any chart, and it wins
            metadata = replace(metadata, dependencies=required)
        try:
            validate(metadata)
        except ContentError as error:
            raise _DefectError(str(error), file=CHART) from error
        return metadata

    def _decoded(self, files: Mapping[str, bytes], file: str, decode: Callable[[Any], T]) -> T:
        try:
            return decode(yaml.load(files[file].removeprefix(_MARK), limits=self._limits))
        except YamlError as error:
            raise _DefectError(f"cannot load {file}: {error}", file=file, at=(error.line, error.column)) from error
        except ContentError as error:
            known = str(error).startswith("validation: ")
            raise _DefectError(str(error) if known else f"cannot load {file}: {error}", file=file) from error

    def _subcharts(self, files: Mapping[str, bytes], parent: str, depth: int) -> Iterator[Chart]:
        for name, inner in _entries_of_charts(files).items():
            try:
                if name.endswith(".tgz"):
                    yield self.load(self._unpack(inner, name, depth), depth + 1)
                elif below := {path.partition("/")[2]: data for path, data in inner.items() if "/" in path}:
                    yield self.load(below, depth)
                else:  # a file that is no chart
                    raise _DefectError("Chart.yaml file is missing")
            except ContentError as error:
                file = f"charts/{name}"
                raise _DefectError(f"error unpacking subchart {name} in {parent}: {error}", file=file) from error

    def _unpack(self, inner: Mapping[str, bytes], name: str, depth: int) -> dict[str, bytes]:
        if name not in inner:
            raise ContentError(f"expected {name}, got {next(iter(inner))}")
        if depth >= _DEEPEST:
            raise ContentError(f"charts are packed more than {_DEEPEST} deep")
        left = max(self._limits.content_bytes - self._unpacked, 1)
        tree = read_archive([inner[name]], limits=replace(self._limits, content_bytes=left))
        self._unpacked += tree.total_bytes
        for path in tree:
            if "/" not in path:
                raise ContentError(f'chart illegally contains content outside the base directory: "{path}"')
        return {path.partition("/")[2]: tree[path] for path in tree}


def _entries_of_charts(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """Files below each entry of charts/, without the entries that helm ignores."""
    entries: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        below = path.removeprefix("charts/")
        name = below.partition("/")[0]
        if path != below and not name.startswith(("_", ".")) and not below.endswith(".prov"):
            entries.setdefault(name, {})[below] = data
    return entries


def _check_names(files: Mapping[str, bytes]) -> None:
    for path in files:
        if path.startswith(".."):
            raise _DefectError("chart illegally references parent directory", file=path)
        if _DRIVE.match(path):
            raise _DefectError("chart contains illegally named files", file=path)
        if not path.isprintable():  # with a line break it could forge what helm prints in front of a document
            raise _DefectError(f"the name of chart file {path[:200]!r} has characters that cannot be printed")


def _check_sizes(files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        if len(data) > _LARGEST_FILE:
            text = f"chart file {path!r} is larger than the {_LARGEST_FILE} bytes that helm allows"
            raise _DefectError(text, file=path)
    if sum(map(len, files.values())) >= _LARGEST_CHART:
        raise _DefectError(f"the chart is not smaller than the {_LARGEST_CHART} bytes that helm allows")


def _mapping(values: object) -> None:
    if values is not None and not isinstance(values, dict):
        raise ContentError(f"values {must_be(Wanted.OBJECT, values)}")

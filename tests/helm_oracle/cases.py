"""Charts in two versions, and what is done with each: as a user of helm does it on the first day and on the second.

A chart of this repository is a folder in `charts`, from which both versions are made: its templates ask for
`.Chart.Version`. Charts of others come as archives, two of each in one folder. `NAME.yaml` beside them may have
`values` (for all steps), `changed` (over them, for the step `values`), `config` (what `spec.config` has beside the
values) and `directory` (helm and the operator get files, and no archive).
"""

import subprocess
import tarfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from shutil import copytree
from typing import Any

import yaml

CHARTS = Path(__file__).parent / "charts"
VERSIONS = ("1.0.0", "2.0.0")
HARMLESS = {"global": {"helmOracle": "changed"}}  # for a chart that nothing is known of
Values = Mapping[str, Any]


class Step(StrEnum):
    """In this order."""

    INSTALL = "install"
    UPGRADE = "upgrade"
    VALUES = "values"
    BACK = "back"
    DELETE = "delete"


@dataclass(frozen=True, kw_only=True)
class ChartVersion:
    path: Path  # an archive, or a directory
    version: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """`release`: the name of helm's release, and of the BundleDeployment."""

    chart: str
    release: str
    first: ChartVersion
    second: ChartVersion
    values: Values = field(default_factory=dict)
    changed: Values = field(default_factory=dict)
    config: Values = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return f"of-{self.release}"

    def chart_of(self, step: Step) -> ChartVersion:
        return self.first if step in {Step.INSTALL, Step.BACK} else self.second

    def values_of(self, step: Step) -> Values:
        return merged(self.values, self.changed) if step is Step.VALUES else self.values


def merged(below: Values, above: Values) -> dict[str, Any]:
    """A null of `above` stays one: helm takes the chart's default away for it."""
    result = dict(below)
    for key, value in above.items():
        former = result.get(key)
        result[key] = merged(former, value) if isinstance(former, dict) and isinstance(value, dict) else value
    return result


def own_cases(target: Path, helm: Path, only: Collection[str] = ()) -> list[Case]:
    """The charts of this repository, packed into `target`."""
    names = sorted(path.name for path in CHARTS.iterdir() if path.is_dir() and (not only or path.name in only))
    return [_own_case(name, target, helm) for name in names]


def packed_cases(folder: Path, only: Collection[str] = ()) -> list[Case]:
    """The oldest and the newest of each chart that is there in two versions."""
    found: dict[str, list[ChartVersion]] = {}
    for path in sorted(folder.glob("*.tgz")):
        metadata = _metadata_in(path)
        version = ChartVersion(path=path, version=str(metadata["version"]))
        found.setdefault(str(metadata["name"]), []).append(version)
    cases = []
    for name, versions in sorted(found.items()):
        if len(versions) > 1 and (not only or name in only):
            ordered = sorted(versions, key=lambda one: _order(one.version))
            settings = {"changed": HARMLESS, **_settings(folder, name)}
            cases.append(_case(name, ordered[0], ordered[-1], settings))
    return cases


def files_of(directory: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield path.relative_to(directory).as_posix(), path


def _own_case(name: str, target: Path, helm: Path) -> Case:
    settings = _settings(CHARTS, name)
    first, second = (_made(name, version, target, None if settings.get("directory") else helm) for version in VERSIONS)
    return _case(name, first, second, settings)


def _case(name: str, first: ChartVersion, second: ChartVersion, settings: Values) -> Case:
    return Case(
        chart=name,
        release=name,
        first=first,
        second=second,
        values=settings.get("values", {}),
        changed=settings.get("changed", {}),
        config=settings.get("config", {}),
    )


def _made(name: str, version: str, target: Path, helm: Path | None) -> ChartVersion:
    folder = target / version / name
    copytree(CHARTS / name, folder)
    metadata = folder / "Chart.yaml"
    metadata.write_text(metadata.read_text().replace(f"version: {VERSIONS[0]}\n", f"version: {version}\n"))
    if helm is None:
        return ChartVersion(path=folder, version=version)
    packing = [str(helm), "package", str(folder), f"--destination={target}"]
    subprocess.run(packing, check=True, stdout=subprocess.DEVNULL)
    return ChartVersion(path=target / f"{name}-{version}.tgz", version=version)


def _settings(folder: Path, name: str) -> Values:
    path = folder / f"{name}.yaml"
    return yaml.safe_load(path.read_text()) or {} if path.is_file() else {}


def _metadata_in(archive: Path) -> Values:
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.count("/") == 1 and member.name.endswith("/Chart.yaml"):
                file = tar.extractfile(member)
                return yaml.safe_load(file.read()) if file is not None else {}
    raise ValueError(f"{archive}: no Chart.yaml in it")


def _order(version: str) -> tuple[list[int], bool, str]:
    """A pre-release comes before its release."""
    numbers, _, pre = version.removeprefix("v").partition("+")[0].partition("-")
    return [int(one) if one.isdigit() else 0 for one in numbers.split(".")], not pre, pre

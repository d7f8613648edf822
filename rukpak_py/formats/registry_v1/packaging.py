"""Annotations of a bundle, as `opm alpha bundle generate` writes them, and package and channels of the old layout.

The bytes are opm's: annotations are sorted by key. Others than those that it writes are kept beside them, because
catalogs choose bundles by them. The same values are labels of the image; in a Dockerfile opm quotes nothing, so texts
that could end a line, or join it with the next one, are refused.

Package and channels of a bundle in the old layout, a directory of bundles beside a package manifest, are inferred. A
bundle belongs to a channel when the channel's head leads to it by `replaces` and `skips`. Messages are opm's. Where opm
fails because of a directory that is no bundle, hidden ones and `metadata` (it writes that one itself) are left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_dump import dump_all
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.json_fields import at, text, texts
from rukpak_py.formats.registry_v1.kinds import CSV
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, text_of
from rukpak_py.formats.type_defects import Wanted, must_be

HELM = "helm"
REGISTRY = "registry+v1"
PLAIN = "plain"
CHART = "Chart.yaml"
_PREFIX: Final = "operators.operatorframework.io.bundle."
MANIFESTS_PATH: Final = "manifests/"
METADATA_PATH: Final = "metadata/"
_DEFAULT_CHANNEL: Final = "channel.default.v1"
OWN_KEYS: Final = frozenset(
    f"{_PREFIX}{key}"
    for key in ("mediatype.v1", "manifests.v1", "metadata.v1", "package.v1", "channels.v1", _DEFAULT_CHANNEL)
)


def media_type(manifests: Tree, *, shown: str) -> str:
    """`shown` is what the directory is called in messages."""
    files = [path for path in manifests if "/" not in path]
    if not files:
        raise ContentError(f"The directory {shown} contains no yaml files")
    chart = first_document(manifests.get(CHART, b""))
    if isinstance(chart, dict) and chart.get("name"):
        return HELM
    return REGISTRY if any(is_csv(first_document(manifests[file])) for file in files) else PLAIN


def first_document(data: bytes) -> Any:
    """None where it cannot be parsed: whether files are sound is a question for validation."""
    try:
        return next(yaml.documents(data), None)
    except ContentError:
        return None


def is_csv(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == CSV


@dataclass(frozen=True, kw_only=True)
class Labels:
    media_type: str
    package: str
    channels: str  # separated by commas
    default_channel: str = ""  # empty: not said
    others: Mapping[str, str] = field(default_factory=dict)  # annotations with other keys than ours, kept as they are

    def __post_init__(self) -> None:
        for what in ("package", "channels", "default_channel"):
            check_line(getattr(self, what), what.replace("_", " "))

    def own(self) -> dict[str, str]:
        """Values by key, in the order of a Dockerfile."""
        found = {
            "mediatype.v1": self.media_type,
            "manifests.v1": MANIFESTS_PATH,
            "metadata.v1": METADATA_PATH,
            "package.v1": self.package,
            "channels.v1": self.channels,
            _DEFAULT_CHANNEL: self.default_channel,
        }
        return {f"{_PREFIX}{key}": value for key, value in found.items() if value or key != _DEFAULT_CHANNEL}

    def values(self) -> dict[str, str]:
        return {**self.own(), **self.others}

    def with_others(self, found: Mapping[str, str]) -> "Labels":
        """Labels with those of the found ones that have other keys than ours."""
        return replace(self, others={key: value for key, value in sorted(found.items()) if key not in OWN_KEYS})


def annotations_file(labels: Labels, members: Mapping[str, Any] | None = None) -> bytes:
    """`members`: what the file has beside its annotations."""
    text = "".join(dump_all([{"annotations": dict(sorted(labels.values().items())), **(members or {})}]))
    return text.removeprefix("---\n").encode()


def check_line(value: str, what: str) -> None:
    if any(not character.isprintable() for character in value) or value.endswith("\\"):
        raise ContentError(f"the {what} {value!r} has a character that cannot stand in a Dockerfile")


def differences(found: Mapping[str, str], labels: Labels) -> str:
    """Reasons against keeping these annotations, in upstream's words; empty when there are none."""
    said = list(_differences(found, labels))
    return said[0] if len(said) == 1 else f"[{', '.join(said)}]" if said else ""


def _differences(found: Mapping[str, str], labels: Labels) -> Iterator[str]:
    for key, value in labels.own().items():
        if key not in found:
            yield f"Missing field: {key}"
        elif found[key] != value:
            yield f'Expect field "{key}" to have value "{value}" instead of "{found[key]}"'


@dataclass(frozen=True, kw_only=True)
class Inferred:
    package: str
    channels: str  # separated by commas; empty when the bundle is in none
    default_channel: str
    manifest: str  # the file that says it


@dataclass(frozen=True, kw_only=True)
class _PackageManifest:
    package: str
    default_channel: str
    channels: list[tuple[str, str]]  # names with the names of their heads


def no_bundle_directory(name: str) -> bool:
    return name.startswith(".") or name == "metadata"


def infer(package: Tree, bundle: str, *, shown: str) -> Inferred:
    """`package` is the directory of the package, `bundle` the name of the bundle's directory in it."""
    try:
        try:
            csv = _csv_in(package, bundle, shown)
        except ContentError as error:
            raise ContentError(f"error loading CSV from bundle directory, {error}") from error
        names = package.names_in("")
        bundles = [name for name in names if name in package.directories and not no_bundle_directory(name)]
        try:
            csvs = [_csv_in(package, name, shown) for name in bundles]
        except ContentError as error:
            raise ContentError(f"error getting CSVs from bundles in the package directory, {error}") from error
        file, manifest = _package_manifest(package, shown)
        before = {text(one, "metadata", "name"): _before(one) for one in csvs}
        name = text(csv, "metadata", "name")
        channels = manifest.channels
        return Inferred(
            package=manifest.package,
            channels=",".join(sorted({channel for channel, head in channels if name in _reached(head, before)})),
            default_channel=manifest.default_channel or (channels[0][0] if len(channels) == 1 else ""),
            manifest=file,
        )
    except ContentError as error:
        raise ContentError(
            "please manually input channels and packageName, "
            f"error interpreting bundle from directory {shown}/{bundle}, {error}"
        ) from error


def _csv_in(package: Tree, directory: str, shown: str) -> Mapping[str, Any]:
    files = [f"{directory}/{name}" for name in package.names_in(directory)]
    csvs = [document for file in files if file in package and is_csv(document := first_document(package[file]))]
    if not csvs:
        raise ContentError(f"no ClusterServiceVersion object found in {shown}/{directory}")
    if len(csvs) > 1:
        raise ContentError("more than one ClusterServiceVersion is found in bundle")
    found: Mapping[str, Any] = csvs[0]
    return found


def _package_manifest(package: Tree, shown: str) -> tuple[str, _PackageManifest]:
    wrong = []
    for name in package.names_in(""):
        if name not in package:
            continue
        try:
            found = _decoded(yaml.load(package[name]))
        except ContentError as error:
            wrong.append(f"{_unparsed(name, shown)}, could not decode contents into package manifest - {error}")
            continue
        if found.package:
            return name, found
        wrong.append(f"{_unparsed(name, shown)}, name of package (packageName) is missing")
    raise ContentError(
        "error parsing package.yaml file in the package root directory, "
        f"valid PackageManifest YAML file not found in {shown}"
        + (f", {wrong[0]}" if len(wrong) == 1 else f", [{', '.join(wrong)}]" if wrong else "")
    )


def _unparsed(name: str, shown: str) -> str:
    return f"error parsing {shown}/{name} as package.yaml file"


def _decoded(document: Any) -> _PackageManifest:
    channels = _field(document, "channels")
    if not isinstance(channels, list | None):
        raise ContentError(f"channels {must_be(Wanted.LIST, channels)}")
    return _PackageManifest(
        package=_text(document, "packageName"),
        default_channel=_text(document, "defaultChannel"),
        channels=[(_text(one, "name", "channels."), _text(one, "currentCSV", "channels.")) for one in channels or []],
    )


def _text(value: Any, name: str, around: str = "") -> str:
    found = _field(value, name)
    read = "" if found is None else text_of(found)
    if read is None:
        raise ContentError(f"{around}{name} {must_be(Wanted.STRING, found)}")
    return read


def _field(value: Any, name: str) -> Any:
    """As Go finds it: in this case, or else in any."""
    if not isinstance(value, dict):
        return None
    return next((value[key] for key, _ in reversed(list(fields(value, [name])))), None)


def _before(csv: Mapping[str, Any]) -> list[str]:
    """Names of the versions before this one: those that it replaces and skips."""
    return [text(csv, "spec", "replaces"), *texts(csv, "spec", "skips")] if at(csv, "spec") else []


def _reached(head: str, before: Mapping[str, list[str]]) -> Iterator[str]:
    """The bundles of a channel: only those that are there lead any further."""
    seen: set[str] = set()
    waiting = [head]
    while waiting:
        name = waiting.pop()
        if name in before and name not in seen:
            seen.add(name)
            yield name
            waiting += before[name]

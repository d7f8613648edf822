"""Plan of the files that `generate` writes and the image then holds, made before anything is written.

Annotations go beside the manifests, or with them into an output directory; the Dockerfile goes into the working
directory, and its paths start there. The image holds what the two directories hold afterwards: files of an output
directory that do not come from the input are still in it, and are told.

`generate` and `build` share options, and the directory, which must hold manifests; a whole bundle in its place is a
common mistake. Annotations and labels with other keys than ours are kept. What else a generated file loses of the one
that it replaces is told. Comments do not count.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from rukpak_py.cli.packaging.names import (
    FoundAnnotations,
    GivenNames,
    Origin,
    choose_labels,
    read_annotations,
    shown,
)
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.registry_v1.bundle_dockerfile import (
    TESTS,
    Places,
    contradicted,
    dockerfile,
    lost_lines,
    read_dockerfile,
    with_labels,
)
from rukpak_py.formats.registry_v1.packaging import (
    CHART,
    OWN_KEYS,
    Labels,
    annotations_file,
    differences,
    first_document,
    media_type,
)
from rukpak_py.sources.image.layers import WHITEOUT
from rukpak_py.sources.local_directory import read_directory

_DOCUMENTS = {".yaml", ".yml", ".json"}

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class PackagingOptions:
    """The options, as they were given; empty is not given."""

    directory: Path
    package: str = ""
    channels: str = ""
    default_channel: str = ""
    output_directory: Path | None = None
    base_image: str = "scratch"
    overwrite: bool = True

    @property
    def names(self) -> GivenNames:
        return GivenNames(package=self.package, channels=self.channels, default_channel=self.default_channel)


def generating_options(command: F) -> F:
    """Adds them; the command takes them as `**chosen` and makes PackagingOptions of them."""
    directory = click.Path(path_type=Path)
    options: Sequence[Callable[[F], F]] = (
        click.option(
            "-d", "--directory", type=directory, required=True, metavar="DIR", help="The directory of the manifests."
        ),
        click.option("-p", "--package", default="", help="Name of the package. Default: from other files."),
        click.option("-c", "--channels", default="", help="Channels, separated by commas. Default: from other files."),
        click.option("-e", "--default", "default_channel", default="", help="The default channel."),
        click.option(
            "-u",
            "--output-dir",
            "output_directory",
            type=directory,
            metavar="DIR",
            help="Copy the manifests to DIR/manifests, and write DIR/metadata. "
            "Default: metadata beside the directory of the manifests.",
        ),
        click.option(
            "--base-image", default="scratch", show_default=True, help="What the Dockerfile starts from (FROM)."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_holds_manifests(directory: Path) -> None:
    """One with manifests/ in it, and no manifest of its own, does not. Charts have directories as they like."""
    manifests = directory / MANIFESTS
    if manifests.is_dir() and not (directory / CHART).exists() and not any(map(_is_manifest, directory.iterdir())):
        given = directory.as_posix()
        raise ContentError(
            f"{given} is the directory of a bundle: give the one of its manifests, -d {manifests.as_posix()}"
        )


def _is_manifest(file: Path) -> bool:
    if (
        file.suffix not in _DOCUMENTS
        or not file.is_file()
        or file.stat().st_size > Limits.from_environment().yaml_bytes
    ):
        return False
    document = first_document(file.read_bytes())
    return isinstance(document, dict) and bool(document.get("apiVersion")) and bool(document.get("kind"))


DOCKERFILE = "bundle.Dockerfile"
ANNOTATIONS = "annotations.yaml"
METADATA = "metadata"
_TEST_CONFIG = "operators.operatorframework.io.test.config.v1"


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    path: Path
    content: bytes
    mode: int = 0o644
    lost: tuple[str, ...] = ()  # of what it replaces, for people


@dataclass(frozen=True, kw_only=True)
class PackagingPlan:
    labels: Labels
    origin: Origin | None  # of package and channels, where they are not given
    files: list[PlannedFile]
    kept: list[str]  # with why, for people
    missing: list[str]  # in the image, for people
    differing: list[str]  # labels of the Dockerfile that are others in the annotations, for people
    tree: Tree  # of the image
    places: tuple[Path, ...]  # what generating reads and writes: nothing else may be written there


@dataclass(kw_only=True)
class _Files:
    planned: list[PlannedFile] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


def make_plan(request: PackagingOptions) -> PackagingPlan:
    source = _absolute(request.directory)
    if not source.is_dir():
        raise ContentError(f"{request.directory}: there is no such directory")
    check_holds_manifests(request.directory)
    manifests = read_directory(source, limits=Limits.from_environment())
    kind = media_type(manifests, shown=str(source))
    root = source.parent if request.output_directory is None else _absolute(request.output_directory)
    metadata = _read(root / METADATA)
    existing = read_annotations(root / METADATA / ANNOTATIONS, metadata.get(ANNOTATIONS))
    labels, origin = choose_labels(request.names, kind, source, existing)
    files = _Files()
    tests, tests_source = _tests(source, labels, origin, files)
    if request.output_directory is not None:
        manifests = _plan_copies(source, root / MANIFESTS, manifests, files, overwrite=request.overwrite)
        source = root / MANIFESTS
        if tests_source is not None:
            tests = _plan_copies(tests_source, root / TESTS, tests, files, overwrite=request.overwrite)
            tests_source = root / TESTS
    annotations = _plan_annotations(existing, labels, files, request)
    copied = Places(
        manifests=shown(source),
        metadata=shown(root / METADATA),
        tests=None if tests_source is None else (shown(tests_source), TESTS),
    )
    labels = _plan_dockerfile(labels, copied, files, request)
    read = [] if tests_source is None else [tests_source]
    places = (_absolute(request.directory), source, root / METADATA, *read, Path(DOCKERFILE).absolute())
    directories = {MANIFESTS: manifests, METADATA: _overlaid(metadata, {ANNOTATIONS: annotations})}
    if tests_source is not None:
        directories[TESTS.rstrip("/")] = tests
    return PackagingPlan(
        labels=labels,
        origin=origin,
        files=files.planned,
        kept=files.kept,
        missing=files.missing,
        differing=files.differing,
        tree=_image_tree(directories, files),
        places=places,
    )


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - without `..`, and without following links


def _tests(source: Path, labels: Labels, origin: Origin | None, files: _Files) -> tuple[Tree, Path | None]:
    """Tests beside the manifests, and their directory. In the old layout, that beside them is of no one version."""
    where = source.parent / TESTS
    if (origin is None or not origin.is_package) and where.is_dir():
        return read_directory(where, limits=Limits.from_environment()), where
    if (named := labels.others.get(_TEST_CONFIG)) is not None:
        files.missing.append(f"{shown(where)}, which {_TEST_CONFIG}: {named} needs")
    return TreeBuilder().build(), None


def _plan_copies(source: Path, target: Path, manifests: Tree, files: _Files, *, overwrite: bool) -> Tree:
    """Return the content of the target afterwards. Its sub-directories stay as they are."""
    if target.is_relative_to(source) and target != source:
        raise ContentError(f"{shown(target)} lies in {shown(source)}: choose an output directory outside of it")
    existing = _read(target)
    copied = {path: manifests[path] for path in manifests if overwrite or path not in existing}
    for path, content in copied.items():
        mode = (source / path).stat().st_mode & 0o777
        files.planned.append(PlannedFile(path=target / path, content=content, mode=mode))
    for path in existing:
        if path not in manifests:
            files.kept.append(f"{shown(target / path)} (not from {shown(source)}, but in the image)")
        elif path not in copied and existing[path] != manifests[path]:
            files.kept.append(f"{shown(target / path)} (is different in {shown(source)}; --overwrite replaces it)")
    return _overlaid(existing, copied)


def _plan_annotations(existing: FoundAnnotations, labels: Labels, files: _Files, request: PackagingOptions) -> bytes:
    if existing.data is not None and not request.overwrite:
        if wrong := differences(existing.values, labels):
            raise ContentError(f"{wrong}\n{shown(existing.path)} already exists; --overwrite replaces it")
        files.kept.append(f"{shown(existing.path)} (up to date)")
        return existing.data
    content = annotations_file(labels, existing.members)
    lost = tuple(f"{key}: {value}" for key, value in existing.values.items() if key not in labels.values())
    files.planned.append(PlannedFile(path=existing.path, content=content, lost=lost))
    return content


def _plan_dockerfile(labels: Labels, copied: Places, files: _Files, request: PackagingOptions) -> Labels:
    """Return the labels with those that stand in the Dockerfile alone."""
    path = Path(DOCKERFILE).absolute()
    found = read_dockerfile(_bounded(path)) if path.is_file() else None
    is_kept = path.exists() and not request.overwrite
    if found is not None and found.is_of(copied):
        replaced = frozenset() if is_kept else OWN_KEYS
        files.differing += contradicted(found, labels, but=replaced)
        labels = with_labels(labels, found)
        files.missing += [f"`{one}` of {DOCKERFILE}" for one in found.others if is_kept]
    if is_kept:
        is_read = found is not None and found.is_of(copied)
        why = "its labels are in the image" if is_read else f"not read: it does not copy {copied.manifests}"
        files.kept.append(f"{DOCKERFILE} ({why}; --overwrite replaces it)")
        return labels
    content = dockerfile(labels, copied, base_image=request.base_image)
    lost = () if found is None else tuple(lost_lines(found, labels, copied, request.base_image))
    files.planned.append(PlannedFile(path=path, content=content, lost=lost))
    return labels


def _bounded(path: Path) -> bytes:
    most = Limits.from_environment().yaml_bytes
    if path.stat().st_size > most:
        raise ContentError(f"{shown(path)} is larger than {most} bytes: it is no Dockerfile of a bundle; move it away")
    return path.read_bytes()


def _read(directory: Path) -> Tree:
    if not directory.is_dir():
        return TreeBuilder().build()
    return read_directory(directory, limits=Limits.from_environment())


def _overlaid(lower: Tree, upper: Mapping[str, bytes]) -> Tree:
    builder = TreeBuilder()
    for path, content in {**lower, **upper}.items():
        builder.add(path, content)
    for path in lower.empty_directories:
        builder.add_directory(path)
    return builder.build()


def _image_tree(directories: Mapping[str, Tree], files: _Files) -> Tree:
    builder = TreeBuilder()
    for directory, tree in directories.items():
        builder.add_directory(directory)
        for path, content in tree.items():
            if any(part.startswith(WHITEOUT) for part in path.split("/")):
                files.kept.append(f"{directory}/{path} out of the image (in an image, its name marks a removed file)")
            else:
                builder.add(f"{directory}/{path}", content)
    return builder.build()

"""Plan of the files that `generate` writes and the image then holds, made before anything is written.

Annotations go beside the manifests, or with them into an output directory; the Dockerfile goes into the working
directory, and its paths start there. The image holds what the two directories hold afterwards: files of an output
directory that do not come from the input are still in it, and are told.

`generate` and `build` share options, and the directory, which must hold manifests; a whole bundle in its place is a
common mistake. Where a generated file replaces one that a user has added to, the losses are told: only additions count,
because a channel that changes is what the user asked for. Comments do not count.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.registry_v1.metadata.annotations import catalog_annotations
from rukpak_py.formats.registry_v1.packaging import (
    CHART,
    Inferred,
    Labels,
    annotations_file,
    differences,
    dockerfile,
    first_document,
    infer,
    media_type,
    no_bundle_directory,
)
from rukpak_py.sources.image.layers import WHITEOUT
from rukpak_py.sources.local_directory import read_directory

_ANNOTATIONS = "annotations"


def lost_annotations(existing: bytes, labels: Labels) -> Iterator[str]:
    """Members of the file, and of its `annotations`. What cannot be parsed, or is no mapping, is lost as a whole."""
    try:
        found = yaml.load(existing)
    except ContentError:
        found = None
    if not isinstance(found, dict):
        yield from ["everything"] if existing.strip() else []
        return
    annotations = found.get(_ANNOTATIONS)
    if isinstance(annotations, dict):
        yield from (f"{key}: {value}" for key, value in annotations.items() if key not in labels.values())
    yield from (str(key) for key in found if key != _ANNOTATIONS)


def lost_lines(existing: bytes, generated: bytes, labels: Labels) -> Iterator[str]:
    """Lines of a Dockerfile, apart from those that are always generated and now say something else."""
    kept = set(generated.decode().splitlines())
    for line in existing.decode(errors="replace").splitlines():
        words = line.split()
        if line in kept or not words or words[0].startswith("#") or _is_generated(words, labels):
            continue
        yield " ".join(words)


def _is_generated(words: list[str], labels: Labels) -> bool:
    match words:
        case ["LABEL", label]:
            return label.partition("=")[0] in labels.values()
        case ["COPY", _, target]:
            return target in {"/manifests/", "/metadata/"}
        case _:
            return False


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


def generating_options(command: F) -> F:
    """Adds them; the command takes them as `**chosen` and makes PackagingOptions of them."""
    directory = click.Path(path_type=Path)
    options: Sequence[Callable[[F], F]] = (
        click.option(
            "-d", "--directory", type=directory, required=True, metavar="DIR", help="The directory of the manifests."
        ),
        click.option("-p", "--package", default="", help="Name of the package. Default: from the package manifest."),
        click.option("-c", "--channels", default="", help="Channels, separated by commas. Default: as for --package."),
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
_GIVE = "give --package and --channels (and --default, if it is not the first channel by name)"


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    path: Path
    content: bytes
    mode: int = 0o644
    lost: tuple[str, ...] = ()  # of what it replaces, for people


@dataclass(frozen=True, kw_only=True)
class PackagingPlan:
    labels: Labels
    inferred: Inferred | None
    files: list[PlannedFile]
    kept: list[str]  # with why, for people
    tree: Tree  # of the image
    places: tuple[Path, ...]  # what generating reads and writes: nothing else may be written there


@dataclass(kw_only=True)
class _Files:
    planned: list[PlannedFile] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def make_plan(request: PackagingOptions) -> PackagingPlan:
    source = _absolute(request.directory)
    if not source.is_dir():
        raise ContentError(f"{request.directory}: there is no such directory")
    check_holds_manifests(request.directory)
    manifests = read_directory(source, limits=Limits.from_environment())
    kind = media_type(manifests, shown=str(source))
    inferred = None if request.package and request.channels else _inferred(source)
    labels = _labels(request, kind, inferred)
    root = source.parent if request.output_directory is None else _absolute(request.output_directory)
    metadata = _read(root / METADATA)
    files = _Files()
    if request.output_directory is not None:
        manifests = _plan_copies(source, root / MANIFESTS, manifests, files, overwrite=request.overwrite)
        source = root / MANIFESTS
    annotations = _plan_annotations(root / METADATA / ANNOTATIONS, metadata, labels, files, request)
    _plan_dockerfile(labels, source, root / METADATA, files, request)
    places = (_absolute(request.directory), source, root / METADATA, Path(DOCKERFILE).absolute())
    tree = _image_tree({MANIFESTS: manifests, METADATA: _overlaid(metadata, {ANNOTATIONS: annotations})}, files)
    return PackagingPlan(
        labels=labels, inferred=inferred, files=files.planned, kept=files.kept, tree=tree, places=places
    )


def shown(path: Path) -> str:
    """Relative to the working directory, with `/` on every system."""
    return Path(os.path.relpath(path)).as_posix()


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - without `..`, and without following links


def _inferred(source: Path) -> Inferred:
    try:
        return _looked_up(source)
    except ContentError as error:
        raise ContentError(f"{error}\n{_GIVE}") from error


def _looked_up(source: Path) -> Inferred:
    """Only files that lie directly in directories beside this one are looked at."""
    builder = TreeBuilder()
    for child in sorted(source.parent.iterdir()):
        if not child.is_dir():
            _add_file(builder, child.name, child)
        elif child == source or not no_bundle_directory(child.name):
            builder.add_directory(child.name)
            for file in sorted(child.iterdir()):
                _add_file(builder, f"{child.name}/{file.name}", file)
    return infer(builder.build(), source.name, shown=str(source.parent))


def _add_file(builder: TreeBuilder, path: str, file: Path) -> None:
    if file.is_file() and file.stat().st_size <= Limits.from_environment().yaml_bytes:
        builder.add(path, file.read_bytes())


def _labels(request: PackagingOptions, kind: str, inferred: Inferred | None) -> Labels:
    channels = request.channels or (inferred.channels if inferred else "")
    if not channels:
        raise ContentError(f"error interpreting channels, please manually input channels instead\n{_GIVE}")
    return Labels(
        media_type=kind,
        package=request.package or (inferred.package if inferred else ""),
        channels=channels,
        default_channel=request.default_channel or (inferred.default_channel if inferred else ""),
    )


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


def _plan_annotations(path: Path, metadata: Tree, labels: Labels, files: _Files, request: PackagingOptions) -> bytes:
    content = annotations_file(labels)
    if not request.overwrite and (existing := metadata.get(path.name)) is not None:
        if wrong := differences(_annotations(existing, path), labels):
            raise ContentError(f"{wrong}\n{shown(path)} already exists; --overwrite replaces it")
        files.kept.append(f"{shown(path)} (up to date)")
        return existing
    lost = tuple(lost_annotations(metadata.get(path.name, b""), labels))
    files.planned.append(PlannedFile(path=path, content=content, lost=lost))
    return content


def _annotations(existing: bytes, path: Path) -> dict[str, str]:
    try:
        return catalog_annotations(yaml.load(existing)) or {}
    except ContentError as error:
        raise ContentError(f"{shown(path)}: {error}") from error


def _plan_dockerfile(labels: Labels, manifests: Path, metadata: Path, files: _Files, request: PackagingOptions) -> None:
    path = Path(DOCKERFILE).absolute()
    if not request.overwrite and path.exists():
        files.kept.append(f"{DOCKERFILE} (not read; --overwrite replaces it)")
        return
    content = dockerfile(labels, base_image=request.base_image, manifests=shown(manifests), metadata=shown(metadata))
    lost = tuple(lost_lines(path.read_bytes(), content, labels)) if path.is_file() else ()
    files.planned.append(PlannedFile(path=path, content=content, lost=lost))


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

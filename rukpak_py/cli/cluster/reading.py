"""`rukpakctl content`: the files of an unpacked Bundle, listed or saved, read from the operator."""

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import OWNER_NAME_LABEL, ConditionType
from rukpak_py.api.reading import read_bundle
from rukpak_py.cli.cluster.session import ClusterSession
from rukpak_py.cli.terminal import clean
from rukpak_py.content.tar import read_archive
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.limits import Limits
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLES


class ContentCommandError(RukPakError):
    pass


async def listing(cluster: ClusterSession, name: str) -> list[str]:
    """A line for each file, as `tar -tv` prints it; times and owners are not kept."""
    return list(_lines(await tree_of(cluster, name)))


async def tree_of(cluster: ClusterSession, name: str) -> Tree:
    limits = Limits.from_environment()
    pieces: list[bytes] = []
    size = 0
    async with aclosing(chunks(cluster, name)) as arriving:
        async for chunk in arriving:
            size += len(chunk)
            if size > limits.archive_bytes:
                raise _failed(limits.exceeded("archive_bytes", "the size of the archive"))
            pieces.append(chunk)
    try:
        return read_archive(pieces, limits=limits)
    except ContentError as error:
        raise _failed(error) from error


async def save(cluster: ClusterSession, name: str, target: Path) -> int:
    """Whole or not at all; the answer is its size."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            size = await write(cluster, name, file)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return size


async def write(cluster: ClusterSession, name: str, file: BinaryIO) -> int:
    size = 0
    async with aclosing(chunks(cluster, name)) as arriving:
        async for chunk in arriving:
            size += file.write(chunk)
    file.flush()
    return size


async def chunks(cluster: ClusterSession, name: str) -> AsyncGenerator[bytes, None]:
    """The archive as it arrives. The address is that of the operator's Service, whatever the status says."""
    try:
        bundle = await _bundle(cluster, name)
        if not bundle.status.content_url:
            raise ContentCommandError(f"error: url is not available{_why(bundle)}")
        async with cluster.content_server() as server, server.archive_of(name) as archive:
            async for chunk in archive:
                yield chunk
    except RukPakError as error:
        raise _failed(error) from error


async def _bundle(cluster: ClusterSession, name: str) -> Bundle:
    try:
        return read_bundle(await cluster.client.get(BUNDLES, "", name))
    except NotFoundError as error:  # often the name of a BundleDeployment
        listing = f"kubectl get bundles -l {OWNER_NAME_LABEL}={name}"
        raise ContentCommandError(f"{error.message}; {listing} lists those of a BundleDeployment") from error


def _failed(error: RukPakError) -> ContentCommandError:
    text = error.message if isinstance(error, NotFoundError) else str(error)
    return ContentCommandError(f"content command failed: {text}")


def _why(bundle: Bundle) -> str:
    condition = find_condition(bundle.status.conditions, ConditionType.UNPACKED)
    return f": {condition.message}" if condition is not None and condition.message else ""


def _lines(tree: Tree) -> Iterator[str]:
    for path in sorted([*tree.directories, *tree], key=lambda path: path.split("/")):
        is_directory = path in tree.directories
        mode, size = ("drwxr-xr-x", 0) if is_directory else ("-rw-r--r--", len(tree[path]))
        yield f"{mode} 0/0 {size:>10} 1970-01-01 00:00 {clean(path)}{'/' if is_directory else ''}"

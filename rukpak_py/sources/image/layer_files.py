"""The layers of an image that lie on disk, to a Tree: for a worker process.

It imports what reads layers and nothing of what downloads them, which is large. What is kept is named by the class of
the provisioner, because functions do not travel between processes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from rukpak_py.content.inflate import inflate
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import KIB, Limits
from rukpak_py.sources.bundle_files import kept_of_image
from rukpak_py.sources.gzipped_tar import read_gzipped_tar
from rukpak_py.sources.image.descriptors import streaming
from rukpak_py.sources.image.layers import Keep, tree_of_image, unpacked

_READ_AT_ONCE: Final = 256 * KIB


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerFile:
    """A layer whose bytes are those that its digest names. `diff_id`: the digest of what it unpacks to.

    Of the archive of a chart nothing says that digest.
    """

    path: Path
    diff_id: str


def read_chart(layers: Sequence[LayerFile], limits: Limits) -> Tree:
    """Read all of a chart's archive."""
    (archive,) = layers
    return read_gzipped_tar(archive.path, limits)


def read_layers(layers: Sequence[LayerFile], class_name: str, limits: Limits) -> Tree:
    """Read the files of an image that a provisioner class reads."""
    try:
        return tree_of_layers(layers, kept_of_image(class_name), limits)
    except OSError as error:
        raise UnavailableError(f"the layers of the image cannot be read: {error.strerror or error}") from error


def tree_of_layers(layers: Sequence[LayerFile], keep: Keep, limits: Limits) -> Tree:
    """Unpacked layers are verified when they are read for the first time: the files stay as they are."""
    passes = 0

    def again() -> Iterable[Iterable[bytes]]:
        nonlocal passes
        passes += 1
        for layer in layers:
            chunks = chunks_of_file(layer.path)
            if passes == 1:
                yield unpacked(chunks, layer.diff_id, limits)
            else:
                yield inflate(chunks, streaming(limits), with_zstd=True)

    return tree_of_image(again, keep=keep, limits=limits)


def chunks_of_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(partial(file.read, _READ_AT_ONCE), b"")

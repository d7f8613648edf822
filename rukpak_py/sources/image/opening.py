"""An image of a registry for the command line: with the user's own logins, from any address."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import Limits
from rukpak_py.sources.bundle_files import read_bundle_or_chart
from rukpak_py.sources.image.client import Advice
from rukpak_py.sources.image.credentials import credentials_for
from rukpak_py.sources.image.descriptors import ImageDetails
from rukpak_py.sources.image.layer_files import LayerFile, read_chart, tree_of_layers
from rukpak_py.sources.image.layers import Keep
from rukpak_py.sources.image.pull import ImagePull, PullOptions
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.image.reference import PLAIN_HTTP_VARIABLE, ImageReference, parse_registries
from rukpak_py.sources.source import ImageContent
from rukpak_py.sources.spool import Spool

_ADVICE: Final = Advice(
    login="Log in with `docker login {registry}`",
    certificate="SSL_CERT_FILE names a file of authorities that are trusted",
    no_tls=f"{PLAIN_HTTP_VARIABLE} names registries that are asked without TLS",
)


def open_image(reference: ImageReference, *, limits: Limits) -> tuple[ImageContent, ImageDetails]:
    with _downloaded(reference, limits) as (pull, layers, resolved):
        details = ImageDetails(digest=resolved.digest, labels=partial(dict, pull.labels))
        if pull.artifact_type:
            return ImageContent(tree=read_chart(layers, limits), artifact_type=pull.artifact_type), details
        return ImageContent(tree=read_bundle_or_chart(lambda keep: tree_of_layers(layers, keep, limits))), details


def pull_labelled_image(
    reference: ImageReference, choose: Callable[[Mapping[str, str]], Keep], *, limits: Limits
) -> tuple[Mapping[str, str], Tree, ImageReference]:
    """The labels of an image, the files that `choose` keeps by them, and its reference by digest."""
    with _downloaded(reference, limits, choose) as (pull, layers, resolved):
        return pull.labels, tree_of_layers(layers, choose(pull.labels), limits), resolved


def resolve_digest(reference: ImageReference, *, limits: Limits) -> ImageReference:
    """The image by the digest that its tag has now; nothing that its manifest names is fetched."""
    with _started(reference, limits) as pull:
        try:
            return pull.resolve_digest()
        finally:
            pull.abort()


@contextmanager
def _downloaded(
    reference: ImageReference, limits: Limits, choose: Callable[[Mapping[str, str]], Keep] | None = None
) -> Iterator[tuple[ImagePull, Sequence[LayerFile], ImageReference]]:
    """The layers on disk until the end of the context; `choose` may refuse the image before they are fetched."""
    with _started(reference, limits) as pull:
        try:
            resolved = pull.resolve()
            if choose is not None:
                choose(pull.labels)
            layers = pull.download()
        finally:
            pull.abort()
        yield pull, layers, resolved


@contextmanager
def _started(reference: ImageReference, limits: Limits) -> Iterator[ImagePull]:
    """A pull with the user's login, whose files are there until the end of the context."""
    login = credentials_for(reference)
    plain_http = parse_registries(os.environ.get(PLAIN_HTTP_VARIABLE, ""))
    options = PullOptions(limits=limits, advice=_ADVICE, plain_http=plain_http)
    spool = Spool(limits)
    try:
        with ReceivedFiles(spool) as files:
            yield ImagePull(reference, [login] if login else [], options, files)
    finally:
        spool.close()

"""An image of a registry for the command line: with the user's own logins, from any address."""

import os
from typing import Final

from rukpak_py.core.limits import Limits
from rukpak_py.sources.bundle_files import read_bundle_or_chart
from rukpak_py.sources.image.client import Advice
from rukpak_py.sources.image.credentials import credentials_for
from rukpak_py.sources.image.layer_files import read_chart, tree_of_layers
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


def open_image(reference: ImageReference, *, limits: Limits) -> ImageContent:
    login = credentials_for(reference)
    plain_http = parse_registries(os.environ.get(PLAIN_HTTP_VARIABLE, ""))
    options = PullOptions(limits=limits, advice=_ADVICE, plain_http=plain_http)
    spool = Spool(limits)
    try:
        with ReceivedFiles(spool) as files:
            pull = ImagePull(reference, [login] if login else [], options, files)
            try:
                pull.resolve()
                layers = pull.download()
            finally:
                pull.abort()
            if pull.artifact_type:
                return ImageContent(tree=read_chart(layers, limits), artifact_type=pull.artifact_type)
            return ImageContent(tree=read_bundle_or_chart(lambda keep: tree_of_layers(layers, keep, limits)))
    finally:
        spool.close()

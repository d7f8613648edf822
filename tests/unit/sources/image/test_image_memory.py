"""A large layer is downloaded and read in constant memory: only what is kept of it is ever held."""

import hashlib
import resource
import tarfile
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from rukpak_py.content.tar import write_tar
from rukpak_py.core.limits import DEFAULT_LIMITS, MIB
from rukpak_py.sources.image.client import Advice
from rukpak_py.sources.image.layer_files import tree_of_layers
from rukpak_py.sources.image.layers import below
from rukpak_py.sources.image.pull import ImagePull, PullOptions
from rukpak_py.sources.image.received_files import ReceivedFiles
from rukpak_py.sources.image.reference import parse_image
from tests.unit.bundles import tree_of
from tests.unit.sources.image.image_registry import OCI_MANIFEST, REPOSITORY, Contents
from tests.workers import SPOOL

LARGE = 256 * MIB
MOST = 24 * MIB  # chunks of sockets and of tars, and the libraries; not a part of the layer
MOST_OF_DOWNLOAD = 2 * MIB  # chunks, and the pieces that the server of the test has at hand
PIECE = bytes(range(256)) * 4096  # 1 MiB


def large_layer() -> Iterator[bytes]:
    """A tar of one large file that is not read, and a small one that is kept."""
    member = tarfile.TarInfo("usr/lib/large")
    member.size = LARGE
    yield member.tobuf(tarfile.USTAR_FORMAT)
    for _ in range(LARGE // len(PIECE)):
        yield PIECE
    yield from write_tar(tree_of({"manifests/a.yaml": "a: 1"}))


class Handler(BaseHTTPRequestHandler):
    contents: Contents
    large: str

    def do_GET(self) -> None:
        kind, name = self.path.split("/")[-2:]
        self.send_response(200)
        if kind == "blobs" and name == self.large:
            self.end_headers()
            for piece in large_layer():
                self.wfile.write(piece)
            return
        data = self.contents.documents[name][1] if kind == "manifests" else self.contents.blobs[name]
        self.send_header("Content-Type", OCI_MANIFEST)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


def test_a_large_layer_in_constant_memory() -> None:
    contents = Contents()
    found, size = hashlib.sha256(), 0
    for piece in large_layer():
        found.update(piece)
        size += len(piece)
    Handler.contents, Handler.large = contents, f"sha256:{found.hexdigest()}"
    layer: dict[str, Any] = {"mediaType": "application/vnd.oci.image.layer.v1.tar"}
    layer |= {"digest": Handler.large, "size": size}
    contents.image_of([], diff_ids=[Handler.large], members={"layers": [layer]}, tag="v1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            reference = parse_image(f"127.0.0.1:{server.server_port}/{REPOSITORY}:v1")
            advice = Advice(login="", certificate="", no_tls="")
            files = ReceivedFiles(SPOOL)
            pull = ImagePull(reference, (), PullOptions(limits=DEFAULT_LIMITS, advice=advice), files)
            pull.resolve()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            tracemalloc.start()
            layers = pull.download()
            _, peak_of_download = tracemalloc.get_traced_memory()
            tree = tree_of_layers(layers, below("manifests"), DEFAULT_LIMITS)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        finally:
            pull.abort()
            files.close()
            server.shutdown()
            thread.join()
    assert dict(tree) == {"manifests/a.yaml": b"a: 1"}
    assert peak_of_download < MOST_OF_DOWNLOAD
    assert peak < MOST
    assert grown < MOST

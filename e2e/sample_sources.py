"""The servers that the samples' names below example.com stand for: a registry, a git server and a web server with TLS.

They have the content of `manifests/samples/content`, brought there as a user brings it, and an OLM bundle.
"""

from __future__ import annotations

import json
import tarfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from e2e.cluster.pki import Authority
from e2e.servers import registry, web
from e2e.webhook_operator import image as webhook_image
from e2e.webhook_operator.bundle import GadgetBundle

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).resolve().parent.parent / "manifests/samples"
CONTENT = SAMPLES / "content"
GADGETS_VERSION = "0.1.0"


@dataclass(frozen=True, kw_only=True)
class SampleSources:
    """`registry` begins image names, `web` begins URLs."""

    registry: str
    web: str
    authority: str  # PEM

    def manifest(self, sample: str) -> str:
        """The sample with these servers in the place of its examples."""
        text = (SAMPLES / f"{sample}.yaml").read_text(encoding="utf-8")
        text = text.replace("registry.example.com", self.registry)
        for name in ("git", "files"):
            text = text.replace(f"https://{name}.example.com", self.web)
        documents = list(yaml.safe_load_all(text))
        for document in documents:
            self._trust(document)
        return "\n---\n".join(json.dumps(document) for document in documents)

    def _trust(self, document: dict[str, Any]) -> None:
        source = document["spec"]["template"]["spec"]["source"]
        source[source["type"]]["caBundle"] = self.authority


@contextmanager
def serving(folder: Path, *, host: str) -> Iterator[SampleSources]:
    authority = Authority.create("rukpak samples")
    files, keys = folder / "files", folder / "keys"
    files.mkdir()
    with (
        registry.running(folder / "registry", host=host, authority=authority) as images,
        web.running(files, host=host, authority=authority, keys=keys) as pages,
    ):
        registry.push(images, CONTENT / "hello-image/manifests", "hello:v1", folder / "image")
        gadgets = GadgetBundle(
            version=GADGETS_VERSION, package="gadgets", group="gadgets.example.com", image=webhook_image.name()
        )
        written = gadgets.write(folder / "gadgets")
        tag = f"gadgets:{GADGETS_VERSION}"
        registry.push(images, written / "manifests", tag, folder / "gadgets-image", package=gadgets.package)
        web.publish(files / "hello.git", CONTENT)
        with tarfile.open(files / "hello.tgz", "w:gz") as archive:
            archive.add(CONTENT / "hello-http/manifests", "manifests")
        yield SampleSources(registry=images.address, web=pages.url, authority=pages.authority)

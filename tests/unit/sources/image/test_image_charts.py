"""Charts in registries, as `helm push` writes them: never by a pod, whatever the setting."""

import asyncio
import dataclasses
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image.descriptors import CHART
from rukpak_py.sources.image.registry_or_pod import RegistryOrPod
from rukpak_py.sources.image.source import ImageFetcher, ImagePorts
from rukpak_py.sources.image.unpack_methods import ImageUnpack
from rukpak_py.sources.local import open_content
from rukpak_py.sources.source import Fetched, FetchRequest, Waiting
from tests.source_secrets import logins
from tests.sources_alone import Nothing
from tests.unit.charts import METADATA, packed
from tests.unit.sources.image.image_pulls import LOOPBACK
from tests.unit.sources.image.image_registry import OCI_MANIFEST, REPOSITORY, Contents
from tests.unit.sources.image.test_image_ways import Pods
from tests.unit.web_servers import Server, serving
from tests.workers import SPOOL, WORKERS

FILES = {"Chart.yaml": METADATA, ".helmignore": "templates/\n", "templates/a.yaml": "a: 1"}
ARCHIVE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
PROVENANCE = "application/vnd.cncf.helm.chart.provenance.v1.prov"
WAYS = [ImageUnpack.AUTO, ImageUnpack.DIRECT, ImageUnpack.POD]


@pytest.fixture
def contents() -> Contents:
    return Contents()


@pytest.fixture
def registry(contents: Contents) -> Iterator[Server]:
    with serving(contents.answer) as server:
        yield server


def push(contents: Contents, *layers: tuple[str, bytes], tag: str = "1.0.0") -> dict[str, Any]:
    config = contents.blob(json.dumps({"name": "web", "version": "1.0.0"}).encode(), CHART)
    described = [contents.blob(data, media_type) for media_type, data in layers]
    manifest = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": described}
    return contents.document(manifest, OCI_MANIFEST, tag=tag)


class Bench:
    def __init__(self, way: ImageUnpack, limits: Limits = DEFAULT_LIMITS) -> None:
        nothing = Nothing()
        self.pods = Pods()
        self.pods.answers = [Waiting(message="the node pulls")]
        ports = ImagePorts(logins=logins(), pull_secrets=nothing, unpacked=nothing)
        direct = ImageFetcher(
            ports, addresses=LOOPBACK, plain_http=frozenset(), limits=limits, workers=WORKERS, spool=SPOOL
        )
        self.source = RegistryOrPod(direct, cast("Any", self.pods), way, tell=lambda _request, _message: None)

    async def fetch(self, ref: str, class_name: str = HELM_CLASS) -> Fetched | Waiting:
        source = Source(type="image", image=ImageSpec(ref=ref))
        return await self.source.fetch(FetchRequest(bundle="b", uid="u", source=source, provisioner_class=class_name))


@pytest.mark.parametrize("way", WAYS)
async def test_a_chart_is_read_from_its_registry(way: ImageUnpack, contents: Contents, registry: Server) -> None:
    made = push(contents, (ARCHIVE, packed(FILES, root="web/")), (PROVENANCE, b"signed"))
    bench = Bench(way)
    found = await bench.fetch(f"{registry.address}/{REPOSITORY}:1.0.0")
    assert isinstance(found, Fetched)
    assert dict(found.tree) == {f"web/{path}": text.encode() for path, text in FILES.items()}
    image = found.resolved.image
    assert image is not None
    assert (image.ref, found.artifact_type) == (f"{registry.address}/{REPOSITORY}@{made['digest']}", CHART)
    assert bench.pods.asked == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ([], "the chart's manifest has 0 archives of a chart instead of one"),
        ([(PROVENANCE, b"signed")], "the chart's manifest has 0 archives of a chart instead of one"),
        ([(ARCHIVE, b"1"), (ARCHIVE, b"2")], "the chart's manifest has 2 archives of a chart instead of one"),
        ([(ARCHIVE, b"no archive")], "gzip: invalid header"),
        ([(ARCHIVE, packed(FILES)[:-20])], "the archive is cut off"),
        ([(ARCHIVE, b"\x1f\x8b\x08" + bytes(5000))], "the size of the archive"),
    ],
)
async def test_broken_chart_is_refused_without_a_pod(
    way: ImageUnpack, layers: list[tuple[str, bytes]], text: str, contents: Contents, registry: Server
) -> None:
    push(contents, *layers)
    bench = Bench(way, limits=dataclasses.replace(DEFAULT_LIMITS, archive_bytes=4096))
    with pytest.raises(ContentError) as caught:
        await bench.fetch(f"{registry.address}/{REPOSITORY}:1.0.0")
    assert text in str(caught.value)
    assert bench.pods.asked == 0


async def test_an_image_of_a_chart_is_left_to_the_pod_where_pods_are_the_way(
    contents: Contents, registry: Server
) -> None:
    contents.image({"Chart.yaml": METADATA.encode()}, tag="v1")
    bench = Bench(ImageUnpack.POD)
    ref = f"{registry.address}/{REPOSITORY}:v1"
    assert await bench.fetch(ref) == Waiting(message="the node pulls")
    asked = len(registry.asked)
    assert await bench.fetch(ref) == Waiting(message="the node pulls")
    assert len(registry.asked) == asked, "the pod is there, so it is no chart"
    assert not any("/blobs/" in one.path for one in registry.asked)


async def test_a_registry_that_has_nothing_for_the_operator_is_left_to_the_pod() -> None:
    bench = Bench(ImageUnpack.POD)
    assert await bench.fetch(f"localhost:1/{REPOSITORY}:1.0.0") == Waiting(message="the node pulls")
    bench.pods.asked = 0  # another Bundle
    assert await bench.fetch(f"localhost:1/{REPOSITORY}:2.0.0") == Waiting(message="the node pulls")


async def test_no_registry_is_asked_about_other_classes(registry: Server) -> None:
    bench = Bench(ImageUnpack.POD)
    await bench.fetch(f"{registry.address}/{REPOSITORY}:1.0.0", PLAIN_CLASS)
    assert (registry.asked, bench.pods.asked) == ([], 1)


async def test_the_command_line_reads_it_as_an_archive(contents: Contents, registry: Server) -> None:
    push(contents, (ARCHIVE, packed(FILES, root="web/")))
    for ref in (f"oci://{registry.address}/{REPOSITORY}:1.0.0", f"{registry.address}/{REPOSITORY}:1.0.0"):
        found = await asyncio.to_thread(open_content, ref, registries=True)
        assert (found.is_directory, "web/templates/a.yaml" in found.tree) == (False, True)


async def test_other_artifacts_are_no_content(contents: Contents, registry: Server) -> None:
    contents.image_of([("application/vnd.example.model", b"x")], diff_ids=[""], tag="v1")
    with pytest.raises(RukPakError, match="which is not a file system"):
        await Bench(ImageUnpack.AUTO).fetch(f"{registry.address}/{REPOSITORY}:v1")

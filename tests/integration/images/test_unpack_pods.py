"""Images by real pods on a real node: what comes out is what comes from the registry, and what a node says is told."""

import asyncio
import gzip
import io
import json
import random
import tarfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.controllers.bundle.unpack_pods import UnpackPodWatch
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLES, NAMESPACES, PODS, Resource
from rukpak_py.sources.image import pod_state
from rukpak_py.sources.image.layout import host_platform
from rukpak_py.sources.image.pod import UnpackPods
from rukpak_py.sources.image.pod_manifest import INIT_CONTAINER, PodSettings
from rukpak_py.sources.image.source import ImageFetcher, ImagePorts
from rukpak_py.sources.source import Fetched, FetchRequest, ImageAccess, ImageContent, Waiting
from tests.integration.images.registry import Registry, running_registry
from tests.integration.images.unpacking_process import ROOT, Work
from tests.manifests import bundle
from tests.shared_operator import SharedOperator
from tests.source_secrets import logins
from tests.unit.images import directory, hard_link, symlink
from tests.unit.sources.image.image_pulls import LOOPBACK
from tests.unit.sources.image.image_registry import OCI_LAYER, Contents, Files
from tests.waiting import eventually, until
from tests.workers import SPOOL, WORKERS

pytestmark = pytest.mark.node
PATIENCE_SECONDS = 120.0
UNSERVED_CLASS = "nobody-serves-this-class"
MANY = 20_000
MIB = 1024 * 1024
QUOTAS = Resource(gvk=GroupVersionKind("", "v1", "ResourceQuota"), plural="resourcequotas", namespaced=True)
ROLE = ("Role", "core-unpack-pods")
MANIFEST = ROOT / "manifests/install.yaml"
RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(gvk=GroupVersionKind(RBAC, "v1", "Role"), plural="roles", namespaced=True)
ROLE_BINDINGS = Resource(gvk=GroupVersionKind(RBAC, "v1", "RoleBinding"), plural="rolebindings", namespaced=True)
Check = Callable[[Fetched | Waiting], bool]


class NoSecrets:
    async def names(self) -> tuple[str, ...]:
        return ()

    async def find(self, _access: ImageAccess) -> ImageContent | None:
        return None

    async def is_stored(self, _access: ImageAccess) -> bool:
        return False

    async def prove(self, _access: ImageAccess) -> None:
        raise AssertionError("nothing is stored")


@dataclass(kw_only=True)
class Bench:
    """Unpack pods of one namespace."""

    client: Client
    namespace: str
    tool: str
    changes: int = 0
    created: int = 0

    @asynccontextmanager
    async def pods(self, **settings: Any) -> AsyncIterator[UnpackPods]:
        watch = CountingWatch(self)
        given: dict[str, Any] = {"tool_image": self.tool, "platform": host_platform(), **settings}
        try:
            yield UnpackPods(watch, logins(), PodSettings(**given), limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL)
        finally:
            await watch.close()

    async def bundle_of(self, ref: str, **more: str) -> FetchRequest:
        """A Bundle that no operator looks at, with a pod of its own."""
        source = {"type": "image", "image": {"ref": ref}}
        body = bundle(f"{self.namespace}-{uuid.uuid4().hex[:6]}", source, provisioner=UNSERVED_CLASS)
        made = await self.client.create(BUNDLES, "", json.dumps(body).encode())
        spec = Source(type="image", image=ImageSpec(ref=ref, **more))
        return FetchRequest(
            bundle=made.metadata.name, uid=made.metadata.uid, source=spec, provisioner_class=PLAIN_CLASS
        )

    async def fetched(self, pods: UnpackPods, request: FetchRequest) -> Fetched:
        """Fetch as the operator does: take the next step at every change."""
        found: Fetched = await self.until(pods, request, lambda found: isinstance(found, Fetched))
        return found

    async def until(self, pods: UnpackPods, request: FetchRequest, check: Check) -> Any:
        assert request.source.image is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                seen = self.changes
                found = await pods.fetch(request, request.source.image)
                if check(found):
                    return found
                await until(lambda seen=seen: seen != self.changes, seconds=PATIENCE_SECONDS)  # type: ignore[misc]  # a default has no type

    async def clean_up(self, pods: UnpackPods, request: FetchRequest) -> None:
        assert request.source.image is not None
        await pods.clean_up(request.bundle, request.uid, request.source.image, always=False)

    async def pod(self, request: FetchRequest) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self.client.get(PODS, self.namespace, request.bundle))
        return found

    async def until_pod(self, request: FetchRequest, phase: str) -> dict[str, Any]:
        async def is_in_phase() -> bool:
            return bool((await self.pod(request))["status"].get("phase") == phase)

        await eventually(is_in_phase, what=f"the pod is {phase}", seconds=PATIENCE_SECONDS)
        return await self.pod(request)

    async def until_another(self, pods: UnpackPods, request: FetchRequest, uid: str) -> None:
        """Settled again, as at every change: the watch hears of the end of a pod a moment after the API server."""

        async def is_another() -> bool:
            await self.clean_up(pods, request)
            field_selector = f"metadata.name={request.bundle}"
            found = (await self.client.list_metadata(PODS, self.namespace, field_selector=field_selector)).items
            return any(one.metadata.uid != uid for one in found)

        await eventually(is_another, what="another pod takes its place", seconds=PATIENCE_SECONDS)

    async def until_gone(self, request: FetchRequest) -> None:
        async def is_gone() -> bool:
            field_selector = f"metadata.name={request.bundle}"
            return not (await self.client.list_metadata(PODS, self.namespace, field_selector=field_selector)).items

        await eventually(is_gone, what="the pod is gone", seconds=PATIENCE_SECONDS)


class CountingWatch(UnpackPodWatch):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.client, bench.namespace, on_change=self._count)
        self._bench = bench

    def _count(self, _bundle: str) -> None:
        self._bench.changes += 1

    async def create(self, manifest: bytes) -> bool:
        self._bench.created += 1
        return await super().create(manifest)


@pytest.fixture
def bench(node: None, client: Client, namespace: str, unpack_tool: str, shared_operator: SharedOperator) -> Bench:
    del node, shared_operator  # there is one, and our kinds are there
    return Bench(client=client, namespace=namespace, tool=unpack_tool)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with running_registry(tmp_path_factory.mktemp("for-nodes")) as registry:
        yield registry


def manifests(number: int, size: int) -> Files:
    noise = random.Random(number)  # noqa: S311 - the same in every run
    return {f"manifests/{one:05}.yaml": noise.randbytes(size // 2).hex().encode() for one in range(number)}


LINKS: Files = {
    "manifests/a.yaml": b"a: 1",
    "manifests/hard.yaml": hard_link("manifests/a.yaml"),
    "manifests/through.yaml": symlink("../opt/current/b.yaml"),
    "manifests/absolute.yaml": symlink("/srv/files/c.yaml"),
    "manifests/chain.yaml": symlink("through.yaml"),
    "opt/current": symlink("/srv/v2"),
    "srv/v2/b.yaml": symlink("../files/b.yaml"),
    "srv/files/b.yaml": b"b: 2",
    "srv/files/c.yaml": b"c: 3",
}
IMAGES: dict[str, tuple[Files, ...]] = {
    "scratch": ({"manifests/a.yaml": b"a: 1", "manifests/b.yaml": b"b: 2"},),
    "a real base": (
        {f"usr/share/{one % 100}/{one}": b"x" for one in range(MANY)}
        | {"bin/sh": b"not a program", "tmp": directory()},
        {"manifests/a.yaml": b"a: 1"},
    ),
    "whiteouts": (
        {"manifests/a.yaml": b"1", "manifests/gone.yaml": b"2", "metadata/old": b"3", "manifests/c.yaml": b"4"},
        {"manifests/.wh.gone.yaml": b"", "metadata/.wh..wh..opq": b"", "manifests/c.yaml": b"5"},
    ),
    "50 MB of manifests": (manifests(50, MIB),),
    "links": (LINKS,),
}


@pytest.mark.parametrize("name", IMAGES)
async def test_both_ways_give_the_same_digest(bench: Bench, registry: Registry, name: str) -> None:
    request = await bench.bundle_of(pushed(bench, registry, *IMAGES[name]))
    ports = ImagePorts(logins=logins(), pull_secrets=NoSecrets(), unpacked=NoSecrets())
    direct = ImageFetcher(
        ports, addresses=LOOPBACK, plain_http=frozenset(), limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL
    )
    wanted = await direct.fetch(request)
    async with bench.pods() as pods:
        found = await bench.fetched(pods, request)
        assert found.tree.digest == wanted.tree.digest
        assert found.resolved == wanted.resolved
        await bench.clean_up(pods, request)
        await bench.until_gone(request)


async def test_links_to_what_the_node_mounts_are_refused(bench: Bench, registry: Registry) -> None:
    """C3: the environment of a process is no content."""
    ref = pushed(bench, registry, {"manifests/a.yaml": symlink("../opt/x/1/environ"), "opt/x": symlink("/proc")})
    request = await bench.bundle_of(ref)
    async with bench.pods() as pods:
        with pytest.raises(ContentError, match="'/proc/1/environ', which is not a file of the image"):
            await bench.fetched(pods, request)


async def test_reason_why_a_pod_does_not_start_is_told(bench: Bench, registry: Registry) -> None:
    absent = f"{registry.address}/{bench.namespace}:absent"
    plain, secret, elsewhere = [
        await bench.bundle_of(absent, **more) for more in ({}, {"pull_secret": "no-such-secret"}, {})
    ]
    async with bench.pods() as pods, bench.pods(node_selector={"no": "such-node"}) as pods_elsewhere:
        pulling, without_secret, unscheduled = await asyncio.gather(
            bench.until(pods, plain, says(absent)),
            bench.until(pods, secret, says(absent)),
            bench.until(pods_elsewhere, elsewhere, says("the unpack pod is not scheduled: 0/1 nodes are available")),
        )
    assert "not found" in pulling.message
    assert "; get secret" not in pulling.message
    assert without_secret.message.endswith('Secret "no-such-secret" not found')
    assert pulling.brief.startswith("the node cannot pull the image: ")
    assert absent not in pulling.brief
    assert "not found" in pulling.brief
    assert without_secret.brief.startswith("get secret ")
    assert unscheduled.brief == unscheduled.message


async def test_refusal_of_a_pod_by_the_cluster_is_told(bench: Bench) -> None:
    request = await bench.bundle_of("localhost/never-asked-for:v1")
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    await bench.client.create(QUOTAS, bench.namespace, json.dumps(quota).encode())
    async with bench.pods() as pods:
        with pytest.raises(AccessError, match=r"the unpack pod is refused: .* exceeded quota: none"):
            await bench.fetched(pods, request)
    async with bench.pods(tolerations=[{"operator": "Nonsense"}]) as pods:
        with pytest.raises(AccessError, match=r"the unpack pod is refused: .*tolerations"):
            await bench.fetched(pods, request)


async def test_files_that_only_root_may_read_are_fetched_by_a_pod_that_runs_as_root(
    bench: Bench, registry: Registry
) -> None:
    """The pod runs as root where the namespace admits it; where it does not, that is told."""
    tar = layer_with_modes({"manifests/a.yaml": (0o600, b"a: 1")})
    contents = Contents()
    contents.image_of([(OCI_LAYER, gzip.compress(tar))], tag="v1")
    registry.push(contents, bench.namespace)
    ref = f"{registry.address}/{bench.namespace}:v1"
    async with bench.pods() as pods:
        fetched = await bench.fetched(pods, await bench.bundle_of(ref))
        assert dict(fetched.tree) == {"manifests/a.yaml": b"a: 1"}
        labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
        await bench.client.patch(NAMESPACES, "", bench.namespace, json.dumps(labels).encode())
        with pytest.raises(AccessError, match=r'violates PodSecurity "restricted.*; root is needed to read files'):
            await bench.fetched(pods, await bench.bundle_of(ref))


async def test_a_pod_that_fails_is_not_made_again_in_a_loop(
    bench: Bench, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tool is not there: it fails at once, and would for ever."""
    monkeypatch.setattr(pod_state, "_FIRST_PAUSE", 3600.0)
    monkeypatch.setattr(pod_state, "_LONGEST_PAUSE", 3600.0)
    request = await bench.bundle_of(bench.tool)
    assert request.source.image is not None
    async with bench.pods(tool_image=pushed(bench, registry, {"no/tool": b""})) as pods:
        with pytest.raises(UnavailableError, match=f"container {INIT_CONTAINER} ended with exit code 1") as failed:
            await bench.fetched(pods, request)
        assert failed.value.retry_after == 3600
        await until(lambda: not pods.is_there(request.bundle), seconds=PATIENCE_SECONDS)  # heard after the API server
        for _ in range(20):
            with pytest.raises(UnavailableError, match="unpack failed") as again:
                await pods.fetch(request, request.source.image)
            assert again.value.retry_after
    assert bench.created == 1


async def test_a_pod_that_lost_its_label_is_made_again(bench: Bench, registry: Registry) -> None:
    """Its watch would not see it any more."""
    request = await bench.bundle_of(pushed(bench, registry, {"manifests/a.yaml": b"a: 1"}))
    source = request.source.image
    assert source is not None
    async with bench.pods() as pods:
        await bench.until(pods, request, lambda found: isinstance(found, Waiting))
        former = (await bench.pod(request))["metadata"]["uid"]
        await bench.client.patch(PODS, bench.namespace, request.bundle, b'{"metadata":{"labels":null}}')

        async def is_fetched() -> bool:
            return isinstance(await pods.fetch(request, source), Fetched)

        await eventually(is_fetched, what="the content", seconds=PATIENCE_SECONDS)
        assert (await bench.pod(request))["metadata"]["uid"] != former


@pytest.mark.parametrize("step", ["waiting", "reading"])
async def test_killed_meanwhile_another_process_goes_on_with_the_pod(
    bench: Bench, registry: Registry, kubeconfig: Path, step: str
) -> None:
    """SIGKILL, the pod just created or its content on the way."""
    files = manifests(10, MIB)
    request = await bench.bundle_of(ref := pushed(bench, registry, files))
    work = Work(
        kubeconfig=str(kubeconfig),
        namespace=bench.namespace,
        tool=bench.tool,
        bundle=request.bundle,
        uid=request.uid,
        ref=ref,
    )
    process = await work.start()
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (line := await process.stdout.readline()) != f"{step}\n".encode():
                assert line, "it ended by itself"
    finally:
        process.kill()
        await process.wait()
    former = (await bench.pod(request))["metadata"]["uid"]
    async with bench.pods() as pods:
        fetched = await bench.fetched(pods, request)
        assert (await bench.pod(request))["metadata"]["uid"] == former
        assert dict(fetched.tree) == files
        await bench.clean_up(pods, request)
        await bench.until_gone(request)


async def test_a_kept_pod_ends_and_comes_back_when_it_is_deleted(bench: Bench, registry: Registry) -> None:
    """Another process goes on with the pod that it finds."""
    request = await bench.bundle_of(pushed(bench, registry, {"manifests/a.yaml": b"a: 1"}))
    async with bench.pods(keep=True) as pods:
        await bench.until(pods, request, lambda found: isinstance(found, Waiting))
        uid = (await bench.until_pod(request, "Running"))["metadata"]["uid"]
    async with bench.pods(keep=True) as pods:
        await bench.fetched(pods, request)
        await bench.clean_up(pods, request)
        ended = await bench.until_pod(request, "Succeeded")
        assert ended["metadata"]["uid"] == uid
        assert ended["metadata"]["labels"] == {
            "core.rukpak.io/owner-kind": "Bundle",
            "core.rukpak.io/owner-name": request.bundle,
        }
        await bench.client.delete(PODS, bench.namespace, request.bundle)
        await bench.until_another(pods, request, uid)
        await bench.until_pod(request, "Running")
        await bench.clean_up(pods, request)
        await bench.until_pod(request, "Succeeded")
    assert bench.created == 2


async def test_the_role_of_the_chart_is_enough(bench: Bench, registry: Registry) -> None:
    request = await bench.bundle_of(pushed(bench, registry, {"manifests/a.yaml": b"a: 1"}))
    (role,) = [
        one
        for one in yaml.load_all(MANIFEST.read_text(), yaml.CSafeLoader)
        if one is not None and (one["kind"], one["metadata"]["name"]) == ROLE
    ]
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "pods"}
    subjects = [{"kind": "ServiceAccount", "name": "operator", "namespace": bench.namespace}]
    rights = {"metadata": {"name": "pods"}, "rules": role["rules"]}
    await bench.client.create(ROLES, bench.namespace, json.dumps(rights).encode())
    binding = {"metadata": {"name": "pods"}, "roleRef": reference, "subjects": subjects}
    await bench.client.create(ROLE_BINDINGS, bench.namespace, json.dumps(binding).encode())
    bench.client = bench.client.acting_as(f"system:serviceaccount:{bench.namespace}:operator")
    async with bench.pods(keep=True) as pods:
        assert dict((await bench.fetched(pods, request)).tree) == {"manifests/a.yaml": b"a: 1"}
        await bench.clean_up(pods, request)
        await bench.until_pod(request, "Succeeded")
    async with bench.pods() as pods:
        await bench.until(pods, request, lambda _: True)  # a pod that has ended is of no use, and goes


async def test_foreign_pod_is_left_alone(bench: Bench) -> None:
    request = await bench.bundle_of("localhost/never-asked-for:v1")
    container = {"name": "c", "image": "localhost/never-asked-for:v1"}
    body = {"metadata": {"name": request.bundle}, "spec": {"containers": [container]}}
    await bench.client.create(PODS, bench.namespace, json.dumps(body).encode())
    async with bench.pods() as pods:
        with pytest.raises(ConflictError, match=f"pod {request.bundle} .* is not managed by this Bundle"):
            await bench.fetched(pods, request)
    assert (await bench.pod(request))["spec"]["containers"][0]["name"] == "c"


def pushed(bench: Bench, registry: Registry, *layers: Files) -> str:
    contents = Contents()
    contents.image(*layers, tag="v1")
    registry.push(contents, bench.namespace)
    return f"{registry.address}/{bench.namespace}:v1"


def says(text: str) -> Check:
    return lambda found: isinstance(found, Waiting) and text in found.message


def layer_with_modes(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for path, (mode, content) in files.items():
            member = tarfile.TarInfo(path)
            member.mode, member.size = mode, len(content)
            tar.addfile(member, io.BytesIO(content))
    return data.getvalue()

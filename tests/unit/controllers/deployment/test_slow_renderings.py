"""Renderings that take long hold no worker of the queue.

The queue, its workers, the jobs and the renderer are the real ones; only the content is slow. It is a unit test,
because content that keeps a real worker process busy for long enough would keep everybody's machine busy, too.
"""

import asyncio
from typing import Any, cast

import orjson

from rukpak_py.api.install_options import InstallOptions
from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, PLAIN_CLASS
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.rendering import MadeContent, Rendered, Renderer
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.queue import SETTLED, Queue, Schedule, Turn
from rukpak_py.controllers.reconcile_loop import work
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.kube.discovery import Discovery
from tests.unit.controllers.deployment.parts import identities
from tests.unit.controllers.fakes import FakeDigestKeys, FakeRenderings
from tests.waiting import until

WORKERS = 8  # the operator has as many for each kind
SLOW = [f"slow-{number}" for number in range(WORKERS)]
QUICK = "quick"


class SlowContent:
    """Everything but `QUICK` goes to a worker process, and is rendered once the gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started = 0

    def is_content_of(self, _digest: str, *, bundle: str, deployment: str) -> bool:
        return bool(bundle and deployment)

    async def load(self, digest: str) -> Tree:
        builder = TreeBuilder()
        builder.add("name", digest.encode())
        return builder.build()

    def renders_in_place(self, _classes: Classes, tree: Tree) -> bool:
        return tree["name"] == QUICK.encode()

    async def render(self, classes: Classes, tree: Tree, _options: RenderOptions) -> RenderedContent:
        if not self.renders_in_place(classes, tree):
            self.started += 1
            await self.gate.wait()
        return RenderedContent(objects=[])


def attempt(name: str, *, digest: str = "") -> Attempt:
    source = {"type": "configMaps", "configMaps": [{"path": "manifests", "configMap": {"name": "x"}}]}
    bundle = {"provisionerClassName": PLAIN_CLASS, "source": source}
    spec = {"provisionerClassName": PLAIN_CLASS, "template": {"spec": bundle}}
    head = {"apiVersion": API_VERSION, "metadata": {"name": name, "uid": name}}
    status = {"digest": digest or name, "phase": "Unpacked"}
    return Attempt(
        deployment=read_bundle_deployment(orjson.dumps({**head, "kind": BUNDLE_DEPLOYMENT_KIND, "spec": spec})),
        bundle=read_bundle(orjson.dumps({**head, "kind": BUNDLE_KIND, "spec": bundle, "status": status})),
        options=InstallOptions(),
        install_namespace="ns",
        makes_namespace=False,
        state=DeploymentState(),
    )


def rendering(content: SlowContent, jobs: Jobs[MadeContent]) -> Renderer:
    of_content, no_charts = cast("Any", content), cast("Any", None)
    kept = KeptRenderings(of_content, FakeRenderings(), FakeDigestKeys(), releases=no_charts)
    return Renderer(of_content, kinds(), kept, jobs=jobs)


def kinds() -> Kinds:
    """Kinds that are never asked: what is rendered here has no objects."""
    unused = cast("Any", None)
    cluster = Cluster(unused, Discovery(unused), on_namespace=lambda _: None, on_kinds=lambda _: None)
    return Kinds(unused, cluster, unused, deployments=unused, writer=unused, identities=identities())


async def test_eight_slow_renderings_leave_the_workers_to_everybody_else() -> None:
    content, queue, ready = SlowContent(), Queue[str](), set[str]()
    jobs = Jobs[MadeContent](on_end=queue.add)
    renderer = rendering(content, jobs)

    async def reconcile(name: str, _turn: Turn) -> Schedule:
        if not isinstance(await renderer.rendered(attempt(name)), Rendered):
            return Schedule(is_under_way=True)
        ready.add(name)
        return SETTLED

    for name in (*SLOW, QUICK):
        queue.add(name)
    workers = [asyncio.create_task(work(BUNDLE_DEPLOYMENT_KIND, queue, reconcile)) for _ in range(WORKERS)]
    try:
        await until(lambda: QUICK in ready)
        await until(lambda: content.started == len(SLOW))
        assert ready == {QUICK}

        content.gate.set()
        await until(lambda: ready == {QUICK, *SLOW})  # the end of each job brings its key back
        assert content.started == len(SLOW), "each is rendered once"
    finally:
        content.gate.set()
        queue.close()
        await jobs.close()
        await asyncio.gather(*workers)


async def test_the_result_for_a_template_that_was_edited_meanwhile_is_let_go() -> None:
    """It may be large, and will never be asked for."""
    content, ended = SlowContent(), asyncio.Queue[str]()
    content.gate.set()
    jobs = Jobs[MadeContent](on_end=ended.put_nowait)
    renderer = rendering(content, jobs)
    for digest in ("first", "second", "third"):
        await renderer.rendered(attempt("shop", digest=digest))
        await ended.get()
    assert content.started == 3
    assert len(jobs) == 1
    assert isinstance(await renderer.rendered(attempt("shop", digest="third")), Rendered)
    assert not jobs

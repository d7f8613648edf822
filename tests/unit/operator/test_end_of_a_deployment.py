"""Nothing that the parts of the leader can reach is about a deployment that is gone.

Objects are followed from the composition root, whatever holds them: a memory that is added later is found, too.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import orjson
import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, HELM_CLASS
from rukpak_py.api.reading import to_json
from rukpak_py.apply.orphan_cleanup import OrphanCleanup
from rukpak_py.apply.results import namespace_wake
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.config_map_watches import ConfigMapWatch
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.external_values import ExternalValues
from rukpak_py.controllers.deployment.rendering import NotRendered, Rendered, Renderer
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.core.errors import RukPakError
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.operator.leader_parts import LeaderParts
from rukpak_py.operator.settings import read_settings
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.fakes import FakeClient, tree
from tests.unit.controllers.values import deployment, unpacked

CANARY = "canary"
UID = f"uid-{CANARY}"  # the name may stand in the queue a little longer
SECRET = f"values-{CANARY}"
FILES = tree(a=b"1")
NAMESPACES = frozenset({namespace_wake("missing")})

# The cluster; what works for a deployment from its end on; and what reaches everything.
NOT_FOLLOWED = (FakeClient, OrphanCleanup, asyncio.AbstractEventLoop, ModuleType, CodeType, type)

T = TypeVar("T")


def reachable(root: object, *without: object) -> Iterator[object]:
    seen, left = {id(one) for one in without}, [root]
    while left:
        one = left.pop()
        if id(one) not in seen and not isinstance(one, NOT_FOLLOWED):
            seen.add(id(one))
            yield one
            left += _contents(one) if isinstance(one, FunctionType) else gc.get_referents(one)


def _contents(function: FunctionType) -> list[object]:
    """Not its module, whose globals reach everything."""
    return [cell.cell_contents for cell in function.__closure__ or ()] + [*(function.__defaults__ or ())]


def only(kind: type[T], root: object) -> T:
    (found,) = (one for one in reachable(root) if isinstance(one, kind))
    return found


def about_it(root: object, *without: object) -> list[object]:
    return [
        one
        for one in reachable(root, *without)
        if (isinstance(one, str) and CANARY in one) or (isinstance(one, DeploymentState) and one.has_ended)
    ]


class Content:
    """Charts take longer than everything else."""

    def is_content_of(self, _digest: str, **_: Any) -> bool:
        return True

    async def load(self, _digest: str) -> Tree:
        return FILES

    def renders_in_place(self, classes: Classes, _tree: Tree) -> bool:
        return classes.deployment != HELM_CLASS

    async def render(self, _classes: Classes, _tree: Tree, _options: RenderOptions) -> RenderedContent:
        return RenderedContent(objects=[])

    async def render_with_lookups(self, *_: object) -> RenderedContent:
        return RenderedContent(objects=[])


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[LeaderParts]:
    client: Any = FakeClient()
    client.server = "https://127.0.0.1:1"
    client.put("Secret", {"metadata": {"name": SECRET}, "data": {"values.yaml": "YTogMQ=="}})
    flags = ["--provisioner-storage-dir", str(tmp_path), "--upload-storage-dir", str(tmp_path), "--helm", "helm"]
    parts = LeaderParts(
        read_settings([*flags, "--system-namespace", "system"], {}),
        client,
        ConfigMapWatch(client, "system"),
        on_restore=lambda *_: None,
        on_gap=lambda: None,
        on_handed_over=lambda _: None,
    )
    for name in ("is_content_of", "load", "renders_in_place", "render", "render_with_lookups"):
        setattr(parts.content, name, getattr(Content(), name))
    yield parts
    await parts.deployments.close()
    parts.router.close()


def event(parts: LeaderParts, kind: str, one: BundleDeployment) -> None:
    parts.router.deployments.event(kind, orjson.loads(orjson.dumps({**to_json(one), "kind": BUNDLE_DEPLOYMENT_KIND})))


def attempt_of(one: BundleDeployment, state: DeploymentState) -> Attempt:
    return attempt(of=one, bundle=unpacked(digest=FILES.digest), state=state)


async def everything_is_remembered(parts: LeaderParts) -> BundleDeployment:
    plain = deployment(uid=UID)
    chart = deployment(uid=UID, provisioner=HELM_CLASS, config={"valuesFrom": [{"kind": "Secret", "name": SECRET}]})
    event(parts, "ADDED", plain)
    state = parts.deployments.states.of(UID)
    assert state is not None
    parts.router.waiting.note(UID, "shop", NAMESPACES)

    renderer, values = only(Renderer, parts), only(ExternalValues, parts)
    assert isinstance(await renderer.rendered(attempt_of(plain, state)), Rendered)
    assert renderer._kept
    assert await renderer.rendered(attempt_of(chart, state)) is NotRendered.RUNNING
    found = await values.of(chart, state)
    assert found.error is None or isinstance(found.error, RukPakError)
    assert parts.deployments.states.hide(UID, SECRET) == SECRET
    jobs = [one for one in reachable(parts.deployments) if isinstance(one, Jobs) and len(one)]
    assert len(jobs) == 1
    return plain


@pytest.mark.parametrize("way", ["its end was seen", "it went unseen"])
async def test_nothing_is_about_a_deployment_that_is_gone(parts: LeaderParts, way: str) -> None:
    router = parts.router
    of_ended = (parts.deployments.states._ended, router.deployments.cache._deleted_uids)
    assert about_it(parts) == []
    one = await everything_is_remembered(parts)
    assert about_it(parts)
    if way == "its end was seen":
        event(parts, "DELETED", one)
    else:
        router.deployments.forget(one)
    assert router.waiting.for_namespace("missing") == []
    assert about_it(parts, *of_ended) == []


async def test_others_are_remembered(parts: LeaderParts) -> None:
    await everything_is_remembered(parts)
    other = deployment("other", uid="another")
    event(parts, "ADDED", other)
    router = parts.router
    event(parts, "DELETED", other)
    assert router.waiting.for_namespace("missing") == ["shop"]
    assert len(parts.deployments.states) == 1
    assert only(Renderer, parts)._kept

"""An informer on a server or a network that breaks. Nothing is lost, nothing is invented, and it never ends."""

import asyncio
import signal
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.core.metrics import SYNTHESISED_DELETES, WATCH_ENDS
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import GoneError, ServerUnavailableError
from rukpak_py.kube.informer import InformerSettings
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.kube.objects import config_map
from tests.integration.kube.watching import QUICK, informing, informing_through_proxy
from tests.waiting import until


def ends(ending: str) -> float:
    return WATCH_ENDS.labels("", "configmaps", ending)._value.get()  # type: ignore[no-any-return]  # no public reader


def synthesised() -> float:
    return SYNTHESISED_DELETES.labels("", "configmaps")._value.get()  # type: ignore[no-any-return]  # as above


async def test_a_killed_server_ends_the_watch_and_what_happened_meanwhile_is_told(
    plane: ControlPlane, admin: Client, namespace_there: str
) -> None:
    """A restarted server answers 410 to every older version; a deletion that no watch saw must still be told."""
    for name in ("stays", "goes"):
        await admin.create(CONFIG_MAPS, namespace_there, config_map(name))
    through = informing_through_proxy(plane.kubeconfig, CONFIG_MAPS, namespace=namespace_there)
    async with through as (informer, observed, proxy):
        versions = {live.metadata.version for live in informer}
        proxy.stall()  # what happens from here on is not delivered
        await admin.delete(CONFIG_MAPS, namespace_there, "goes")
        await admin.create(CONFIG_MAPS, namespace_there, config_map("comes"))
        before, expired = synthesised(), ends("expired")
        plane.restart_apiserver(signal.SIGKILL)  # in this thread, with which it would end
        proxy.cut()
        proxy.flow()

        await until(lambda: ("comes", "added") in observed)
        assert observed.told.count(("goes", "deleted")) == 1
        assert observed.told.count(("stays", "added")) == 1
        assert ("stays", "changed") not in observed
        assert {live.key.name for live in informer} >= {"stays", "comes"}
        assert (synthesised() - before, ends("expired") - expired) == (1, 1)

        await admin.patch(CONFIG_MAPS, namespace_there, "stays", b'{"data":{"v":"1"}}')
        await until(lambda: ("stays", "changed") in observed)
        with pytest.raises(GoneError, match="too old resource version"):
            await _watch_from(admin, str(min(versions)))


async def _watch_from(client: Client, version: str) -> None:
    async with asyncio.timeout(10):
        async for _ in client.watch(CONFIG_MAPS, params={"resourceVersion": version}, idle=10):
            pass


async def test_requests_while_the_server_is_down_say_so_and_the_informer_waits(
    plane: ControlPlane, admin: Client, namespace_there: str
) -> None:
    async with informing(admin, CONFIG_MAPS, namespace=namespace_there) as (informer, observed):
        known = {live.key for live in informer}
        plane.stop_apiserver(signal.SIGKILL)
        with pytest.raises(ServerUnavailableError, match="the API server cannot be reached"):
            await admin.apply(CONFIG_MAPS, namespace_there, "a", config_map("a"), field_manager="us", force=False)
        assert known <= {live.key for live in informer}  # a server that is down proves nothing about objects
        assert [what for _, what in observed.told if what == "deleted"] == []

        plane.start_apiserver()
        await admin.create(CONFIG_MAPS, namespace_there, config_map("a"))
        await until(lambda: ("a", "added") in observed)


async def test_a_silent_watch_is_opened_again(kubeconfig: Path, client: Client, namespace: str) -> None:
    settings = InformerSettings(idle_seconds=0.5, first_wait=0.05, longest_wait=0.2)
    through = informing_through_proxy(kubeconfig, CONFIG_MAPS, namespace=namespace, settings=settings)
    async with through as (_, observed, proxy):
        silent = ends("silent")
        proxy.stall()
        await client.create(CONFIG_MAPS, namespace, config_map("a"))
        await until(lambda: ends("silent") > silent)
        assert ("a", "added") not in observed

        proxy.flow()
        await until(lambda: ("a", "added") in observed)


async def test_a_connection_cut_in_mid_watch_resumes_without_a_fresh_start(
    kubeconfig: Path, client: Client, namespace: str
) -> None:
    through = informing_through_proxy(kubeconfig, CONFIG_MAPS, namespace=namespace, settings=QUICK)
    async with through as (_, observed, proxy):
        for name in ("a", "b"):
            await client.create(CONFIG_MAPS, namespace, config_map(name))
            await until(lambda name=name: (name, "added") in observed)  # type: ignore[misc]  # bound now
        broken = ends("broken")
        proxy.cut()
        await until(lambda: ends("broken") > broken)
        await client.delete(CONFIG_MAPS, namespace, "a")

        await until(lambda: ("a", "deleted") in observed)
        assert observed.told.count(("b", "added")) == 1


async def test_without_watch_list_it_lists_and_finds_missed_deletions(
    kubeconfig: Path, client: Client, namespace: str
) -> None:
    """Servers before 1.32 do not send initial events; then a LIST from their cache is compared with ours."""
    for name in ("stays", "goes"):
        await client.create(CONFIG_MAPS, namespace, config_map(name))
    through = informing_through_proxy(kubeconfig, CONFIG_MAPS, namespace=namespace)
    async with through as (informer, observed, proxy):
        informer._lists = True
        informer._position = None
        proxy.stall()
        await client.delete(CONFIG_MAPS, namespace, "goes")
        informer._position = None
        proxy.cut()
        proxy.flow()

        await until(lambda: ("goes", "deleted") in observed)
        await client.create(CONFIG_MAPS, namespace, config_map("comes"))
        await until(lambda: ("comes", "added") in observed)
        assert observed.told.count(("stays", "added")) == 1

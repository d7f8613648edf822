"""Before anything is created for a deployment without an event for long, the API server is asked."""

from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND
from rukpak_py.api.reading import to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.existence import UNHEARD_OF_SECONDS, Existence
from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, refusal
from tests.unit.controllers.values import deployment

SHOP = deployment()
ASK = "get BundleDeployment shop"


class Bench:
    def __init__(self) -> None:
        self.client, self.clock = FakeClient(), Clock()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.gone: list[BundleDeployment] = []
        self.existence = Existence(
            self.client.as_client(), BUNDLE_DEPLOYMENTS, self.deployments, on_gone=self.gone.append
        )
        self.deployments.put(SHOP)

    def on_the_server(self, **metadata: Any) -> None:
        self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(**metadata)))

    async def ask(self, *, is_doubtful: bool = False) -> bool:
        return await self.existence.still_exists(SHOP, is_doubtful=is_doubtful)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench()
    monkeypatch.setattr("rukpak_py.controllers.existence.monotonic", bench.clock)
    return bench


async def test_an_object_with_a_recent_event_exists(bench: Bench) -> None:
    bench.clock.now += UNHEARD_OF_SECONDS - 1
    assert await bench.ask()
    assert bench.client.calls == []


async def test_an_object_that_was_quiet_for_long_is_asked_for_once(bench: Bench) -> None:
    bench.on_the_server()
    bench.clock.now += UNHEARD_OF_SECONDS
    assert await bench.ask()
    assert await bench.ask()
    assert bench.client.calls == [ASK]
    assert bench.gone == []


async def test_a_doubt_asks_at_once_and_each_time(bench: Bench) -> None:
    bench.on_the_server()
    assert await bench.ask(is_doubtful=True)
    assert await bench.ask(is_doubtful=True)
    assert bench.client.calls == [ASK, ASK]


@pytest.mark.parametrize("uid", ["", "another"], ids=["nobody has the name", "another deployment has the name"])
async def test_an_object_that_went_unseen_is_reported(bench: Bench, uid: str) -> None:
    if uid:
        bench.on_the_server(uid=uid)
    assert not await bench.ask(is_doubtful=True)
    assert bench.gone == [SHOP]


async def test_an_object_that_is_being_deleted_gets_nothing_new_before_its_event(bench: Bench) -> None:
    bench.on_the_server(deletion_timestamp=NOW)
    assert not await bench.ask(is_doubtful=True)
    assert bench.gone == []


async def test_no_answer_proves_nothing(bench: Bench) -> None:
    bench.client.failing["get"] = refusal(ServerUnavailableError)
    with pytest.raises(ServerUnavailableError):
        await bench.ask(is_doubtful=True)
    assert bench.gone == []

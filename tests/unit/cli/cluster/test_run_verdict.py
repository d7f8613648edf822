"""The verdict of `rukpakctl run` on an upload, while the API server is away and old conditions still stand."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from rukpak_py.api.conditions import Condition
from rukpak_py.cli.cluster import running
from rukpak_py.cli.cluster.running import Uploaded, verdict
from rukpak_py.kube.errors import KindNotServedError
from tests.unit.kube.fake_api import serving

AWAY = web.Response(status=503)
TRIES = 4  # of one request


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "INTERVAL_SECONDS", 0.0)


FORMER = Condition(
    type="Stalled",
    status="True",
    reason="Any",
    message="wrong content",
    last_transition_time="2020-01-01T00:00:00Z",
    observed_generation=1,
)


def deployment(
    ready: str, *, stalled: bool = False, active: str = "", pending: str = "", generation: int = 1
) -> web.Response:
    condition = {"reason": "Any", "lastTransitionTime": "2020-01-01T00:00:00Z", "observedGeneration": generation}
    conditions = [{**condition, "type": "Ready", "status": ready, "message": f"ready is {ready}"}]
    if stalled:
        conditions.append({**condition, "type": "Stalled", "status": "True", "message": "wrong content"})
    found: dict[str, Any] = {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": "BundleDeployment",
        "metadata": {"name": "d", "uid": "u", "generation": 1},
        "spec": {
            "provisionerClassName": "c",
            "template": {"spec": {"provisionerClassName": "c", "source": {"type": "upload", "upload": {}}}},
        },
        "status": {"observedGeneration": generation, "activeBundle": active, "conditions": conditions},
    }
    if pending:
        waits = {"digest": "sha256:1", "bundle": pending, "reason": "NotApproved", "verdict": "Safe"}
        found["status"]["pendingUpgrade"] = waits
    return web.Response(body=json.dumps(found).encode())


async def test_condition_from_before_the_upload_is_not_the_verdict() -> None:
    uploaded = Uploaded(bundle="d-new", is_new=True, former=FORMER)
    former, wrong = deployment("False", stalled=True), deployment("True", active="d-old")
    async with serving(former, wrong, deployment("True", active="d-new")) as (client, _):
        assert (await verdict(client, "d", uploaded, seconds=30)).is_ready


@pytest.mark.parametrize(
    "uploaded",
    [
        Uploaded(bundle="d-new", is_new=False, former=FORMER),
        Uploaded(bundle="d-new", is_new=True),
        Uploaded(bundle="d-new", is_new=True, former=replace(FORMER, last_transition_time="2019-01-01T00:00:00Z")),
    ],
    ids=["there before", "first", "another time"],
)
async def test_wrong_content_is_told_at_once(uploaded: Uploaded) -> None:
    async with serving(deployment("False", stalled=True)) as (client, api):
        found = await verdict(client, "d", uploaded, seconds=30)
        assert (found.is_ready, found.text, len(api.seen)) == (False, "wrong content", 1)


async def test_upgrade_that_waits_ends_it_and_one_of_other_content_does_not() -> None:
    uploaded = Uploaded(bundle="d-new", is_new=True)
    other, own = (deployment("True", active="d-old", pending=name) for name in ("d-other", "d-new"))
    async with serving(other, own) as (client, api):
        found = await verdict(client, "d", uploaded, seconds=30)
        assert (found.is_ready, found.is_pending, found.text, len(api.seen)) == (False, True, "ready is True", 2)


async def test_conditions_of_another_spec_are_not_the_verdict() -> None:
    of_another = deployment("True", stalled=True, active="d-new", generation=0)
    async with serving(of_another, deployment("True", active="d-new")) as (client, api):
        assert (await verdict(client, "d", Uploaded(bundle="d-new", is_new=False), seconds=30)).is_ready
        assert len(api.seen) == 2


async def test_an_api_server_that_is_away_for_a_moment_ends_nothing() -> None:
    ready = deployment("True", active="d-new")
    async with serving(*[AWAY] * (2 * TRIES), ready) as (client, _):
        assert (await verdict(client, "d", Uploaded(bundle="d-new", is_new=True), seconds=30)).is_ready


async def test_api_server_that_stays_away_is_the_verdict() -> None:
    async with serving(AWAY) as (client, _):
        found = await verdict(client, "d", Uploaded(bundle="d-new", is_new=True), seconds=0.3)
    assert not found.is_ready
    assert found.text.startswith("not within 0.3 s: get BundleDeployment d: ")


async def test_silent_api_server_is_not_waited_for_longer() -> None:
    async def silent(_request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(60)
        return web.Response()

    async with serving(silent) as (client, _), asyncio.timeout(20):
        found = await verdict(client, "d", Uploaded(bundle="d-new", is_new=True), seconds=0.3)
    assert found.text == "not within 0.3 s: the operator has not reported anything about it"


async def test_the_kind_that_is_not_there_is_told_at_once() -> None:
    async with serving(web.Response(status=404, text="404 page not found")) as (client, api):
        with pytest.raises(KindNotServedError):
            await verdict(client, "d", Uploaded(bundle="d-new", is_new=True), seconds=30)
        assert len(api.seen) == 1

"""An operator whose ports are attacked: the API server, a kubelet and those who scrape metrics get their answers."""

import asyncio
import ssl
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.credentials import WEBHOOK_CLIENT
from e2e.cluster.ports import free_ports
from rukpak_py.api.names import BUNDLE_WEBHOOK_PATH
from tests.hostile.client import Attack, attacking, review_of
from tests.integration.operator.process import Operator
from tests.integration.server.conftest import Cluster, StartOperator
from tests.integration.server.traffic import REACHED, answer_to_a_bundle, until_reached

# More than before: 64 MiB of reviews, and buffers and holes of as much again and again (240 MiB in all when measured).
MEMORY = 512 * 1024 * 1024
CONNECTIONS = "rukpak_server_connections_ended_total"


@dataclass(frozen=True, kw_only=True)
class Attacked:
    operator: Operator
    webhook: int  # the port that the API server calls

    def port(self, name: str) -> int:
        port = urlsplit(self.operator.url(name, "")).port
        assert port is not None
        return port


async def called(cluster: Cluster, operators: StartOperator, *arguments: str) -> Attacked:
    port = free_ports(["webhook"], "127.0.0.1")["webhook"]
    address = f"127.0.0.1:{port}"
    operator = operators(f"--webhook-bind-address={address}", f"--webhook-url=https://{address}", *arguments)
    await operator.start()
    await until_reached(cluster.client)
    return Attacked(operator=operator, webhook=port)


async def test_reviews_are_answered_to_the_api_server_alone(
    cluster: Cluster, operators: StartOperator, plane: ControlPlane
) -> None:
    authority, name = plane.state.pki / "ca.crt", WEBHOOK_CLIENT.name
    attacked = await called(cluster, operators, f"--webhook-client-ca={authority}", f"--webhook-client-names={name}")
    assert REACHED in await answer_to_a_bundle(cluster.client)
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    url = f"https://127.0.0.1:{attacked.webhook}{BUNDLE_WEBHOOK_PATH}"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=review_of([{"configMap": {"name": "kube-root-ca.crt"}}]), ssl=anybody) as answer,
    ):
        assert (answer.status, "kube-root-ca.crt" in await answer.text()) == (401, False)


async def test_all_ports_answer_while_all_are_attacked(cluster: Cluster, operators: StartOperator) -> None:
    attacked = await called(cluster, operators)
    operator = attacked.operator
    before = memory_of(operator.pid)
    ports = {name: attacked.port(name) for name in ("health-probe", "metrics", "http")} | {"webhook": attacked.webhook}
    attacks = [
        (Attack.MANY_NAMES, "webhook", 5),
        (Attack.HALF_REVIEWS, "webhook", 150),
        (Attack.FULL_REVIEWS, "webhook", 50),
        (Attack.HALF_PROBES, "health-probe", 1000),
        (Attack.HALF_PROBES, "metrics", 300),
        (Attack.SILENT, "http", 300),
        (Attack.SILENT_TLS, "http", 300),
    ]
    async with AsyncExitStack() as stack:
        await asyncio.gather(
            *(stack.enter_async_context(attacking(attack, ports[port], count=count)) for attack, port, count in attacks)
        )
        assert REACHED in await answer_to_a_bundle(cluster.client)
        assert await operator.ask("health-probe", "/healthz") == (200, "ok\n")
        status, metrics = await operator.ask("metrics", "/metrics")
        assert status == 200
        assert all(f'{CONNECTIONS}{{outcome="gave way",port="{name}"}}' in metrics for name in ("content", "probes"))
        assert memory_of(operator.pid) - before < MEMORY
    assert operator.is_running


def memory_of(process: int) -> int:
    """Bytes that it holds in memory."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096

"""The Secrets with the certificates are deleted: they come back at once, and no roll-out waits for them."""

import json
from pathlib import Path

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import SecretName
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.certificates.own_webhooks import OurWebhooks
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import LEASES, SECRETS
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Hold
from tests.integration.proxy import Exchange, proxy_before
from tests.integration.server.conftest import Cluster, StartOperator
from tests.integration.server.traffic import Traffic
from tests.waiting import eventually

SOON = 10.0  # seconds; without a watch it took up to ten minutes
REQUESTS = 40  # two seconds of them
ELECT = "--leader-elect"


async def uid(cluster: Cluster, name: str) -> str:
    """Empty while there is no such Secret."""
    try:
        return (await cluster.client.get_metadata(SECRETS, cluster.system, name)).uid
    except NotFoundError:
        return ""


async def delete_and_see_made_again(cluster: Cluster, *names: str) -> None:
    before = {name: await uid(cluster, name) for name in names}
    assert all(before.values())
    for name in names:
        await cluster.client.delete(SECRETS, cluster.system, name)
    for name in names:

        async def is_new(name: str = name) -> bool:
            return await uid(cluster, name) not in {"", before[name]}

        await eventually(is_new, what=f"Secret {name} made again", seconds=SOON)


async def test_each_secret_is_made_again_and_no_admission_request_is_refused(
    cluster: Cluster, traffic: Traffic
) -> None:
    for names in (*((name,) for name in SecretName), tuple(SecretName)):
        await delete_and_see_made_again(cluster, *names)
        await traffic.passed(REQUESTS)
    assert not traffic.refused


async def test_a_replica_that_starts_after_the_secrets_were_deleted_becomes_ready(
    cluster: Cluster, operators: StartOperator
) -> None:
    await create_configuration(cluster)
    leader = operators(ELECT)
    await leader.start()
    for name in SecretName:
        await cluster.client.delete(SECRETS, cluster.system, name)
    follower = operators(ELECT)
    follower.launch()
    await becomes_ready(follower)


async def test_a_follower_that_looked_too_early_becomes_ready(
    cluster: Cluster, operators: StartOperator, plane: ControlPlane, tmp_path: Path
) -> None:
    """It has loaded the Secrets of a former installation, and hears of the new trust before the new certificate."""
    await create_configuration(cluster)
    former = operators()
    await former.start()
    await former.stop()
    for name in (SecretName.CA, SecretName.SIGNER):
        await cluster.client.delete(SECRETS, cluster.system, name)
    await occupy_lease(cluster)
    follower = operators(ELECT)
    follower.launch()
    await eventually(lambda: _has_read_secrets(follower), what="the follower has looked")

    async with proxy_before(plane, tmp_path) as proxy:
        hold = Hold(_writes_serving)
        proxy.rules.append(hold)
        leader = operators(kubeconfig=proxy.kubeconfig)
        leader.launch()
        await eventually(lambda: _holds(hold), what="the leader is about to write the certificate")
        reads = await _reads(follower)
        await eventually(lambda: _has_read_secrets(follower, more_than=reads), what="the follower has looked again")
        hold.let_go.set()
        await becomes_ready(follower)


async def test_a_replica_that_waits_says_once_what_for(cluster: Cluster, operators: StartOperator) -> None:
    await create_configuration(cluster)
    await occupy_lease(cluster)
    follower = operators(ELECT)
    follower.launch()
    words = f"waiting for the leader to write Secret {SecretName.SERVING}"

    async def has_looked_again() -> bool:
        return await _has_read_secrets(follower, more_than=6)

    await eventually(has_looked_again, what="it looks again and again")
    status, text = await follower.ask("health-probe", "/readyz")
    assert (status, words in text) == (503, True), text
    assert follower.log.count(f"certificates: not ready: {words}") == 1, "beside what the log has of the probe"


async def create_configuration(cluster: Cluster) -> None:
    """Create it as the chart does. Without a node no Service reaches a pod, but trust is looked at all the same."""
    manifest = OurWebhooks(system_namespace=cluster.system).configuration()
    await cluster.client.create(WEBHOOK_CONFIGURATIONS, "", json.dumps(manifest).encode())


async def occupy_lease(cluster: Cluster) -> None:
    """Make another holder the leader: an operator with `--leader-elect` follows."""
    spec = {"holderIdentity": "somebody_", "leaseDurationSeconds": 3600}
    body = {"metadata": {"name": "core.rukpak.io"}, "spec": spec}
    await cluster.client.create(LEASES, cluster.system, json.dumps(body).encode())


async def becomes_ready(operator: Operator) -> None:
    await eventually(lambda: _is_ready(operator), what="the replica is ready", seconds=SOON * 2)


async def _is_ready(operator: Operator) -> bool:
    status, _ = await operator.ask("health-probe", "/readyz")
    return status == 200


async def _has_read_secrets(operator: Operator, *, more_than: int = 0) -> bool:
    status, _ = await operator.ask("metrics", "/metrics")
    if status != 200:  # it has only just begun
        return False
    return await _reads(operator) > more_than


async def _reads(operator: Operator) -> int:
    seen = await operator.requests()
    return sum(count for request, count in seen.items() if (request.verb, request.resource) == ("get", "secrets"))


async def _holds(hold: Hold) -> bool:
    return bool(hold.held)


def _writes_serving(exchange: Exchange) -> bool:
    name = exchange.name or exchange.document.get("metadata", {}).get("name")
    return exchange.method in {"POST", "PUT"} and exchange.resource == "secrets" and name == SecretName.SERVING

"""SIGKILL at every kind of step: after a restart the same end as if nothing had happened.

No unwanted object is left behind, nothing is created or deleted twice. All of it with the operator's own rights, and
as the account of the deployment.
"""

import asyncio
import os
import random
from collections import Counter

import pytest

from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Exchange, Proxy
from tests.integration.tenancy.accounts import EVERYTHING, create_account
from tests.manifests import Document, config_map, service, workload
from tests.waiting import eventually

SEED = os.environ.get("RUKPAK_KILL_SEED")
ROUNDS = int(os.environ.get("RUKPAK_KILL_ROUNDS", "10"))
REQUESTS = 18  # writes and dry-runs of the whole story when nothing goes wrong
PATIENCE = 60.0


def is_create_of_bundle(exchange: Exchange) -> bool:
    return exchange.is_write and exchange.method == "POST" and exchange.what == "bundles"


def is_status_of_bundle(exchange: Exchange) -> bool:
    return exchange.is_write and exchange.what == "bundles/status"


def is_record_of_kinds(exchange: Exchange) -> bool:
    status = exchange.document.get("status") or {}
    return exchange.what == "bundledeployments/status" and "kinds" in status and "activeBundle" not in status


def is_result(exchange: Exchange) -> bool:
    return exchange.what == "bundledeployments/status" and "activeBundle" in (exchange.document.get("status") or {})


def is_apply(exchange: Exchange) -> bool:
    return exchange.is_apply


def is_dry_run(exchange: Exchange) -> bool:
    return exchange.is_dry_run


def is_prune(exchange: Exchange) -> bool:
    return exchange.is_write and exchange.method == "DELETE" and exchange.what == "configmaps"


def is_write_or_dry_run(exchange: Exchange) -> bool:
    return exchange.is_write or exchange.is_dry_run


POINTS = (
    Point(name="the Bundle is created", when=When.AFTER, match=is_create_of_bundle),
    Point(name="the status of the Bundle", when=When.BEFORE, match=is_status_of_bundle),
    Point(name="the kinds are recorded", when=When.AFTER, match=is_record_of_kinds),
    Point(name="the first apply", when=When.BEFORE, match=is_apply),
    Point(name="an apply in the middle", when=When.AFTER, match=is_apply, nth=3),
    Point(name="the last apply", when=When.AFTER, match=is_apply, nth=5),
    Point(name="the result of the install", when=When.BEFORE, match=is_result),
    Point(name="the dry-run of the upgrade", when=When.AFTER, match=is_dry_run),
    Point(name="an object is pruned", when=When.AFTER, match=is_prune),
    Point(name="the result of the upgrade", when=When.BEFORE, match=is_result, nth=2),
)


@pytest.fixture(params=["own rights", "account"])
async def identity(request: pytest.FixtureRequest, tenant: Tenant) -> Document:
    """Fields of the spec that say with whose rights the deployment is served."""
    if request.param == "own rights":
        return {}
    account = await create_account(tenant.admin, tenant.namespace, rules=(EVERYTHING,))
    await tenant.settled()
    return {"installNamespace": tenant.namespace, "serviceAccountName": account.name}


async def story(tenant: Tenant, identity: Document) -> None:
    """An install and an upgrade that changes one object, drops one and brings one."""
    namespace = tenant.namespace
    same = [config_map("same", namespace, v="1"), service("same", namespace), workload("same", namespace)]
    dropped = config_map("dropped", namespace, v="1")
    await tenant.publish("v1", [*same, config_map("changed", namespace, v="1"), dropped])
    await tenant.publish("v2", [*same, config_map("changed", namespace, v="2"), config_map("new", namespace, v="2")])
    await tenant.deploy("v1", **identity)
    await tenant.ready(seconds=PATIENCE)
    await tenant.deploy("v2", **identity)
    await tenant.ready(seconds=PATIENCE)


async def has_ended_well(tenant: Tenant, proxy: Proxy, identity: Document) -> None:
    await eventually(lambda: _has_one_bundle(tenant), what="the former Bundle is gone")
    deployment = await tenant.deployment()
    bundles = await tenant.owned(BUNDLES)
    ((_, bundle),) = bundles
    assert _told(deployment) == {
        "activeBundle": bundle,
        "digest": bundles["Bundle", bundle]["status"]["digest"],
        "observedGeneration": 2,
        "kinds": ["ConfigMap", "Service", "Deployment"],
        "history": 2,
        "conditions": {
            "HasValidBundle": ("True", "UnpackSuccessful"),
            "Installed": ("True", "InstallationSucceeded"),
            "Healthy": ("True", "Healthy"),
            "UpgradePending": ("False", "NoUpgrade"),
            "Ready": ("True", "Succeeded"),
        },
    }
    assert deployment["status"]["appliedDigest"]
    assert await _shipped(tenant, deployment["metadata"]["uid"]) == {
        ("ConfigMap", "same"): {"v": "1"},
        ("ConfigMap", "changed"): {"v": "2"},
        ("ConfigMap", "new"): {"v": "2"},
        ("Service", "same"): None,
        ("Deployment", "same"): None,
    }
    maps = await tenant.admin.list_metadata(CONFIG_MAPS, tenant.namespace)
    assert {one.key.name for one in maps.items} == {"kube-root-ca.crt", "same", "changed", "new"}
    _nothing_happened_twice(proxy)
    account = identity.get("serviceAccountName")
    user = f"system:serviceaccount:{tenant.namespace}:{account}" if account else ""
    assert {one.user for one in proxy.writes if one.is_apply or is_prune(one)} == {user}


async def _has_one_bundle(tenant: Tenant) -> bool:
    return len(await tenant.owned(BUNDLES)) == 1


def _told(deployment: Document) -> Document:
    status = deployment["status"]
    return {
        **{name: status[name] for name in ("activeBundle", "digest", "observedGeneration")},
        "kinds": [kind["kind"] for kind in status["kinds"]],
        "history": len(status["history"]),
        "conditions": {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]},
    }


async def _shipped(tenant: Tenant, uid: str) -> dict[tuple[str, str], Document | None]:
    """The objects of ours that exist, each with our marks and with no other manager of the fields that we sent."""
    owned = await tenant.owned()
    for one in owned.values():
        metadata = one["metadata"]
        assert [(owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]] == [(uid, True)]
        managers = {entry["manager"] for entry in metadata["managedFields"] if not entry.get("subresource")}
        assert managers - {"kube-controller-manager"} == {f"rukpak/{tenant.name}"}
    return {key: one.get("data") for key, one in owned.items()}


def _nothing_happened_twice(proxy: Proxy) -> None:
    deleted = [
        one.document["preconditions"]["uid"] for one in proxy.writes if (one.method, one.status) == ("DELETE", 200)
    ]
    created = [(one.what, one.namespace, one.name or _name(one)) for one in proxy.writes if one.status == 201]
    assert [one for one, count in Counter(map(str, [*deleted, *created])).items() if count > 1] == []


def _name(created: Exchange) -> str:
    return created.name or str(created.document["metadata"]["name"])


async def killed_on_the_way(
    tenant: Tenant, operator: Operator, proxy: Proxy, identity: Document, points: list[Point]
) -> None:
    """The story, with a kill and a restart at each of the points that it comes to."""
    running = asyncio.create_task(story(tenant, identity))
    try:
        for point in points:
            kill = Strike(point, operator.kill)
            proxy.rules = [kill]
            if not operator.is_running:
                operator.launch()
            fired = asyncio.create_task(kill.fired.wait())
            await asyncio.wait([running, fired], return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
            fired.cancel()
            if not kill.fired.is_set():
                break
        proxy.rules = []
        if not operator.is_running:
            operator.launch()
        await running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_undisturbed(tenant: Tenant, operators: StartOperator, proxy: Proxy, identity: Document) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await story(tenant, identity)
    await has_ended_well(tenant, proxy, identity)
    assert len([one for one in proxy.seen if is_write_or_dry_run(one)]) >= REQUESTS  # health may be told on the way


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.when.value} {point.name}")
async def test_killed(tenant: Tenant, operators: StartOperator, proxy: Proxy, identity: Document, point: Point) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()  # only what is written while it runs is judged
    await killed_on_the_way(tenant, operator, proxy, identity, [point])
    assert operator.starts == 2
    await has_ended_well(tenant, proxy, identity)


@pytest.mark.skipif(SEED is None, reason="by hand: RUKPAK_KILL_SEED=1 (and RUKPAK_KILL_ROUNDS=100)")
@pytest.mark.parametrize("number", range(ROUNDS if SEED else 1))
async def test_killed_anywhere(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, identity: Document, number: int
) -> None:
    """Up to three kills, at requests that the seed and the round's number choose."""
    draw = random.Random(f"{SEED}-{number}")  # noqa: S311 - replayable on purpose
    points = [
        Point(
            name="any",
            when=draw.choice(list(When)),
            match=is_write_or_dry_run,
            nth=draw.randint(1, REQUESTS // 2),
        )
        for _ in range(draw.randint(1, 3))
    ]
    print(f"\nRUKPAK_KILL_SEED={SEED}, round {number}: {[(point.when.value, point.nth) for point in points]}")  # noqa: T201 - to replay it
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    await killed_on_the_way(tenant, operator, proxy, identity, points)
    await has_ended_well(tenant, proxy, identity)

"""How often a source that fails is asked, whatever else brings its Bundle back meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import orjson
import pytest

from rukpak_py.kube.resources import BUNDLES
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document
from tests.unit.sources.websites import Site, tgz, website
from tests.unit.web_servers import Answer, Asked

WATCHED_SECONDS = 30.0  # as long as the pauses 1, 2, 4, 8 and 16 together, less their jitter and a bit more
MOST = 6  # attempts within that
NUDGE_SECONDS = 0.5
REPOSITORY = "/v2/failing/demo"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with website() as site:
        yield site


@pytest.fixture
async def operator(operators: StartOperator) -> Operator:
    operator = operators(arguments=[LOOPBACK, "--image-unpack=direct"])
    await operator.start()
    return operator


@pytest.fixture
async def fetched(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


def refusing(asked: Asked) -> Answer | None:
    """The registry, of two repositories that are not there and one that asks for a login."""
    if asked.path.startswith("/v2/locked/"):
        return Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
    return Answer(404) if asked.path.startswith(REPOSITORY) else None


def http(url: str) -> Document:
    return {"type": "http", "http": {"url": url}}


async def test_a_failing_source_is_asked_at_most_six_times_in_half_a_minute(
    tenant: Tenant, operator: Operator, fetched: Fetching, site: Site
) -> None:
    """It was asked once a second for ever, when a look at the Bundle began another fetch."""
    site.gives("/401.tgz", status=401)
    site.gives("/503.tgz", status=503)
    site.gives("/wrong.tgz", tgz({"README.md": b"no manifests"}))
    fetched.registry.answer = refusing
    image = fetched.registry.address

    def site_counts(path: str) -> Callable[[], int]:
        return lambda: sum(one.path.startswith(path) for one in site.asked)

    def registry_counts(prefix: str) -> Callable[[], int]:
        return lambda: sum(
            one.path.startswith(f"{prefix}/manifests") and one.method == "GET" for one in fetched.registry.asked
        )

    missing_map = {"type": "configMaps", "configMaps": [{"configMap": {"name": "missing"}}]}
    sources: dict[str, tuple[Document, Callable[[], int] | None, int]] = {
        "http-404": (http(site.url("/404.tgz")), site_counts("/404.tgz"), MOST),
        "http-401": (http(site.url("/401.tgz")), site_counts("/401.tgz"), 1),
        "http-503": (http(site.url("/503.tgz")), site_counts("/503.tgz"), MOST),
        "http-wrong": (http(site.url("/wrong.tgz")), site_counts("/wrong.tgz"), 1),
        "git-404": (
            {"type": "git", "git": {"repository": site.url("/missing.git"), "ref": {"branch": "main"}}},
            site_counts("/missing.git"),
            MOST,
        ),
        "image-404": (
            {"type": "image", "image": {"ref": f"{image}/failing/demo:1"}},
            registry_counts(REPOSITORY),
            MOST,
        ),
        "image-401": (
            {"type": "image", "image": {"ref": f"{image}/locked/demo:1"}},
            registry_counts("/v2/locked/demo"),
            1,
        ),
        "map-404": (missing_map, None, MOST),
    }
    began = time.monotonic()
    names = {key: await fetched.bundle(key, source) for key, (source, _, _) in sources.items()}

    for nudge in range(int(WATCHED_SECONDS / NUDGE_SECONDS)):
        for name in names.values():
            await tenant.admin.patch(
                BUNDLES, "", name, orjson.dumps({"metadata": {"annotations": {"example.com/nudge": str(nudge)}}})
            )
        await asyncio.sleep(max(0.0, began + (nudge + 1) * NUDGE_SECONDS - time.monotonic()))

    attempts = {key: await _attempts(operator, key, count) for key, (_, count, _) in sources.items()}
    for key, (_, _, most) in sources.items():
        assert 1 <= attempts[key] <= most, (key, attempts)
        assert condition(await tenant.read(BUNDLES, "", names[key]), "Unpacked")["reason"] == "UnpackFailed", key


async def _attempts(operator: Operator, key: str, count: Callable[[], int] | None) -> int:
    """Attempts as the server counted them; that of ConfigMaps is the API server, whose reads the operator counts."""
    if count is not None:
        return count()
    requests = await operator.requests()
    assert key == "map-404"
    return sum(
        number for labels, number in requests.items() if labels.resource == "configmaps" and labels.verb == "get"
    )

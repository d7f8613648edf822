"""Every request is counted by what it does, once."""

from rukpak_py.core.metrics import render, request_counts
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.kube.objects import DEPLOYMENTS, config_map, deployment


async def test_each_kind_of_request_has_its_own_count(client: Client, namespace: str) -> None:
    before = request_counts()

    created = await client.create(CONFIG_MAPS, namespace, config_map("a"))
    await client.get(CONFIG_MAPS, namespace, "a")
    await client.get_metadata(CONFIG_MAPS, namespace, "a")
    await client.patch(CONFIG_MAPS, namespace, "a", b'{"data":{"v":"1"}}')
    await client.apply(CONFIG_MAPS, namespace, "b", config_map("b"), field_manager="us", force=False)
    await client.apply(CONFIG_MAPS, namespace, "b", config_map("b"), field_manager="us", force=False)
    await client.apply(CONFIG_MAPS, namespace, "b", config_map("b"), field_manager="us", force=False, dry_run=True)
    await client.replace(CONFIG_MAPS, namespace, "b", config_map("b", v="2"))
    await client.list_metadata(CONFIG_MAPS, namespace)
    await client.delete(CONFIG_MAPS, namespace, "a", uid=created.metadata.uid)
    await client.apply(DEPLOYMENTS, namespace, "d", deployment("d"), field_manager="us", force=False)
    await client.patch_status(DEPLOYMENTS, namespace, "d", b'{"status":{"observedGeneration":1}}')
    assert request_counts() - before == {
        ("create", "", "configmaps", "", "201"): 1,
        ("get", "", "configmaps", "", "200"): 2,
        ("patch", "", "configmaps", "", "200"): 1,
        ("apply", "", "configmaps", "", "201"): 1,
        ("apply", "", "configmaps", "", "200"): 1,
        ("dry_run", "", "configmaps", "", "200"): 1,
        ("update", "", "configmaps", "", "200"): 1,
        ("list", "", "configmaps", "", "200"): 1,
        ("delete", "", "configmaps", "", "200"): 1,
        ("apply", "apps", "deployments", "", "201"): 1,
        ("patch", "apps", "deployments", "status", "200"): 1,
    }


async def test_a_scrape_shows_the_counts_and_the_durations(client: Client) -> None:
    await client.raw_get("/version")

    text = render().decode()
    assert 'rest_client_requests_total{code="200",group="",resource="/version",subresource="",verb="get"}' in text
    assert 'rest_client_request_duration_seconds_bucket{le="0.1",verb="get"}' in text
    assert "process_resident_memory_bytes" in text

"""Discovery costs hundreds of kilobytes: readers of a view ask for it by its age."""

from aiohttp import web

from rukpak_py.kube.discovery import Discovery
from tests.unit.kube.fake_api import serving

EMPTY = b'{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}'
ANSWER = web.Response(body=EMPTY, headers={"Content-Type": "application/json;g=x;v=v2;as=APIGroupDiscoveryList"})
LONG = 3600.0
OF_ONE_RUN = 2  # /api and /apis


async def test_snapshot_is_read_again_only_once_it_is_old() -> None:
    async with serving(ANSWER) as (client, api):
        discovery = Discovery(client)
        await discovery.refresh_after(LONG)
        assert len(api.seen) == OF_ONE_RUN
        await discovery.refresh_after(LONG)
        assert len(api.seen) == OF_ONE_RUN
        await discovery.refresh_after(0.0)
        assert len(api.seen) == 2 * OF_ONE_RUN


async def test_another_client_goes_on_with_the_snapshot_and_reads_with_its_own_rights() -> None:
    async with serving(ANSWER) as (client, api), serving(ANSWER) as (other, asked):
        first = Discovery(client)
        await first.refresh()
        second = Discovery(other, snapshot=first.snapshot)
        await second.refresh_after(LONG)
        assert (second.served, len(asked.seen)) == (first.served, 0)
        await second.refresh()
        assert (len(api.seen), len(asked.seen)) == (OF_ONE_RUN, OF_ONE_RUN)

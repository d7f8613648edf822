"""`--watch` of commands about one BundleDeployment: what they print is shown again when it changes."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

from rukpak_py.cli.cluster.views import views_of
from rukpak_py.cli.screen import Screen
from rukpak_py.diagnosis.model import DeploymentView
from rukpak_py.kube.client import Client


async def show_views(
    client: Client,
    name: str,
    lines_of: Callable[[DeploymentView], Sequence[str]],
    *,
    document: Callable[[DeploymentView], Any],
) -> None:
    """Until the deployment is gone. `document`: the same without ages, which tells whether anything has changed."""
    screen, shown = Screen(), None
    async with aclosing(views_of(client, name)) as views:
        async for view in views:
            now = document(view)
            screen.show(lines_of(view), is_news=now != shown)
            shown = now

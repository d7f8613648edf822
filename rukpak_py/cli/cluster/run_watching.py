"""`rukpakctl run --watch`: a directory that is uploaded at each change, and the state of its deployment meanwhile.

The directory is read again and again, and its digest compared with that of what was uploaded last. A change counts once
two looks in a row agree, so half a save of many files is not uploaded. Temporary files of editors are not looked at:
they come and go at each save, and are no content.

The first upload fails as without `--watch`. After it, a failure is shown; the next change makes another attempt, and so
does time where something is not available.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NoReturn

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import first_line
from rukpak_py.api.names import ConditionType
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.cli.cluster.content_server import Progress
from rukpak_py.cli.cluster.running import INTERVAL_SECONDS, Run, Uploaded, condition_of, judged, run
from rukpak_py.cli.cluster.session import ClusterSession
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

LOOK_SECONDS = 0.5
RETRY_SECONDS = 5.0
# Swap and lock files, backups and half-written files of Vim, Emacs, JetBrains, GNOME and KDE; the folders of Finder.
EDITOR_FILES = (
    *(".*.sw?", "*~", "#*#", ".#*", "*___jb_tmp___", "*___jb_old___"),
    *(".goutputstream-*", "*.kate-swp", ".DS_Store"),
)


def is_editor_file(path: str) -> bool:
    return any(fnmatchcase(PurePosixPath(path).name, pattern) for pattern in EDITOR_FILES)


@dataclass(frozen=True, kw_only=True)
class Screen:
    """Where a user sees what happens."""

    say: Callable[[str], None]  # something that has happened, and stays
    show: Callable[[str], None]  # the state, until there is another one
    progress: Callable[[int], Progress]


async def watch(
    cluster: ClusterSession,
    read: Callable[[], Tree],
    wanted_of: Callable[[Tree], Run],
    *,
    seconds: float,
    screen: Screen,
) -> NoReturn:
    """Upload, and show the state of the deployment until there is a change; without end. `seconds`: as for `run`."""

    async def upload(tree: Tree) -> tuple[Run, Uploaded]:
        wanted = wanted_of(tree)
        return wanted, await run(cluster, wanted, seconds=seconds, say=screen.say, progress=screen.progress)

    tree = await asyncio.to_thread(read)
    wanted, uploaded = await upload(tree)
    while True:
        showing = asyncio.create_task(_show_state(cluster.client, wanted.deployment, uploaded, screen))
        try:
            tree = await _changed(read, tree.digest, screen)
        finally:
            showing.cancel()
            with suppress(asyncio.CancelledError):
                await showing
        screen.say("the directory has changed")
        tree, (wanted, uploaded) = await _uploaded(upload, tree, read, screen)


async def _uploaded(
    upload: Callable[[Tree], Awaitable[tuple[Run, Uploaded]]], tree: Tree, read: Callable[[], Tree], screen: Screen
) -> tuple[Tree, tuple[Run, Uploaded]]:
    """Content that was uploaded in the end: this, or other content that came after a failure."""
    while True:
        try:
            return tree, await upload(tree)
        except RukPakError as error:
            screen.show(f"failed: {error}")
            patience = RETRY_SECONDS if isinstance(error, UnavailableError) else None
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                tree = await _changed(read, tree.digest, screen)


async def _changed(read: Callable[[], Tree], digest: str, screen: Screen) -> Tree:
    """Other content, once it is the same in two looks."""
    seen, problem = digest, ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            found = await asyncio.to_thread(read)
        except (RukPakError, OSError) as error:
            if str(error) != problem:
                problem = str(error)
                screen.say(f"not uploaded: {problem}")
            continue
        if found.digest == seen != digest:
            return found
        seen, problem = found.digest, ""


async def _show_state(client: Client, name: str, uploaded: Uploaded, screen: Screen) -> None:
    while True:
        try:
            found = read_bundle_deployment(await client.get(BUNDLE_DEPLOYMENTS, "", name))
        except NotFoundError:
            screen.show(f"failed: BundleDeployment {name} was deleted: the next change creates it again")
        except ApiError as error:  # also a refusal: the next change shows whether it has lasted
            screen.show(f"waiting: {error}")
        else:
            screen.show(state_of(found, uploaded))
        await asyncio.sleep(INTERVAL_SECONDS)


def state_of(deployment: BundleDeployment, uploaded: Uploaded) -> str:
    """One line: how far it is, with the reason and the message of Ready."""
    judgement = judged(deployment, uploaded)
    ready = condition_of(deployment, ConditionType.READY)
    word = "waiting"
    if judgement is not None and not judgement.is_pending:
        word = "ready" if judgement.is_ready else "failed"
    if ready is None:
        return f"{word}: the operator has not reported anything about it"
    return f"{word}: {ready.reason}: {first_line(ready.message)}"

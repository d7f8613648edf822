"""The directory that `rukpakctl run --watch` looks at: which change counts, and which files are looked at."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from rukpak_py.cli.cluster import run_watching, running
from rukpak_py.cli.cluster.run_watching import Screen, is_editor_file
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError, ServerUnavailableError


def tree(content: str) -> Tree:
    builder = TreeBuilder()
    builder.add("manifests/a.yaml", content.encode())
    return builder.build()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watching, "LOOK_SECONDS", 0.0)


def looks(*found: Tree | ContentError) -> Callable[[], Tree]:
    """Reads that find this, one after the other."""
    answers = list(found)

    def read() -> Tree:
        answer = answers.pop(0)
        if isinstance(answer, ContentError):
            raise answer
        return answer

    return read


def screen(said: list[str]) -> Screen:
    return Screen(say=said.append, show=said.append, progress=lambda _: lambda _: None)


@pytest.mark.parametrize(
    "found",
    [
        ["old", "new", "new"],
        ["half", "new", "new"],
        ["half", "old", "new", "new"],
        ["new", "old", "new", "new"],
        ["new", "half", "half too", "new", "new"],
    ],
)
async def test_change_counts_once_two_looks_agree(found: list[str]) -> None:
    said: list[str] = []
    read = looks(*map(tree, found))
    changed = await run_watching._changed(read, tree("old").digest, screen(said))
    assert changed.digest == tree("new").digest
    assert said == []
    with pytest.raises(IndexError):  # it has taken every look
        read()


async def test_directory_that_cannot_be_read_is_told_once_for_each_reason() -> None:
    said: list[str] = []
    gone, other = ContentError("no such directory"), ContentError("a link that leads nowhere")
    read = looks(gone, gone, other, tree("old"), gone, tree("new"), tree("new"))
    await run_watching._changed(read, tree("old").digest, screen(said))
    assert said == [
        "not uploaded: no such directory",
        "not uploaded: a link that leads nowhere",
        "not uploaded: no such directory",
    ]


async def test_state_is_shown_on_after_any_answer_of_the_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that restarts refuses for a moment what it allows later."""
    monkeypatch.setattr(run_watching, "INTERVAL_SECONDS", 0.0)
    refusals = [one(ErrorAnswer(subject="get", message="no")) for one in (ServerUnavailableError, ForbiddenError)]
    client: Any = SimpleNamespace(get=AsyncMock(side_effect=[*refusals, asyncio.CancelledError]))
    uploaded: Any = None  # not looked at
    said: list[str] = []
    with pytest.raises(asyncio.CancelledError):
        await run_watching._show_state(client, "shop", uploaded, screen(said))
    assert said == ["waiting: get: no"] * len(refusals)


@pytest.mark.parametrize(
    "path",
    [
        *("manifests/.a.yaml.swp", "manifests/.a.yaml.swx", "manifests/a.yaml~", "manifests/#a.yaml#"),
        *("manifests/.#a.yaml", "a.yaml___jb_tmp___", "a.yaml___jb_old___"),
        *(".goutputstream-A1B2C3", ".a.yaml.kate-swp", "templates/.DS_Store"),
    ],
)
def test_files_of_editors(path: str) -> None:
    assert is_editor_file(path)


@pytest.mark.parametrize("path", ["manifests/a.yaml", ".helmignore", "templates/_helpers.tpl", "a~/b.yaml", "#a.yaml"])
def test_files_of_bundles(path: str) -> None:
    assert not is_editor_file(path)


def test_files_of_editors_are_not_read(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "a.yaml").write_text("kind: A")
    before = running.read(tmp_path, ignored=is_editor_file)
    (manifests / "a.yaml~").write_text("kind: [")
    (manifests / ".#a.yaml").symlink_to("user@host.1234:1700000000")
    assert running.read(tmp_path, ignored=is_editor_file).digest == before.digest
    with pytest.raises(ContentError, match="not there"):
        running.read(tmp_path)

"""Labels of the operator's image: what the project and its commit say, and no place that is not on the web."""

from datetime import UTC, datetime

import pytest

from rukpak_py import __version__
from tools.image import labels

PROJECT = {"name": "rukpak-py", "description": "An operator", "license": "Apache-2.0"}
PREFIX = "org.opencontainers.image."
CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def labelled(remote: str) -> dict[str, str]:
    found = labels(PROJECT, revision="abc", created=CREATED, remote=remote)
    assert all(key.startswith(PREFIX) for key in found)
    return {key.removeprefix(PREFIX): value for key, value in found.items()}


def test_labels_are_of_the_project_and_the_commit() -> None:
    assert labelled("") == {
        "title": "rukpak-py",
        "description": "An operator",
        "licenses": "Apache-2.0",
        "version": __version__,
        "revision": "abc",
        "created": "2026-01-02T03:04:05Z",
    }


@pytest.mark.parametrize(
    ("remote", "source"),
    [
        ("https://github.com/example/rukpak-py.git", "https://github.com/example/rukpak-py"),
        ("https://github.com/example/rukpak-py/", "https://github.com/example/rukpak-py"),
        ("https://user:secret@git.example.com/a/b/c.git", "https://git.example.com/a/b/c"),
        ("git@github.com:example/rukpak-py.git", "https://github.com/example/rukpak-py"),
        ("ssh://git@github.com/example/rukpak-py", "https://github.com/example/rukpak-py"),
    ],
)
def test_source_is_the_page_of_the_repository(remote: str, source: str) -> None:
    found = labelled(remote)
    assert found["source"] == source
    assert found["documentation"] == f"{source}/tree/abc/docs"


@pytest.mark.parametrize("remote", ["", "/home/me/rukpak-py", "../rukpak-py", "file:///srv/rukpak-py"])
def test_a_repository_without_a_page_has_no_source(remote: str) -> None:
    assert not {"source", "documentation"} & labelled(remote).keys()

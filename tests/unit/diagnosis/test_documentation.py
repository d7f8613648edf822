"""Links to the troubleshooting page: of the site that is named, of the published one, or a path in the repository."""

import tomllib
from pathlib import Path

import pytest

from rukpak_py.diagnosis.documentation import DOCUMENTATION, TROUBLESHOOTING, troubleshooting_page

ROOT = Path(__file__).parents[3]
SITE = "https://docs.example.com/rukpak"


@pytest.mark.parametrize(
    ("given", "published", "page"),
    [
        ("", "", TROUBLESHOOTING),
        ("", SITE, f"{SITE}/docs/troubleshooting.html"),
        ("", f"{SITE}/", f"{SITE}/docs/troubleshooting.html"),
        ("https://wiki.example.com/help", "", "https://wiki.example.com/help"),
        ("https://wiki.example.com/help", SITE, "https://wiki.example.com/help"),
    ],
)
def test_page_that_is_named_wins_over_the_published_one(given: str, published: str, page: str) -> None:
    assert troubleshooting_page(given, published=published) == page


def test_published_site_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project.get("urls", {}).get("Documentation", "") == DOCUMENTATION


def test_page_is_in_the_repository() -> None:
    assert (ROOT / TROUBLESHOOTING).is_file()

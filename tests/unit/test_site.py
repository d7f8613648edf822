"""The check of a built site of the documents, on sites with one mistake each, and on the real one."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools import site

ROOT = Path(site.__file__).parent.parent
PAGE = '<html><head><link rel="stylesheet" href="_static/a.css"></head><body><h1 id="top">One</h1>{}</body></html>'
SOUND: Mapping[str, str] = {
    "index.html": '<meta http-equiv="refresh" content="0; url=docs/one.html">',
    "docs/one.html": PAGE.replace("_static", "../_static").format(
        '<a href="two.html#top">two</a><a href="#top">up</a>'
    ),
    "docs/two.html": PAGE.replace("_static", "../_static").format('<a href="https://example.com/">elsewhere</a>'),
    "search.html": PAGE.format('<script src="_static/a.js"></script>'),
    "_static/a.css": "body { background: url('b.svg') } @import 'c.css';",
    "_static/a.js": '/* https://example.com/license */\n// "//example.com"\nfetch("page.html"); const ns = "http://www.w3.org/2000/svg";',
    "searchindex.js": 'Search.setIndex({"docnames": ["docs/one", "docs/two"]})',
}


def built(folder: Path, **changed: str) -> Path:
    for name, text in {**SOUND, **changed}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_sound_site_has_no_problems(tmp_path: Path) -> None:
    assert site.problems(built(tmp_path)) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<img src="https://cdn.example.com/a.png">', "loads https://cdn.example.com/a.png"),
        ('<img srcset="../a.png 1x, //cdn.example.com/a.png 2x">', "loads //cdn.example.com/a.png"),
        ('<script src="//cdn.example.com/a.js"></script>', "loads //cdn.example.com/a.js"),
        ('<script>fetch("https://api.example.com/")</script>', "loads https://api.example.com/"),
        ('<script>new WebSocket("wss://api.example.com/")</script>', "loads wss://api.example.com/"),
        ('<link rel="preconnect" href="https://fonts.example.com">', "loads https://fonts.example.com"),
        ("<style>@import url(https://fonts.example.com/a.css);</style>", "loads https://fonts.example.com/a.css"),
        ('<p style="background: url(http://example.com/a.png)"></p>', "loads http://example.com/a.png"),
        ('<iframe src="https://example.com/"></iframe>', "loads https://example.com/"),
        ('<a href="three.html">three</a>', "three.html is not there"),
        ('<a href="one.html#below">below</a>', "one.html#below has no such anchor"),
        ('<a href="#below">below</a>', "#below has no such anchor"),
        ('<img src="missing.png">', "missing.png is not there"),
    ],
)
def test_mistake_of_a_page_is_found(tmp_path: Path, body: str, problem: str) -> None:
    page = PAGE.replace("_static", "../_static").format(body)
    assert f"docs/two.html: {problem}" in site.problems(built(tmp_path, **{"docs/two.html": page}))


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("_static/a.css", "@font-face { src: url(https://fonts.example.com/a) }", "loads https://fonts.example.com/a"),
        ("_static/a.js", "import('https://cdn.example.com/a.js')", "loads https://cdn.example.com/a.js"),
        ("docs/hidden.html", PAGE.replace("_static", "../_static"), "the search does not find it"),
    ],
)
def test_mistake_of_a_file_is_found(tmp_path: Path, name: str, text: str, problem: str) -> None:
    assert f"{name}: {problem}" in site.problems(built(tmp_path, **{name: text}))


def test_real_site_is_built_without_a_problem(tmp_path: Path) -> None:
    done = subprocess.run([ROOT / ".ci/docs", tmp_path / "site"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {path.relative_to(ROOT).with_suffix("") for path in ROOT.glob("docs/**/*.md")}
    samples = {path for path in pages if path.is_relative_to("docs/samples")}
    assert {str(path) + ".html" for path in pages - samples} <= site.indexed(tmp_path / "site")

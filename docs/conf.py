# ruff: noqa: INP001 - configuration of Sphinx, not a module
"""The site of the documents: `make docs` builds it into build/site with Sphinx, MyST and Furo.

The source directory is the repository, so that a link of a page leads to the same file here and on a forge. The pages
are plain Markdown. docs/nav.yaml has their order: its captions become tables of contents of docs/index.md.
"""

from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx

FIRST_PAGE = "docs/index"

project = "rukpak-py"
extensions = ["myst_parser"]
include_patterns = [
    "[CS]*.md",
    "bench/RESULTS.md",
    "charts/*/README.md",
    "docs/*.md",
    "docs/*/*.md",
]
exclude_patterns = ["docs/samples/**"]
root_doc = FIRST_PAGE
nitpicky = True

highlight_language = "none"  # of a block that names none
myst_heading_anchors = 6  # by the rule of forges
suppress_warnings = ["myst.header"]  # pages may begin a section two levels down

html_theme = "furo"
html_title = "rukpak-py"
html_static_path = ["theme"]
html_css_files = ["site.css"]
html_extra_path = ["site"]  # the page at the root, which leads to the first one
html_copy_source = False
html_show_copyright = False
html_use_index = False
html_permalinks_icon = "#"


def _add_navigation(_: Sphinx, docname: str, source: list[str]) -> None:
    if docname != FIRST_PAGE:
        return
    captions = yaml.safe_load(Path(__file__).with_name("nav.yaml").read_text(encoding="utf-8"))
    for caption, pages in captions.items():
        entries = "\n".join(f"/{page}" for page in pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{entries}\n```\n"


def _add_anchors_of_forges(_: Sphinx, doctree: nodes.document) -> None:
    """Docutils drops digits from the beginning of an id, for instance, so that links from elsewhere would break."""
    for section in doctree.findall(nodes.section):
        slug = section.get("slug")
        if slug and slug not in section["ids"]:
            section["ids"].append(slug)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", _add_navigation)
    app.connect("doctree-read", _add_anchors_of_forges)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
